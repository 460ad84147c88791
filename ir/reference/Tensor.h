//===- Tensor.h - Values that the interpreter computes with ---------------===//
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace betz::reference {

/// A dense row-major tensor. Values of f32 and bf16 tensors lie in `real` as
/// doubles and are never rounded; those of i8 and i32 tensors in `integer`.
/// The other vector is empty.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> real;
  std::vector<int32_t> integer;

  /// Last dimension; 1 for a scalar.
  int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  /// Product of all dimensions but the last.
  int64_t rows() const {
    int64_t count = 1;
    for (size_t i = 0; i + 1 < shape.size(); ++i)
      count *= shape[i];
    return count;
  }
};

using TensorMap = std::map<std::string, Tensor>;

} // namespace betz::reference
