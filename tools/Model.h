//===- Model.h - What compile, dump and interpret load --------------------===//
#pragma once

#include "codegen/Compiler.h"
#include "frontend/Frontend.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace betz {

/// How the command line names a model.
struct ModelRequest {
  /// A model TOML or a module (.mlir) of any phase; empty where the weights'
  /// metadata holds the configuration.
  std::filesystem::path model;
  /// Safetensors; empty for random weights.
  std::filesystem::path weights;
  uint64_t seed = 0;
  std::vector<std::string> outputs = {"behavior"};
  /// Weights that the graph does not use are an error, not a warning.
  bool strict = false;
};

struct LoadedModel {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Every `betz.weight`; filled by loadWeights.
  reference::TensorMap weights;
  /// For people: "cortex-s", or the weights file's stem.
  std::string name;
  /// Parameters of the weights file, carried ones included.
  int64_t parameters = 0;
  /// Weights that files carry and inference does not use.
  std::vector<std::string> carried;
};

/// Builds or parses the module and verifies it.
Result<LoadedModel> loadModel(const ModelRequest &request);

/// Reads the weights file, or makes random weights and says so on stderr. One
/// error lists all that are missing, misshapen or of the wrong type; unused
/// ones are named in a warning.
Status loadWeights(const ModelRequest &request, LoadedModel &model);

/// Random values of a module's weights, each by `seed` and its name alone.
reference::TensorMap randomWeights(mlir::ModuleOp module, uint64_t seed);

/// Writes to a file by rename, or to standard output for "-".
Status writeText(std::string_view text, const std::filesystem::path &path);

/// Tensors of a safetensors file by name, as the interpreter takes them. Only
/// those of type f32, f64, i32 and i64.
Result<reference::TensorMap> readTensors(const std::filesystem::path &path);

} // namespace betz
