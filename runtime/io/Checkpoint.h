//===- Checkpoint.h - A training run at one step, on disk -----------------===//
//
// A folder, "step-00000120", with a manifest (JSON) and N shards (HDF5, each a
// range of every vector). It appears by rename when all of it is on disk.
// docs/training.md describes the files.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace betz {

struct Checkpoint {
  /// Steps done.
  int64_t step = 0;
  /// f32 vectors by name ("weights", "moment1"), all of one length.
  std::map<std::string, std::vector<float>> vectors;
  /// What else the run needs to go on.
  Json state = Json::object();
};

/// Writes `checkpoint` below `folder`, which is made if missing, and returns
/// where. One of the same step is replaced. When anything fails nothing is
/// left of it and all others stay as they are.
Result<std::filesystem::path>
writeCheckpoint(const std::filesystem::path &folder,
                const Checkpoint &checkpoint, int64_t shards = 1);

/// Reads a checkpoint, or of its vectors only part `part` of `parts` equal
/// ranges, whatever the number of shards. A missing, cut or changed file is an
/// error that names it.
Result<Checkpoint> readCheckpoint(const std::filesystem::path &path,
                                  int64_t part = 0, int64_t parts = 1);

/// The checkpoints below `folder`, by step; none where there is no folder.
/// Complete ones only: writing one that never ended leaves no name to find.
std::vector<std::filesystem::path>
listCheckpoints(const std::filesystem::path &folder);

} // namespace betz
