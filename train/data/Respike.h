//===- Respike.h - The same samples with other spikes ---------------------===//
//
// Controls of a decoder: what does it say to spikes that cannot tell the
// behaviour, or to fewer units? Behaviour, splits and samples stay.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "train/data/Dataset.h"

#include <span>
#include <vector>

namespace betz::train {

/// Spike times of each session, read from its file again.
Result<std::vector<Units>> readUnits(const Dataset &dataset);

/// `units` without the spikes of those that are `silent`, one bit a unit.
Units silenceUnits(const Units &units, const std::vector<bool> &silent);

/// Whole bins of the session's pieces in `split`.
int64_t binsOf(const Session &session, Split split);

/// The spikes of `split`, its pieces put one after the other in a ring that is
/// turned by `shift` bins against the behaviour; spikes of other splits are
/// gone. All units turn together, so what they do at one time stays.
Units rotateSpikes(const Session &session, const Units &units, Split split,
                   double binMs, int64_t shift);

/// `dataset` with spikes of `split` turned by offsets drawn by `seed` from the
/// middle half of each session's bins. Fails when no offset in 20 keeps windows
/// within dataset.maxEvents().
Result<Dataset> rotated(const Dataset &dataset, std::span<const Units> units,
                        Split split, uint64_t seed);

} // namespace betz::train
