#include "runtime/hal/cpu/CpuIsa.h"

#include <fmt/format.h>
#include <iterator>

namespace betz {
namespace {

struct Level {
  std::string_view name;
  bool (*isSupported)();
};

/// Best first.
constexpr Level kLevels[] = {
    {"avx512", [] { return bool(__builtin_cpu_supports("x86-64-v4")); }},
    {"avx2", [] { return bool(__builtin_cpu_supports("x86-64-v3")); }},
    {"scalar", [] { return true; }},
};

} // namespace

Result<std::vector<std::string_view>> usableCpuIsas(std::string_view limit) {
  std::vector<std::string_view> usable;
  bool allowed = limit.empty();
  for (const Level &level : kLevels) {
    allowed |= level.name == limit;
    if (allowed && level.isSupported())
      usable.push_back(level.name);
  }
  if (!allowed)
    return invalidArgument(fmt::format(
        "BETZ_CPU_ISA is \"{}\"; use avx512, avx2 or scalar, or leave it unset",
        limit));
  return usable;
}

} // namespace betz
