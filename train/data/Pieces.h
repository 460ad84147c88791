//===- Pieces.h - Where samples may lie, and of which split they are ------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/io/Nwb.h"
#include "train/data/DataSpec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace betz::train {

/// A stretch of a recording that belongs to one split: a trial, or a block of a
/// recording without trials. No window crosses its start.
struct Piece {
  Interval time;
  /// Row of the trials, or -1 for a block.
  int64_t trial = -1;
  Split split = Split::Train;
  /// False for a train piece whose behaviour is not to be used.
  bool isLabelled = true;
};

struct Pieces {
  /// Sorted and disjoint.
  std::vector<Piece> pieces;
  /// "file", "seeded by trial" or "seeded by block".
  std::string source;
  /// Observed seconds that belong to no piece.
  double secondsLeftOut = 0;
  std::vector<std::string> warnings;
};

/// Cuts the observed time of `recording` into pieces. Splits are the file's own
/// where it says; a file with train and val only keeps its val for test and
/// gives a fifth of its train trials, drawn by `seed`, for val. Without splits
/// trials are drawn 60/20/20; without trials, or with fewer than three, blocks
/// of 10 s (shorter when there would be fewer than ten) are. Block borders lie
/// on whole bins.
Result<Pieces> cutPieces(const Recording &recording, double binMs,
                         uint64_t seed);

} // namespace betz::train
