//===- TraceContext.h - W3C trace context ---------------------------------===//
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace betz::serve {

/// A span's place in a trace.
struct TraceContext {
  std::array<uint8_t, 16> traceId{};
  std::array<uint8_t, 8> spanId{};
  bool isSampled = false;

  bool operator==(const TraceContext &) const = default;
};

/// A `traceparent` header; nothing for one that the W3C recommendation says to
/// ignore. Later versions are read as far as version 00 goes.
std::optional<TraceContext> parseTraceparent(std::string_view header);

/// As version 00.
std::string formatTraceparent(const TraceContext &context);

/// Lower-case hexadecimal digits.
std::string toHex(std::span<const uint8_t> bytes);

} // namespace betz::serve
