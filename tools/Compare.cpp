#include "tools/Compare.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace betz {

namespace {

std::string indexText(size_t flat, std::span<const int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = int64_t(flat) % shape[i];
    flat /= size_t(shape[i]);
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

struct Worst {
  double error = 0; // relative to the largest expected magnitude
  size_t at = 0;
};

/// A NaN on either side is an infinite error, as is any difference from an
/// infinite value.
Worst findWorst(const NamedValues &output, const NamedValues &expected) {
  double largest = 0;
  for (double value : expected.values)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  Worst worst;
  for (size_t i = 0; i < output.values.size(); ++i) {
    double got = output.values[i], want = expected.values[i];
    double difference = got == want ? 0 : std::abs(got - want);
    double error = difference == 0 ? 0 : difference / largest;
    if (!(error <= worst.error)) {
      worst.error = std::isnan(error) ? INFINITY : error;
      worst.at = i;
    }
    if (std::isinf(worst.error))
      break;
  }
  return worst;
}

Status compareOne(const NamedValues &output, const NamedValues &expected,
                  double tolerance, Json &entry) {
  if (output.shape != expected.shape)
    return checkFailed(fmt::format("{}: has shape [{}], expected [{}]",
                                   output.name, fmt::join(output.shape, ", "),
                                   fmt::join(expected.shape, ", ")));
  Worst worst = findWorst(output, expected);
  entry["values"] = output.values.size();
  entry["max_relative_error"] = worst.error;
  if (!(worst.error <= tolerance))
    return checkFailed(fmt::format(
        "{}{}: is {:.9g}, expected {:.9g}: off by {:.3g} of the largest "
        "expected magnitude, allowed {:.3g}",
        output.name, indexText(worst.at, output.shape), output.values[worst.at],
        expected.values[worst.at], worst.error, tolerance));
  return Status::ok();
}

} // namespace

Status compareOutputs(std::span<const NamedValues> outputs,
                      std::span<const NamedValues> expected, double tolerance,
                      Json &report) {
  Status failure;
  int matched = 0;
  Json entries = Json::array(), skipped = Json::array();
  for (const NamedValues &output : outputs) {
    auto want = std::find_if(
        expected.begin(), expected.end(),
        [&](const NamedValues &other) { return other.name == output.name; });
    if (want == expected.end()) {
      skipped.push_back(output.name);
      continue;
    }
    ++matched;
    Json entry = {{"name", output.name}};
    Status status = compareOne(output, *want, tolerance, entry);
    entry["ok"] = status.isOk();
    entries.push_back(std::move(entry));
    if (failure.isOk())
      failure = std::move(status);
  }
  report["compared"] = std::move(entries);
  report["skipped"] = std::move(skipped);
  if (matched == 0)
    return checkFailed("none of the outputs is in the expected file");
  return failure;
}

void printComparison(const Json &report, double tolerance) {
  for (const Json &entry : report["compared"])
    if (entry["ok"].get<bool>())
      fmt::print("{}: ok, {} values, largest error {:.3g} (allowed {:.3g})\n",
                 entry["name"].get<std::string>(),
                 entry["values"].get<int64_t>(),
                 entry["max_relative_error"].get<double>(), tolerance);
  for (const Json &name : report["skipped"])
    fmt::print("{}: skipped, the expected file lacks it\n",
               name.get<std::string>());
}

} // namespace betz
