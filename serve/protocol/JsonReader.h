//===- JsonReader.h - JSON read in one pass, straight into its target -----===//
//
// Bodies are mostly arrays of small integers; building a document of them first
// would cost more than a small model's step.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace betz::serve {

/// Reads one document of UTF-8 front to back. The first error sticks: from then
/// on every call does nothing and returns false, zero or an empty value, so
/// that a caller checks once, in finish(). The text must outlive the reader.
///
///   reader.enterObject();
///   while (reader.nextMember(key))
///     if (key == "id") id = reader.readString(); else reader.skipValue();
///   return reader.finish();
class JsonReader {
public:
  enum class Kind { Object, Array, String, Number, Bool, Null, Broken };
  /// Objects and arrays inside each other; more is an error.
  static constexpr size_t kMaxDepth = 64;

  explicit JsonReader(std::string_view text) : text(text) {}

  /// What the next value is, by its first character.
  Kind peek();

  /// Enters an object or array; anything else is an error.
  bool enterObject();
  bool enterArray();
  /// The next member's key, ready for its value; false past the last, which
  /// leaves the object. `key` is valid until the next call.
  bool nextMember(std::string_view &key);
  /// Whether another element follows; false past the last, which leaves the
  /// array.
  bool nextElement();

  std::string readString();
  /// A number without fraction or exponent, in the range of 64 bits.
  int64_t readInteger();
  double readNumber();
  bool readBool();
  /// Skips one value of any kind and returns its text.
  std::string_view skipValue();

  /// Makes this the error, unless there is one: "at byte N: message".
  void fail(std::string_view message);
  bool isBroken() const { return !error.isOk(); }

  /// The error, which is also that text follows the document.
  Status finish();

private:
  void skipSpace();
  /// Takes `c`, or makes "expected `what`" the error.
  bool expect(char c, std::string_view what);
  bool enter(char bracket, std::string_view what);
  bool leave();
  /// Before a further element: the comma, or the end by `bracket`.
  bool separate(char bracket);
  /// The characters of a number as JSON spells it.
  std::string_view scanNumber();
  /// A string's content; in `scratch` where it has escapes.
  std::string_view scanString(std::string &scratch);
  void scanEscape(std::string &out);
  bool scanHex4(uint32_t &value);
  bool takeWord(std::string_view word);

  std::string_view text;
  size_t at = 0;
  /// For each open object or array whether nothing of it was read yet.
  std::vector<bool> isFresh;
  std::string keyScratch;
  Status error;
};

} // namespace betz::serve
