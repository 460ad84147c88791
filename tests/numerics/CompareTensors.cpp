#include "tests/numerics/OpCases.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace betz {
namespace {

bool agree(double expected, double got, double bound) {
  if (std::isnan(expected))
    return std::isnan(got);
  if (std::isinf(expected))
    return got == expected;
  return std::abs(got - expected) <= bound;
}

} // namespace

std::string compareTensors(const reference::Tensor &expected,
                           const reference::Tensor &got, double tolerance) {
  if (got.shape != expected.shape || got.real.size() != expected.real.size() ||
      got.integer.size() != expected.integer.size())
    return fmt::format("shape [{}] and not [{}]", fmt::join(got.shape, ", "),
                       fmt::join(expected.shape, ", "));
  double largest = 0;
  for (double value : expected.real)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < expected.real.size(); ++i)
    if (!agree(expected.real[i], got.real[i], tolerance * largest))
      return fmt::format("element {} is {:.9g} and not {:.9g} (tolerance "
                         "{:.3g} of {:.3g})",
                         i, got.real[i], expected.real[i], tolerance, largest);
  for (size_t i = 0; i < expected.integer.size(); ++i)
    if (got.integer[i] != expected.integer[i])
      return fmt::format("element {} is {} and not {}", i, got.integer[i],
                         expected.integer[i]);
  return "";
}

std::string compareTensors(const reference::TensorMap &expected,
                           const reference::TensorMap &got, double tolerance) {
  for (const auto &[name, tensor] : expected) {
    auto found = got.find(name);
    if (found == got.end())
      return "'" + name + "' is missing";
    std::string difference = compareTensors(tensor, found->second, tolerance);
    if (!difference.empty())
      return "'" + name + "': " + difference;
  }
  return "";
}

} // namespace betz
