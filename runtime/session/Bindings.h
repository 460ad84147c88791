//===- Bindings.h - A caller's tensors for one step -----------------------===//
#pragma once

#include "runtime/base/DType.h"

#include <cstdint>
#include <span>

namespace betz {

/// Values for input `input` of Program::inputs; dense, row-major.
struct InputBinding {
  uint32_t input = 0;
  DType dtype = DType::F32;
  const void *data = nullptr;
  std::span<const int64_t> shape;
};

/// Where output `output` of Program::outputs goes; dense, row-major.
struct OutputBinding {
  uint32_t output = 0;
  DType dtype = DType::F32;
  void *data = nullptr;
  std::span<const int64_t> shape;
};

} // namespace betz
