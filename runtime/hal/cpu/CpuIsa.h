//===- CpuIsa.h - Instruction-set levels of x86 ---------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <string_view>
#include <vector>

namespace betz {

/// The levels that this processor runs, best first: {"avx2", "scalar"} or
/// {"scalar"}. `limit` is the best level to use, "" for no limit (the value of
/// BETZ_CPU_ISA); an unknown one is an error.
Result<std::vector<std::string_view>> usableCpuIsas(std::string_view limit);

} // namespace betz
