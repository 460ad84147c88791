//===- Xml.h - Text inside XML and HTML -----------------------------------===//
#pragma once

#include <string>
#include <string_view>

namespace betz {

/// `text` with what XML and HTML give a meaning replaced.
std::string escapeXml(std::string_view text);

} // namespace betz
