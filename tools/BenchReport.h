//===- BenchReport.h - What `bench` prints and writes ---------------------===//
#pragma once

#include "runtime/base/Json.h"
#include "tools/Calibration.h"
#include "tools/StepProfile.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace betz {

/// What several kernels take together.
struct WorkTotal {
  std::string label;
  int64_t calls = 0;
  double seconds = 0;
  double flops = 0, bytes = 0;
};

/// Kernels added up by model section, in the order in which these first run.
std::vector<WorkTotal> sumBySection(const StepProfile &profile);
/// Kernels added up by code; the label is the first one's name.
std::vector<WorkTotal> sumByCode(const StepProfile &profile);

/// Nothing where one of the two is not known.
std::optional<double> fractionOf(double amount, double seconds, double limit);

/// `text` in at most `columns` characters, the last a "…" if any were cut.
/// ASCII goes in.
std::string shorten(std::string_view text, size_t columns);

/// Tables on standard output: the step, its kernels, its sections.
void printProfile(const Program &program, const StepProfile &profile,
                  const MachineLimits &limits);

/// Rates and fractions that are not known are left out.
Json toJson(const StepProfile &profile, const MachineLimits &limits);
Json toJson(const MachineLimits &limits);

} // namespace betz
