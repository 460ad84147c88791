//===- Lint.h - What makes a decoder's score worth nothing ----------------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "train/protocol/Description.h"

#include <string>
#include <vector>

namespace betz::train {

/// Names of rules, as printed: "future-data", "overlapping-splits",
/// "gap-blind-behavior", "held-out-statistics", "time-from-padding".
struct Fault {
  std::string rule;
  /// The recording; empty when the description alone shows it.
  std::string file;
  /// What is wrong, with the measured number, and what to do.
  std::string message;
  /// That number: milliseconds ahead, share of windows that overlap, seconds
  /// of shift or share of bins, R² of the clock.
  double value = 0;
};

struct LintReport {
  std::vector<Fault> faults;
  /// Why a rule was not checked.
  std::vector<std::string> notes;
};

/// Holds a protocol to its recordings. An error means that it could not be
/// looked at.
Result<LintReport> lintProtocol(const ProtocolDescription &protocol);

Json toJson(const LintReport &report);

} // namespace betz::train
