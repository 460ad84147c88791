//===- RequestLog.h - Ids, traces and a log line of each request ----------===//
#pragma once

#include "serve/http/Exchange.h"

namespace betz::serve {

/// Gives the exchange its request id (the client's `X-Request-Id`, if it is of
/// at most 128 plain characters) and its place in a trace.
void beginTrace(Exchange &exchange);

/// Counts, logs and traces an exchange whose response is complete, and puts the
/// request id into it.
void finishExchange(Exchange &exchange,
                    std::chrono::system_clock::time_point start);

/// One line of JSON on stderr: time, request id, trace, endpoint, status,
/// milliseconds, and the error if there is one.
void logRequest(const Exchange &exchange, std::chrono::nanoseconds latency);

} // namespace betz::serve
