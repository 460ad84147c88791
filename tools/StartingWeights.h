//===- StartingWeights.h - What training begins with ----------------------===//
#pragma once

#include "ir/Module.h"
#include "ir/reference/Tensor.h"
#include "train/data/Dataset.h"

#include <filesystem>
#include <string>
#include <vector>

namespace betz {

struct StartingWeights {
  /// Every weight of the module.
  reference::TensorMap values;
  /// What a new session keeps of them with a frozen trunk: all that the file
  /// gave but the units' and the sessions' embeddings.
  std::vector<std::string> trunk;
};

/// Random weights by `seed`, and over them those of `file` if it is not empty.
/// Units that the file knows, by the name of their session and their id, start
/// from their own rows; other units from the mean of the file's rows and a
/// random part. A spike head, and a behaviour head of other outputs, may be
/// missing; of other weights, one error lists all that are missing or have
/// another shape. Says on stderr how many units are known.
Result<StartingWeights> startingWeights(mlir::ModuleOp module,
                                        const train::Dataset &dataset,
                                        const std::filesystem::path &file,
                                        uint64_t seed);

} // namespace betz
