//===- Uniform.h - Numbers to measure with --------------------------------===//
#pragma once

#include "runtime/base/DType.h"

#include <cstddef>
#include <vector>

namespace betz {

/// `bytes` bytes of f32 or bf16 elements that are uniform in [-1, 1), always
/// the same. They repeat after a megabyte. What a processor takes for a product
/// depends on its numbers: zeros need less power, and so run faster.
std::vector<std::byte> uniformElements(DType dtype, size_t bytes);

} // namespace betz
