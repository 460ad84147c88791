#include "runtime/base/DType.h"

#include <array>

namespace betz {
namespace {
struct Row {
  std::string_view name;
  size_t bytes;
};
constexpr std::array<Row, 5> kRows = {
    {{"f32", 4}, {"bf16", 2}, {"i8", 1}, {"i32", 4}, {"f64", 8}}};
} // namespace

size_t sizeOf(DType type) { return kRows[static_cast<size_t>(type)].bytes; }

std::string_view toString(DType type) {
  return kRows[static_cast<size_t>(type)].name;
}

std::optional<DType> parseDType(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace betz
