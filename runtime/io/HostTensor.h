//===- HostTensor.h - A tensor that owns its bytes ------------------------===//
#pragma once

#include "runtime/base/DType.h"
#include "runtime/io/Safetensors.h"

#include <cassert>
#include <span>
#include <string>
#include <vector>

namespace betz {

/// Dense, row-major, in host memory.
struct HostTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// elements() × sizeOf(dtype) bytes, aligned for any element type.
  std::vector<std::byte> data;

  /// The elements as T, which must be as wide as the dtype.
  template <typename T> std::span<T> as() {
    assert(sizeof(T) == sizeOf(dtype));
    return {reinterpret_cast<T *>(data.data()), data.size() / sizeof(T)};
  }
  template <typename T> std::span<const T> as() const {
    assert(sizeof(T) == sizeOf(dtype));
    return {reinterpret_cast<const T *>(data.data()), data.size() / sizeof(T)};
  }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    return count;
  }
};

/// Copies a file's tensor. F32, F64, BF16, I32 and I8 keep their type; I64
/// becomes i32. Fails with InvalidArgument, naming the tensor, for another type
/// or for an integer that does not fit (then its index and value too).
Result<HostTensor> toHost(const SafeTensor &tensor);

/// A view of `tensor` as writeSafetensors takes it; lives as long as `tensor`.
SafeTensor toSafe(const HostTensor &tensor);

} // namespace betz
