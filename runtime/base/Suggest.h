//===- Suggest.h - "did you mean" -----------------------------------------===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace betz {

/// The member of `known` nearest to `given` by edit distance, or "" when none
/// is near (more than a third of its letters differ).
std::string nearestName(std::string_view given,
                        const std::vector<std::string> &known);

} // namespace betz
