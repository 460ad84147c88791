//===- ModelConfig.h - What describes a decoder ---------------------------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace betz {

/// A Perceiver spike decoder (DESIGN section 5). The names are the keys of
/// model TOML files and of the metadata of weights files.
struct ModelConfig {
  int64_t dim = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t latents = 0;
  int64_t maxNeurons = 512;
  int64_t maxTimeBins = 1024;
  int64_t valueBuckets = 8;
  int64_t behaviorDim = 2;
  int64_t mlpRatio = 4;
  std::string norm = "layernorm"; // or "rmsnorm"
  double eps = 1e-5;
  std::string time = "table"; // or "rotary"
  double binMs = 5.0;
  int64_t windowBins = 120;
  /// Bins between the starts of successive windows of a recording.
  int64_t strideBins = 10;
  double periodMinMs = 10.0;
  double periodMaxMs = 4000.0;
  /// Above zero: a latent sees events within so many bins of its centre.
  double reachBins = 0.0;

  bool operator==(const ModelConfig &) const = default;
};

/// A model file: the configuration and what else a Program carries about it.
struct ModelDescription {
  ModelConfig config;
  /// Extra Program metadata, JSON text by key: "outputs" (names),
  /// "output_units", "units" (unit id -> neuron_id), "target_mean",
  /// "target_std", "sessions" (of a decoder of several recordings, what of
  /// these is each one's own, by its name).
  std::map<std::string, std::string> metadata;
  /// The keys of `config` that the source set.
  std::vector<std::string> given;
};

/// Reads a model TOML. Unknown keys, wrong types and impossible values are
/// errors that name the file, the line and the nearest known key.
Result<ModelDescription> readModelToml(const std::filesystem::path &path);

/// Reads the metadata of a weights file; keys that are not Betz's are left
/// alone. NotFound if it holds no configuration. `origin` names it in errors.
Result<ModelDescription>
readModelMetadata(const std::map<std::string, std::string> &metadata,
                  const std::string &origin);

/// The error if both describe a model and a key that both give differs.
Status checkAgreement(const ModelDescription &model, const std::string &origin,
                      const ModelDescription &other,
                      const std::string &otherOrigin);

/// All of Program::metadata: "config", "stride_bins" and the extra keys.
std::map<std::string, std::string>
toProgramMetadata(const ModelDescription &model);

} // namespace betz
