//===- SessionRows.h - A split's rows, session by session -----------------===//
#pragma once

#include "train/data/Dataset.h"
#include "train/score/Score.h"

#include <cstdint>
#include <span>
#include <vector>

namespace betz::train {

/// The rows of one session and split.
struct SessionRows {
  /// In the split's tables, rising.
  std::vector<int64_t> rows;
  Table behavior;
  /// Bins since the piece's start.
  std::vector<int64_t> binInPiece;
  /// Pieces numbered from 0 in order.
  std::vector<int64_t> group;
};

SessionRows rowsOf(const Dataset &dataset, int64_t session, Split split);

Table takeRows(const Table &from, std::span<const int64_t> rows);

/// Writes row i of `values` to row rows[i] of `to`.
void putRows(const Table &values, std::span<const int64_t> rows, Table &to);

} // namespace betz::train
