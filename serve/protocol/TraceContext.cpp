#include "serve/protocol/TraceContext.h"

#include <algorithm>

namespace betz::serve {
namespace {

constexpr size_t kLength = 55; // of version 00: 2-32-16-2 digits

/// The value of a lower-case hexadecimal digit; -1 for other characters.
int digitValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool readHex(std::string_view digits, std::span<uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = digitValue(digits[2 * i]);
    const int low = digitValue(digits[2 * i + 1]);
    if (high < 0 || low < 0)
      return false;
    bytes[i] = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

bool isZero(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

} // namespace

std::optional<TraceContext> parseTraceparent(std::string_view header) {
  TraceContext context;
  uint8_t version = 0, flags = 0;
  if (header.size() < kLength || header[2] != '-' || header[35] != '-' ||
      header[52] != '-' || !readHex(header.substr(0, 2), {&version, 1}) ||
      !readHex(header.substr(3, 32), context.traceId) ||
      !readHex(header.substr(36, 16), context.spanId) ||
      !readHex(header.substr(53, 2), {&flags, 1}))
    return std::nullopt;
  if (version == 0xFF || isZero(context.traceId) || isZero(context.spanId))
    return std::nullopt;
  if (header.size() > kLength && (version == 0 || header[kLength] != '-'))
    return std::nullopt;
  context.isSampled = flags & 1;
  return context;
}

std::string toHex(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string formatTraceparent(const TraceContext &context) {
  return "00-" + toHex(context.traceId) + "-" + toHex(context.spanId) +
         (context.isSampled ? "-01" : "-00");
}

} // namespace betz::serve
