//===- EvalFolder.h - What `betz eval` makes of a training folder ---------===//
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/program/Program.h"
#include "train/data/Dataset.h"

#include <filesystem>
#include <memory>

namespace betz {

/// Makes programs of a folder of `betz train`. An executable without a compiler
/// has none.
class EvalFolder {
public:
  virtual ~EvalFolder() = default;

  /// Of decoder.safetensors, for `device`.
  virtual Result<std::shared_ptr<const Program>>
  compileDecoder(const std::filesystem::path &folder,
                 const Device &device) const = 0;

  /// Of the recurrent baseline, which takes kGruRows samples of `dataset` a
  /// step; null where the folder has none.
  virtual Result<std::shared_ptr<const Program>>
  compileGru(const std::filesystem::path &folder, const Device &device,
             const train::Dataset &dataset) const = 0;

  static constexpr int32_t kGruRows = 64;
};

} // namespace betz
