//===- EngineConfig.h - Limits and choices of an engine -------------------===//
#pragma once

#include "serve/engine/BatchObserver.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace betz::serve {

struct RealTimeConfig {
  /// Cores that the engine's thread and the device's threads are pinned to;
  /// empty: not pinned.
  std::vector<int> cores = {};
  /// SCHED_FIFO at this priority, 1 to 99; 0: the usual scheduling.
  int fifoPriority = 0;
  /// mlockall: no page of the process is swapped out.
  bool lockMemory = false;
};

struct StreamConfig {
  /// Streams open at once, in all models.
  int64_t maxStreams = 1000;
  /// Events that a page holds, and bytes of the pool of pages.
  int32_t pageEvents = 64;
  int64_t poolBytes = 64 << 20;
  /// A stream that is neither pushed to nor advanced for so long is closed.
  std::chrono::nanoseconds idleTimeout = std::chrono::seconds(60);
  /// Decodes of one stream that may be unanswered at once.
  int32_t maxPending = 4;
  /// In place of a row with a NaN or an infinity, answer the last without.
  bool holdLastGood = false;
};

struct EngineConfig {
  /// "cpu", "cuda:N"; threads of a cpu device, 0 for one a core.
  std::string device = "cpu";
  int threads = 0;
  /// Requests that may wait; one more is QueueFull.
  int64_t maxQueue = 1024;
  /// Windows of one request, and of one batch; 0: the largest bucket's.
  int64_t maxBatch = 0;
  /// For requests that name no deadline.
  std::chrono::nanoseconds defaultDeadline = std::chrono::seconds(1);
  StreamConfig streams = {};
  RealTimeConfig realTime = {};
  /// Told of every batch; none by default.
  std::shared_ptr<BatchObserver> observer = {};
};

} // namespace betz::serve
