//===- StreamFrame.h - Frames of `WS /stream` -----------------------------===//
//
// Every frame exists as JSON (a text frame) and as bytes (a binary frame); an
// answer has the form of the frame that asked for it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/engine/StreamSession.h"

#include <optional>
#include <string>
#include <vector>

namespace betz::serve {

/// Events, and how far time has come.
struct StreamFrame {
  /// The client's, given back in the answers to this frame.
  uint32_t sequenceNumber = 0;
  std::vector<StreamEvent> events;
  /// Bins before this one are over.
  std::optional<int32_t> advanceTo;
};

/// {"sequence_number": s, "events": [...], "advance_to": b}, each optional.
Result<StreamFrame> parseStreamText(std::string_view json, size_t maxEvents);

/// Little-endian, without padding: u32 sequence number, i32 advance_to or -1,
/// u32 number of events, then i32 neuron, bin and value of each.
Result<StreamFrame> parseStreamBytes(std::string_view bytes, size_t maxEvents);

/// One decode, or why there is none.
struct StreamReply {
  uint32_t sequenceNumber = 0;
  int32_t endBin = 0;
  /// 200, or what the same failure would be over HTTP.
  int status = 200;
  /// From the frame's arrival.
  std::chrono::nanoseconds latency{0};
  /// Events of this stream so far that came late, and that were merged.
  int64_t late = 0;
  int64_t merged = 0;
  std::vector<float> behavior;
  /// As in Decoded.
  bool isNonFinite = false;
  bool isHeld = false;
  /// Where status is not 200.
  std::string error;
};

std::string writeStreamText(const StreamReply &reply);

/// Little-endian: u32 sequence number, i32 end bin, u32 status with bit 16 set
/// for isNonFinite and bit 17 for isHeld, u32 latency in microseconds, u32
/// late, u32 merged, then f32 behavior or the error's UTF-8.
std::string writeStreamBytes(const StreamReply &reply);

} // namespace betz::serve
