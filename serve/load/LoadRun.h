//===- LoadRun.h - Sends requests and keeps their latencies ---------------===//
#pragma once

#include "runtime/program/Program.h"
#include "serve/engine/Engine.h"
#include "serve/load/Arrivals.h"

namespace betz::serve {

/// Windows that own their events.
struct LoadWindows {
  std::vector<int32_t> neuronId, timeBin, value, rowSplits;

  Windows view() const { return {neuronId, timeBin, value, rowSplits, {}}; }
};

/// What the events of a window may be: ids and values are below these.
struct WindowLimits {
  int32_t neurons = 1;
  int32_t bins = 1;
  int32_t values = 1;
  /// Of a window.
  int64_t maxEvents = 0;
};
Result<WindowLimits> windowLimits(const Program &program);

/// `count` windows of `events` events at random, within the limits.
Result<LoadWindows> randomWindows(const WindowLimits &limits, int64_t count,
                                  int64_t events, uint32_t seed);

/// Requests take turns with these.
inline constexpr int64_t kDifferentWindows = 64;
/// `kDifferentWindows` times one window.
Result<std::vector<LoadWindows>> differentWindows(const WindowLimits &limits,
                                                  int64_t events);

struct LoadOptions {
  std::string model = {};
  std::chrono::nanoseconds length = std::chrono::seconds(5);
  /// Events of a window; each request is one window, out of some different.
  int64_t events = 256;
  /// Of each request, from when it was to be sent; 0: the engine's.
  std::chrono::nanoseconds deadline{0};
};

/// What became of the requests of one run.
struct LoadResult {
  std::string name;
  std::chrono::nanoseconds elapsed{0};
  uint64_t sent = 0;
  /// Of those with a result, ascending.
  std::vector<std::chrono::nanoseconds> latencies;
  uint64_t onTime = 0;
  std::array<uint64_t, kErrorKinds> errors{};
  /// Without an answer: no connection, or it broke.
  uint64_t lost = 0;
  /// Windows of the batches, each counted for each of its windows.
  uint64_t batchWindows = 0;

  /// The latency below which `part` of them lie; 0 of none.
  std::chrono::nanoseconds quantile(double part) const;
  double perSecond(uint64_t count) const;
};

/// Sends at the times of `pattern` whatever comes back, and waits for the last
/// answer. Latencies count from the time that a request was to be sent.
Result<LoadResult> runOpenLoop(Engine &engine, const LoadOptions &options,
                               ArrivalPattern pattern, double rate);

/// `clients` that each send a request when the last was answered.
Result<LoadResult> runClosedLoop(Engine &engine, const LoadOptions &options,
                                 int64_t clients);

/// The bare program: batches of `windows`, one after another, no scheduler.
Result<LoadResult> runBatchLoop(std::shared_ptr<const Program> program,
                                std::shared_ptr<Device> device,
                                const LoadOptions &options, int64_t windows);

} // namespace betz::serve
