//===- Page.h - The live page ---------------------------------------------===//
#pragma once

#include <string_view>

namespace betz::serve {

/// page.html, as it was when this was built.
std::string_view livePage();

} // namespace betz::serve
