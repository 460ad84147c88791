//===- Score.h - How well predictions meet targets ------------------------===//
//
// Everything here is a pure function of numbers: safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace betz::train {

/// A matrix in rows: values[row * columns + column].
struct Table {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;

  Table() = default;
  Table(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), values(size_t(rows * columns), 0.0) {}

  double &at(int64_t row, int64_t column) {
    return values[size_t(row * columns + column)];
  }
  double at(int64_t row, int64_t column) const {
    return values[size_t(row * columns + column)];
  }
};

/// Scores of some rows; one number an output.
struct Score {
  int64_t rows = 0;
  /// 1 - squared error / squared distance of the targets from their own mean
  /// over these rows; NaN where the targets do not vary.
  std::vector<double> r2;
  std::vector<double> mse;
  /// Pearson's; NaN where either side does not vary.
  std::vector<double> correlation;

  /// Averages over outputs.
  double meanR2() const;
  double meanMse() const;
  double meanCorrelation() const;
};

/// Which rows a score takes; all when empty.
using RowMask = std::vector<bool>;

/// `predictions` and `targets` have one shape; `mask` a bit a row, or none.
Score score(const Table &predictions, const Table &targets,
            const RowMask &mask = {});

/// A range that a number lies in with probability 0.95.
struct Confidence {
  double low = 0;
  double high = 0;
};

/// Of the mean R² over outputs: rows are drawn by whole groups (trials) with
/// replacement, `draws` times. `group` names each row's, from 0 without holes.
Confidence bootstrapR2(const Table &predictions, const Table &targets,
                       std::span<const int64_t> group, uint64_t seed,
                       int64_t draws = 1000, const RowMask &mask = {});

/// The Euclidean length of each row.
std::vector<double> speeds(const Table &velocity);

/// A tenth of the 95th percentile of the train rows' speed: a bin below it is
/// at rest.
double restThreshold(const Table &trainVelocity);

/// Rows whose speed is at least `threshold`.
RowMask movingRows(const Table &velocity, double threshold);

} // namespace betz::train
