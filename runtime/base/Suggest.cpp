#include "runtime/base/Suggest.h"

#include <algorithm>
#include <numeric>

namespace betz {
namespace {
/// Levenshtein distance.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replace = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replace});
    }
  }
  return row.back();
}
} // namespace

std::string nearestName(std::string_view given,
                        const std::vector<std::string> &known) {
  std::string best;
  size_t bestDistance = std::max<size_t>(given.size() / 3, 1) + 1;
  for (const std::string &name : known)
    if (size_t distance = editDistance(given, name); distance < bestDistance) {
      bestDistance = distance;
      best = name;
    }
  return best;
}

} // namespace betz
