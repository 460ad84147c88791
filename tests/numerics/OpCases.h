//===- OpCases.h - One table of op cases for every backend ----------------===//
//
// `OpCases.def` has a row a case. The interpreter, the CPU backend, finite
// differences and benches run the same rows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/Tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace betz {

/// A module in the model phase and tensors to run it on. Outputs are named
/// "out0", "out1", ...
struct OpCase {
  std::string name;
  std::string moduleText;
  reference::TensorMap weights, inputs;
  /// Largest error of f32 code, relative to the largest finite magnitude of
  /// the output.
  double cpuTolerance;
};

/// Every row of the table; another seed gives other tensors.
std::vector<OpCase> allOpCases(uint64_t seed = 1);

/// "" if `got` has the shape and values of `expected`: integers equal, reals
/// within `tolerance` times the largest finite magnitude of `expected`; NaN
/// where NaN is expected, infinities of one sign. Else the first difference.
std::string compareTensors(const reference::Tensor &expected,
                           const reference::Tensor &got, double tolerance);

/// As above for each tensor of `expected`, named.
std::string compareTensors(const reference::TensorMap &expected,
                           const reference::TensorMap &got, double tolerance);

} // namespace betz
