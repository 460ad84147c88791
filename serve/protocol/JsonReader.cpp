#include "serve/protocol/JsonReader.h"

#include <charconv>
#include <fmt/format.h>

namespace betz::serve {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

void appendUtf8(std::string &out, uint32_t code) {
  auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

/// How many bytes the UTF-8 sequence at the start of `text` has; 0: none.
size_t utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const uint32_t lead = byte(0);
  if (lead < 0x80)
    return 1;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t code = lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80)
      return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool isLegal = lead >= 0xC2 && lead < 0xF5 &&
                       code >= kSmallest[length] && code <= 0x10FFFF &&
                       (code < 0xD800 || code > 0xDFFF);
  return isLegal ? length : 0;
}

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8Length(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

} // namespace

void JsonReader::fail(std::string_view message) {
  if (error.isOk())
    error = invalidArgument(fmt::format("at byte {}: {}", at, message));
}

void JsonReader::skipSpace() {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' ||
                              text[at] == '\r' || text[at] == '\t'))
    ++at;
}

bool JsonReader::expect(char c, std::string_view what) {
  skipSpace();
  if (!isBroken() && at < text.size() && text[at] == c) {
    ++at;
    return true;
  }
  fail(fmt::format("expected {}", what));
  return false;
}

JsonReader::Kind JsonReader::peek() {
  skipSpace();
  if (isBroken() || at == text.size())
    return Kind::Broken;
  switch (text[at]) {
  case '{':
    return Kind::Object;
  case '[':
    return Kind::Array;
  case '"':
    return Kind::String;
  case 't':
  case 'f':
    return Kind::Bool;
  case 'n':
    return Kind::Null;
  default:
    return text[at] == '-' || isDigit(text[at]) ? Kind::Number : Kind::Broken;
  }
}

bool JsonReader::enter(char bracket, std::string_view what) {
  if (!expect(bracket, what))
    return false;
  if (isFresh.size() == kMaxDepth) {
    fail(fmt::format("nested deeper than {}", kMaxDepth));
    return false;
  }
  isFresh.push_back(true);
  return true;
}

bool JsonReader::enterObject() { return enter('{', "an object"); }
bool JsonReader::enterArray() { return enter('[', "an array"); }

bool JsonReader::leave() {
  ++at;
  isFresh.pop_back();
  return false;
}

bool JsonReader::separate(char bracket) {
  skipSpace();
  if (isBroken())
    return false;
  const bool fresh = isFresh.back();
  isFresh.back() = false;
  if (at < text.size() && text[at] == bracket)
    return leave();
  return fresh || expect(',', bracket == '}' ? "',' or '}'" : "',' or ']'");
}

bool JsonReader::nextElement() { return separate(']'); }

bool JsonReader::nextMember(std::string_view &key) {
  if (!separate('}'))
    return false;
  key = scanString(keyScratch);
  return expect(':', "':'");
}

bool JsonReader::scanHex4(uint32_t &value) {
  if (text.size() - at < 4) {
    fail("a string that does not end");
    return false;
  }
  const char *first = text.data() + at;
  auto [end, code] = std::from_chars(first, first + 4, value, 16);
  if (code != std::errc() || end != first + 4) {
    fail("\\u needs four hexadecimal digits");
    return false;
  }
  at += 4;
  return true;
}

