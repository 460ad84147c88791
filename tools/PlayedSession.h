//===- PlayedSession.h - A recording for the live page to play
//-------------===//
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <string>

namespace betz {

/// JSON of the longest unbroken stretch of a recording, at most three minutes,
/// as events of the bins and neurons of a program called `model`: `name`,
/// `model`, `bin_ms`, `bins`, `neurons`; the columns' `outputs`, `scale` and
/// `shift` (prediction = value * scale + shift); `neuron_id`, `time_bin` and
/// `value` in order of bins; and `target`, [bins, columns], row-major, null
/// where it is unknown, or empty.
Result<std::string> playedSession(const std::filesystem::path &recording,
                                  const std::string &model,
                                  const std::filesystem::path &program);

} // namespace betz
