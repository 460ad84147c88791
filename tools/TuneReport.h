//===- TuneReport.h - What `tune` prints, writes and records --------------===//
#pragma once

#include "runtime/base/Json.h"
#include "tools/Tuner.h"

namespace betz {

/// "64x128, 4 stages" or "16 rows".
std::string tileText(const TileConfig &tile);

/// Tables on standard output: kernels with all tiles tried, steps.
void printTuning(const Program &program, const TuningReport &report);

/// All of it.
Json toJson(const Program &program, const TuningReport &report);

/// What the program keeps: where and when it was tuned, and for each bucket and
/// kernel the winner beside the compiler's choice.
Json tuningRecord(const TuningReport &report);

} // namespace betz
