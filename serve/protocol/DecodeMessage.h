//===- DecodeMessage.h - `POST /decode`: one window as JSON ---------------===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/protocol/EventArrays.h"

#include <optional>
#include <string>

namespace betz::serve {

struct DecodeRequest {
  /// The client's, to be given back; may be empty.
  std::string requestId;
  std::string sessionId;
  /// Empty: the only model there is.
  std::string model;
  EventArrays events;
  std::optional<std::chrono::nanoseconds> timeout;
};

/// Reads {"events": [...]} with, optionally, request_id, session_id, model,
/// deadline_ms above 0 and window_start. Other members are errors, so that a
/// misspelled deadline is not lost. At most `maxEvents` events.
Result<DecodeRequest> parseDecodeRequest(std::string_view json,
                                         size_t maxEvents);

/// {"request_id", "behavior", "latency_ms", "queue_wait_ms", "inference_ms"};
/// `latency` is from arrival until now.
std::string writeDecodeResponse(std::string_view requestId,
                                std::string_view sessionId,
                                const Decoded &decoded,
                                std::chrono::nanoseconds latency);

} // namespace betz::serve
