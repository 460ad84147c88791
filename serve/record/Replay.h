//===- Replay.h - Runs a log's batches again ------------------------------===//
#pragma once

#include "serve/engine/LoadedModel.h"
#include "serve/record/RecordReader.h"

namespace betz::serve {

/// The first output that came out otherwise.
struct ReplayDifference {
  uint64_t batch = 0;
  int64_t window = 0; // of the batch
  int64_t column = 0;
  float recorded = 0;
  float replayed = 0;
};

struct ReplayResult {
  int64_t batches = 0;
  int64_t windows = 0;
  /// Batches of other programs, which were not run.
  int64_t skipped = 0;
  /// Batches that the log lacks, as its writer dropped them.
  uint64_t dropped = 0;
  /// The log has its end; else the server was killed, and the batches are those
  /// up to the last whole one.
  bool isComplete = false;
  /// The devices that computed the batches.
  std::vector<std::string> devices = {};
  std::optional<ReplayDifference> difference = {};
};

/// Runs the batches of the program with `hash` until one differs in a bit.
/// `model` holds that program and takes batches of any size that it has. An
/// InvalidArgument where the log has batches of other programs only; a DataLoss
/// where it is damaged.
Result<ReplayResult> replay(RecordReader &log, LoadedModel &model,
                            const std::string &hash);

} // namespace betz::serve
