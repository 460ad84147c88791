#include "serve/http/RequestLog.h"

#include "serve/protocol/JsonText.h"

#include <algorithm>
#include <fmt/chrono.h>
#include <random>
#include <unistd.h>

namespace betz::serve {
namespace {

template <size_t N> void fillRandom(std::array<uint8_t, N> &bytes) {
  thread_local std::mt19937_64 random(std::random_device{}());
  std::ranges::generate(bytes, [] { return uint8_t(random()); });
}

bool isPlain(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::ranges::all_of(id, [](char c) {
    return c > ' ' && c < 127 && c != '"' && c != '\\';
  });
}

RequestSpan makeSpan(const Exchange &exchange,
                     std::chrono::system_clock::time_point start,
                     std::chrono::nanoseconds duration) {
  RequestSpan span;
  span.context = exchange.span;
  span.parent = exchange.parent;
  span.name = exchange.endpoint;
  span.start = start;
  span.duration = duration;
  span.requestId = exchange.requestId;
  span.status = static_cast<int>(exchange.response.result_int());
  if (exchange.decoded) {
    span.batch = exchange.decoded->batch;
    span.batchWindows = exchange.decoded->batchWindows;
    span.queued = exchange.decoded->queued;
    span.computed = exchange.decoded->computed;
  }
  return span;
}

} // namespace

void beginTrace(Exchange &exchange) {
  if (const auto given = parseTraceparent(exchange.header("traceparent"))) {
    exchange.span.traceId = given->traceId;
    exchange.span.isSampled = given->isSampled;
    exchange.parent = given->spanId;
  } else {
    fillRandom(exchange.span.traceId);
    exchange.span.isSampled = true;
  }
  fillRandom(exchange.span.spanId);
  const std::string_view id = exchange.header("x-request-id");
  exchange.requestId =
      isPlain(id) ? std::string(id) : toHex(exchange.span.spanId);
}

void finishExchange(Exchange &exchange,
                    std::chrono::system_clock::time_point start) {
  Service &service = exchange.service;
  const std::chrono::nanoseconds latency = Clock::now() - exchange.arrived;
  const int status = static_cast<int>(exchange.response.result_int());
  service.metrics.countRequest(exchange.endpoint, status, latency);
  exchange.response.set("X-Request-Id", exchange.requestId);
  // Refusing what would be late is how the server keeps its promises, and under
  // overload there are many; /metrics counts them.
  const bool isFault = status >= 500 && status != httpStatus(ErrorKind::Late);
  if (service.config.logRequests || isFault)
    logRequest(exchange, latency);
  if (service.spans && exchange.span.isSampled)
    service.spans->add(makeSpan(exchange, start, latency));
}

void logRequest(const Exchange &exchange, std::chrono::nanoseconds latency) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(
      std::chrono::system_clock::now());
  const auto status = exchange.response.result_int();
  std::string line = fmt::format(
      "{{\"time\":\"{:%FT%T}Z\",\"request_id\":\"{}\","
      "\"trace_id\":\"{}\",\"endpoint\":\"{}\",\"status\":{},"
      "\"ms\":{:.3f}",
      now, exchange.requestId, toHex(exchange.span.traceId), exchange.endpoint,
      status, static_cast<double>(latency.count()) * 1e-6);
  if (status >= 400) {
    line += ",\"answer\":";
    appendJsonString(line, exchange.response.body().substr(0, 512));
  }
  line += "}\n";
  // A log that takes no more is no reason to fail a request.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, line.data(), line.size());
}

} // namespace betz::serve
