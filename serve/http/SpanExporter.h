//===- SpanExporter.h - Traces to an OTLP collector -----------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/http/FrontMetrics.h"
#include "serve/protocol/TraceContext.h"

#include <condition_variable>
#include <memory>
#include <thread>

namespace betz::serve {

/// A finished request, of which several spans are made: the request, its time
/// in the queue and on the device, and one dispatch for each batch, which
/// links to all requests of the batch.
struct RequestSpan {
  TraceContext context;
  std::array<uint8_t, 8> parent{};
  std::string name;
  std::chrono::system_clock::time_point start;
  std::chrono::nanoseconds duration{0};
  std::string requestId;
  int status = 200;
  /// Zero where the engine did not answer.
  uint64_t batch = 0;
  int64_t batchWindows = 0;
  std::chrono::nanoseconds queued{0};
  std::chrono::nanoseconds computed{0};
};

/// The body of `POST /v1/traces` for these requests, as OTLP's JSON.
std::string writeOtlp(std::span<const RequestSpan> requests);
/// How many spans that body has.
size_t countSpans(std::span<const RequestSpan> requests);

/// Sends spans from a thread of its own. What does not fit its queue, or what
/// the collector does not take, is dropped and counted; requests never wait.
class SpanExporter {
public:
  static constexpr size_t kMaxQueue = 4096;

  /// `endpoint` is "http://HOST:PORT/PATH".
  static Result<std::unique_ptr<SpanExporter>> create(std::string_view endpoint,
                                                      FrontMetrics &metrics);
  /// Tries once to send what is left.
  ~SpanExporter();

  /// Any thread; never blocks on the network.
  void add(RequestSpan span);

private:
  struct Endpoint {
    std::string host, port, path;
  };
  SpanExporter(Endpoint endpoint, FrontMetrics &metrics);
  void run();
  /// Whether the collector took the body.
  bool send(const std::string &body) const;

  const Endpoint endpoint;
  FrontMetrics &metrics;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<RequestSpan> queue; // guarded by mutex
  bool isStopping = false;        // guarded by mutex
  std::thread thread;
};

} // namespace betz::serve
