//===- Controls.h - Scores that need no decoder ---------------------------===//
//
// A decoder's score says something only beside these. Each gives predictions
// in the shape of the test targets.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "train/score/Score.h"

#include <cstdint>
#include <span>

namespace betz::train {

Table zeroControl(const Table &testTargets);

/// The mean of the train targets.
Table meanControl(const Table &trainTargets, const Table &testTargets);

/// Ridge from time in trial alone (`bin`: bins since the piece's start), fitted
/// on train: what a decoder could score that sees no spike but can tell the
/// time. One indicator for each bin up to the 99th percentile of the train
/// bins, at most 256 of equal width; later times share the last.
Table clockControl(const Table &trainTargets, std::span<const int64_t> trainBin,
                   const Table &testTargets, std::span<const int64_t> testBin);

/// The decoder's own predictions from spikes turned against the behaviour in a
/// ring: row i gets the prediction of row i + offset, with an offset drawn by
/// `seed` from the middle half of the rows. Nothing but chance and slow drift
/// may score here.
Table rotatedControl(const Table &testPredictions, uint64_t seed);

} // namespace betz::train
