//===- BenchPictures.h - A step as a time line and as a roofline ----------===//
#pragma once

#include "tools/Calibration.h"
#include "tools/StepProfile.h"

#include <string>
#include <string_view>

namespace betz {

/// Trace events as JSON, which ui.perfetto.dev and chrome://tracing open: the
/// launches of one step on one track, with FLOPs and bytes as arguments.
std::string traceJson(const StepProfile &profile, std::string_view title);

/// An SVG: FLOPs a byte against FLOP/s, the two measured limits as lines, a
/// numbered point for each distinct kernel, and a list of these. Needs both
/// limits.
std::string rooflineSvg(const StepProfile &profile, const MachineLimits &limits,
                        std::string_view title);

} // namespace betz