void JsonReader::scanEscape(std::string &out) {
  if (at == text.size())
    return fail("a string that does not end");
  const char c = text[at++];
  static constexpr std::string_view kNames = "\"\\/bfnrt";
  static constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  if (size_t place = kNames.find(c); place != std::string_view::npos) {
    out.push_back(kValues[place]);
    return;
  }
  uint32_t code = 0;
  if (c != 'u')
    return fail("an escape that JSON does not have");
  if (!scanHex4(code))
    return;
  if (code >= 0xD800 && code < 0xDC00) {
    uint32_t low = 0;
    if (text.substr(at, 2) != "\\u")
      return fail("half of a surrogate pair");
    at += 2;
    if (!scanHex4(low))
      return;
    if (low < 0xDC00 || low > 0xDFFF)
      return fail("half of a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xDC00 && code < 0xE000) {
    return fail("half of a surrogate pair");
  }
  appendUtf8(out, code);
}

std::string_view JsonReader::scanString(std::string &scratch) {
  if (!expect('"', "a string"))
    return {};
  const size_t start = at;
  bool hasEscape = false;
  size_t copied = start;
  while (!isBroken()) {
    if (at == text.size()) {
      fail("a string that does not end");
      break;
    }
    const char c = text[at];
    if (static_cast<unsigned char>(c) < 0x20) {
      fail("a control character in a string");
      break;
    }
    if (c == '"') {
      ++at;
      const std::string_view written = text.substr(start, at - 1 - start);
      if (!isUtf8(written))
        fail("a string that is not valid UTF-8");
      if (!hasEscape || isBroken())
        return isBroken() ? std::string_view() : written;
      return scratch.append(text.substr(copied, at - 1 - copied));
    }
    ++at;
    if (c != '\\')
      continue;
    if (!hasEscape)
      scratch.clear();
    hasEscape = true;
    scratch.append(text.substr(copied, at - 1 - copied));
    scanEscape(scratch);
    copied = at;
  }
  return {};
}

std::string JsonReader::readString() {
  std::string scratch;
  return std::string(scanString(scratch));
}

std::string_view JsonReader::scanNumber() {
  skipSpace();
  const size_t start = at;
  size_t place = at;
  auto digits = [&] {
    const size_t first = place;
    while (place < text.size() && isDigit(text[place]))
      ++place;
    return place > first;
  };
  auto take = [&](std::string_view any) {
    const bool found =
        place < text.size() && any.find(text[place]) != std::string_view::npos;
    place += found;
    return found;
  };
  take("-");
  bool isNumber = take("0") || digits();
  if (isNumber && take("."))
    isNumber = digits();
  if (isNumber && take("eE")) {
    take("+-");
    isNumber = digits();
  }
  if (isBroken() || !isNumber) {
    fail("expected a number");
    return {};
  }
  at = place;
  return text.substr(start, place - start);
}

int64_t JsonReader::readInteger() {
  const std::string_view digits = scanNumber();
  int64_t value = 0;
  const char *end = digits.data() + digits.size();
  auto [stop, code] = std::from_chars(digits.data(), end, value);
  if (!isBroken() && (code != std::errc() || stop != end))
    fail("expected an integer of 64 bits");
  return isBroken() ? 0 : value;
}

double JsonReader::readNumber() {
  const std::string_view digits = scanNumber();
  double value = 0;
  auto [end, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (!isBroken() && code != std::errc())
    fail("expected a number in the range of f64");
  return isBroken() ? 0 : value;
}

bool JsonReader::takeWord(std::string_view word) {
  if (text.substr(at, word.size()) != word)
    return false;
  at += word.size();
  return true;
}

bool JsonReader::readBool() {
  skipSpace();
  if (isBroken())
    return false;
  if (takeWord("true"))
    return true;
  if (!takeWord("false"))
    fail("expected true or false");
  return false;
}

std::string_view JsonReader::skipValue() {
  const Kind kind = peek();
  const size_t start = at;
  std::string_view key;
  switch (kind) {
  case Kind::Object:
    enterObject();
    while (nextMember(key))
      skipValue();
    break;
  case Kind::Array:
    enterArray();
    while (nextElement())
      skipValue();
    break;
  case Kind::String:
    scanString(keyScratch);
    break;
  case Kind::Number:
    scanNumber();
    break;
  case Kind::Bool:
    readBool();
    break;
  case Kind::Null:
    if (!takeWord("null"))
      fail("expected a value");
    break;
  case Kind::Broken:
    fail("expected a value");
  }
  return isBroken() ? std::string_view() : text.substr(start, at - start);
}

Status JsonReader::finish() {
  skipSpace();
  if (at != text.size())
    fail("text after the end of the document");
  return error;
}

} // namespace betz::serve
