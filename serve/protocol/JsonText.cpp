#include "serve/protocol/JsonText.h"

#include <cmath>
#include <fmt/format.h>

namespace betz::serve {
namespace {

template <typename T> void appendFloating(std::string &out, T value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

} // namespace

void appendJsonString(std::string &out, std::string_view text) {
  out.push_back('"');
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void appendJsonNumber(std::string &out, double value) {
  appendFloating(out, value);
}
void appendJsonNumber(std::string &out, float value) {
  appendFloating(out, value);
}

std::string jsonError(std::string_view message) {
  std::string out = "{\"error\":";
  appendJsonString(out, message);
  out.push_back('}');
  return out;
}

} // namespace betz::serve
