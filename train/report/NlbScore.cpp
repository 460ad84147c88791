#include "train/baselines/LaggedCounts.h"
#include "train/data/Phases.h"
#include "train/report/EvaluationParts.h"
#include "train/score/NlbVelocity.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace betz::train {
namespace {

/// The benchmark's own smoothing of MC_Maze.
constexpr double kSmoothingMs = 50;
constexpr double kKernelReach = 3;

/// Rates of a session's bins, smoothed inside pieces: [bins, units].
Eigen::MatrixXd smoothedRates(const Session &session, double binMs) {
  const double sigma = kSmoothingMs / binMs;
  const int64_t reach = int64_t(std::ceil(kKernelReach * sigma));
  std::vector<double> kernel;
  for (int64_t i = -reach; i <= reach; ++i)
    kernel.push_back(std::exp(-0.5 * double(i * i) / (sigma * sigma)));
  Eigen::MatrixXd rates =
      Eigen::MatrixXd::Zero(session.bins(), session.units());
  int64_t first = 0;
  for (size_t piece = 0; piece < session.pieces.size(); ++piece) {
    const int64_t bins = session.index.bins(int64_t(piece));
    std::vector<int64_t> list(size_t(bins), 0);
    for (int64_t i = 0; i < bins; ++i)
      list[size_t(i)] = first + i;
    const Eigen::MatrixXd counts = LaggedCounts(session, 1, 1).read(list);
    for (int64_t i = 0; i < bins; ++i) {
      double weight = 0;
      for (int64_t k = -reach; k <= reach; ++k)
        if (i + k >= 0 && i + k < bins) {
          rates.row(first + i) += kernel[size_t(k + reach)] * counts.row(i + k);
          weight += kernel[size_t(k + reach)];
        }
      rates.row(first + i) /= weight * binMs / 1000;
    }
    first += bins;
  }
  return rates;
}

/// Rows in the window, with the row `lag` bins later where behaviour is taken.
struct Pair {
  int64_t session;
  int64_t rateBin;
  int64_t behaviorRow;
};

std::vector<Pair> pairsOf(const Dataset &dataset, Split split,
                          const NlbWindow &window, int64_t lagBins) {
  std::span<const Sample> samples = dataset.samples(split);
  std::map<std::pair<int32_t, int64_t>, int64_t> rowOfBin;
  for (size_t row = 0; row < samples.size(); ++row)
    rowOfBin[{samples[row].session, samples[row].bin}] = int64_t(row);
  const RowMask inside =
      alignedRows(dataset, split, window.align, window.startMs, window.stopMs);
  std::vector<Pair> pairs;
  for (size_t row = 0; row < samples.size(); ++row) {
    const Sample &sample = samples[row];
    auto later = rowOfBin.find({sample.session, sample.bin + lagBins});
    if (inside[row] && later != rowOfBin.end() &&
        samples[size_t(later->second)].piece == sample.piece)
      pairs.push_back({sample.session, sample.bin, later->second});
  }
  return pairs;
}

Table take(const Table &from, const std::vector<Pair> &pairs) {
  Table out(int64_t(pairs.size()), from.columns);
  for (int64_t row = 0; row < out.rows; ++row)
    for (int64_t column = 0; column < out.columns; ++column)
      out.at(row, column) = from.at(pairs[size_t(row)].behaviorRow, column);
  return out;
}

Table takeRates(const Eigen::MatrixXd &rates, const std::vector<Pair> &pairs) {
  Table out(int64_t(pairs.size()), rates.cols());
  for (int64_t row = 0; row < out.rows; ++row)
    for (int64_t unit = 0; unit < out.columns; ++unit)
      out.at(row, unit) = rates(pairs[size_t(row)].rateBin, unit);
  return out;
}

} // namespace

Result<std::optional<NlbScore>>
scoreNlbVelocity(const Dataset &dataset, Split split, std::string_view name,
                 const Table &decoder, const Table &ridge) {
  NlbScore out;
  out.dataset = !name.empty()                                ? name
                : haveTrialTimes(dataset, "move_onset_time") ? "mc_maze"
                                                             : "mc_rtt";
  const NlbWindow window = *nlbWindow(out.dataset);
  // The regressor has one set of units.
  if (dataset.sessions() != 1 || !haveTrialTimes(dataset, window.align))
    return std::optional<NlbScore>();
  const double binMs = dataset.spec().binMs;
  const int64_t lagBins = std::llround(window.lagMs / binMs);
  out.align = window.align;
  out.startMs = window.startMs;
  out.stopMs = window.stopMs;
  out.lagMs = double(lagBins) * binMs;
  out.smoothingMs = kSmoothingMs;
  const std::vector<Pair> train =
      pairsOf(dataset, Split::Train, window, lagBins);
  const std::vector<Pair> rows = pairsOf(dataset, split, window, lagBins);
  constexpr size_t kFewestRows = 10;
  if (train.size() < kFewestRows || rows.size() < kFewestRows)
    return std::optional<NlbScore>();
  out.trainBins = int64_t(train.size());
  out.bins = int64_t(rows.size());
  const Eigen::MatrixXd rates = smoothedRates(dataset.session(0), binMs);
  const Table targets = take(behaviorOf(dataset, split), rows);
  BETZ_ASSIGN_OR_RETURN(
      out.smoothedR2,
      nlbVelocityR2(takeRates(rates, train),
                    take(behaviorOf(dataset, Split::Train), train),
                    takeRates(rates, rows), targets));
  out.decoderR2 = score(take(decoder, rows), targets).meanR2();
  out.ridgeR2 = score(take(ridge, rows), targets).meanR2();
  return std::optional<NlbScore>(std::move(out));
}

} // namespace betz::train
