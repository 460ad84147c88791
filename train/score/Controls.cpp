#include "train/score/Controls.h"
#include "train/score/Random.h"

#include <algorithm>
#include <vector>

namespace betz::train {
namespace {

constexpr int64_t kMostClockBins = 256;
/// Shrinks a time that few trials reach towards the mean.
constexpr double kClockAlpha = 1;

struct Clock {
  int64_t width = 1;
  int64_t cells = 1;
  int64_t cell(int64_t bin) const { return std::min(bin / width, cells - 1); }
};

Clock makeClock(std::span<const int64_t> trainBin) {
  std::vector<int64_t> bins(trainBin.begin(), trainBin.end());
  auto last = bins.begin() + std::ptrdiff_t((bins.size() - 1) * 99 / 100);
  std::nth_element(bins.begin(), last, bins.end());
  Clock clock;
  clock.width = *last / kMostClockBins + 1;
  clock.cells = *last / clock.width + 1;
  return clock;
}

} // namespace

Table zeroControl(const Table &testTargets) {
  return Table(testTargets.rows, testTargets.columns);
}

Table meanControl(const Table &trainTargets, const Table &testTargets) {
  return clockControl(
      trainTargets, std::vector<int64_t>(size_t(trainTargets.rows), 0),
      testTargets, std::vector<int64_t>(size_t(testTargets.rows), 0));
}

Table clockControl(const Table &trainTargets, std::span<const int64_t> trainBin,
                   const Table &testTargets, std::span<const int64_t> testBin) {
  Table out(testTargets.rows, testTargets.columns);
  if (trainTargets.rows == 0)
    return out;
  const Clock clock = makeClock(trainBin);
  const double rows = double(trainTargets.rows);
  for (int64_t column = 0; column < out.columns; ++column) {
    // Indicators are orthogonal: ridge around the mean is one division a cell.
    double mean = 0;
    for (int64_t row = 0; row < trainTargets.rows; ++row)
      mean += trainTargets.at(row, column) / rows;
    std::vector<double> sums(size_t(clock.cells), 0.0);
    std::vector<double> counts(size_t(clock.cells), kClockAlpha);
    for (int64_t row = 0; row < trainTargets.rows; ++row) {
      const size_t cell = size_t(clock.cell(trainBin[size_t(row)]));
      sums[cell] += trainTargets.at(row, column) - mean;
      counts[cell] += 1;
    }
    for (int64_t row = 0; row < out.rows; ++row) {
      const size_t cell = size_t(clock.cell(testBin[size_t(row)]));
      out.at(row, column) = mean + sums[cell] / counts[cell];
    }
  }
  return out;
}

Table rotatedControl(const Table &testPredictions, uint64_t seed) {
  const int64_t rows = testPredictions.rows;
  Table out(rows, testPredictions.columns);
  if (rows == 0)
    return out;
  Random random(seed);
  const int64_t offset =
      rows / 4 +
      int64_t(random.below(uint64_t(std::max<int64_t>(1, rows / 2))));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < out.columns; ++column)
      out.at(row, column) = testPredictions.at((row + offset) % rows, column);
  return out;
}

} // namespace betz::train
