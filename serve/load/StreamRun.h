//===- StreamRun.h - Streams through the engine, compared with scratch ----===//
#pragma once

#include "runtime/base/Json.h"
#include "serve/engine/LoadedModel.h"
#include "serve/load/LoadRun.h"

namespace betz::serve {

struct StreamRunOptions {
  std::string model = {};
  int64_t streams = 8;
  /// Decodes of each stream.
  int64_t strides = 100;
  /// Events of a window in the mean; they come at random, in any order.
  double events = 64;
  uint32_t seed = 1;
};

struct StreamRunResult {
  /// Latencies from advance() to the answer; only the time that decodes ran is
  /// in `elapsed`.
  LoadResult load;
  /// Decodes whose bits are not those of their window decoded alone, and the
  /// first of them in words.
  uint64_t differing = 0;
  std::string firstDifference = {};
  /// What the run added to the engine's counts.
  StreamStatistics counts = {};

  /// Of the pages that decodes read, those found on the device.
  double hitRate() const;
};

/// Streams that take turns, stride by stride: each pushes the events of its
/// next stride and advances, and when all have their answers, each window is
/// decoded again alone by `scratch`, from its own list of events and bins that
/// count from its start.
Result<StreamRunResult> runStreams(Engine &engine, LoadedModel &scratch,
                                   const StreamRunOptions &options);

/// As of its `load`, and {"differing", "hit_rate", "evictions", "bytes_read",
/// "bytes_uploaded"}.
Json toJson(const StreamRunResult &result);

} // namespace betz::serve
