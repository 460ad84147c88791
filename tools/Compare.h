//===- Compare.h - `--expect`: are the outputs what a file says? ----------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace betz {

/// One output, or one expected tensor, as doubles.
struct NamedValues {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<double> values;
};

/// Compares every output that `expected` has too. A value is wrong when it
/// differs from the expected one by more than `tolerance` times the largest
/// magnitude of the expected tensor, or is NaN. CheckFailed names tensor, index
/// and both values of the worst; it also fails when no name matched. Adds
/// "compared" and "skipped" to `report`.
Status compareOutputs(std::span<const NamedValues> outputs,
                      std::span<const NamedValues> expected, double tolerance,
                      Json &report);

/// A line on stdout for each output of such a report that was right or skipped.
void printComparison(const Json &report, double tolerance);

} // namespace betz
