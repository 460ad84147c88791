#include "runtime/base/Xml.h"

#include <cstdint>

namespace betz {

std::string escapeXml(std::string_view text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      // Other control characters may not occur in XML at all.
      escaped += uint8_t(c) < 0x20 ? ' ' : c;
    }
  return escaped;
}

} // namespace betz
