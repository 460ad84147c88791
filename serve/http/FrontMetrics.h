//===- FrontMetrics.h - What the network front counts ---------------------===//
#pragma once

#include "serve/engine/Engine.h"
#include "serve/http/SloBurn.h"
#include "serve/protocol/MetricsText.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>

namespace betz::serve {

/// Counts of the front, and the page of metrics. Any thread may call anything.
class FrontMetrics {
public:
  /// `slo` is the latency that counts as good; it is among the latencies'
  /// bounds.
  explicit FrontMetrics(std::chrono::nanoseconds slo);

  /// A request that was answered; `endpoint` is one of a fixed few.
  void countRequest(std::string_view endpoint, int status,
                    std::chrono::nanoseconds latency);
  /// The difference between the latencies of a stream's decode and the one
  /// before.
  void countJitter(std::chrono::nanoseconds difference);

  std::atomic<int64_t> connections{0};
  std::atomic<uint64_t> connectionsAccepted{0};
  std::atomic<uint64_t> connectionsRefused{0};
  /// HTTP requests that were read and not yet answered.
  std::atomic<int64_t> inFlight{0};
  /// Connections closed because a request took too long to arrive.
  std::atomic<uint64_t> timeouts{0};
  std::atomic<uint64_t> clientsGone{0};
  std::atomic<uint64_t> spansExported{0};
  std::atomic<uint64_t> spansDropped{0};

  /// Prometheus' text: the front's counts and the engine's.
  std::string write(const Engine &engine) const;

private:
  struct Endpoint {
    std::map<int, uint64_t> byStatus;
    Histogram latency;
  };

  void writeFront(MetricsText &text) const;
  void countForSlo(int status, std::chrono::nanoseconds latency);

  const std::chrono::nanoseconds slo;
  std::vector<double> bounds;
  mutable std::mutex mutex;
  std::map<std::string, Endpoint, std::less<>> endpoints; // guarded by mutex
  Histogram jitter;                                       // guarded by mutex
  SloBurn burn;                                           // guarded by mutex
};

} // namespace betz::serve
