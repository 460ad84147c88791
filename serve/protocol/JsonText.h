//===- JsonText.h - JSON appended to a string -----------------------------===//
#pragma once

#include <charconv>
#include <concepts>
#include <span>
#include <string>
#include <string_view>

namespace betz::serve {

/// `text` in quotes, with what JSON does not allow escaped. UTF-8 stays.
void appendJsonString(std::string &out, std::string_view text);

/// The shortest decimal number that reads back as `value`; null for NaN and
/// infinities, which JSON does not have.
void appendJsonNumber(std::string &out, double value);
void appendJsonNumber(std::string &out, float value);
void appendJsonNumber(std::string &out, std::integral auto value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// "[1,2,3]".
template <typename T>
void appendJsonArray(std::string &out, std::span<const T> values) {
  out.push_back('[');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0)
      out.push_back(',');
    appendJsonNumber(out, values[i]);
  }
  out.push_back(']');
}

/// {"error": message}, as the inference protocol has it.
std::string jsonError(std::string_view message);

} // namespace betz::serve
