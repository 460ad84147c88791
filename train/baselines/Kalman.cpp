#include "train/baselines/Kalman.h"
#include "runtime/base/Progress.h"
#include "train/baselines/LaggedCounts.h"
#include "train/score/LinearFit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace betz::train {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int32_t kLagSteps = 5;
constexpr double kLagStepMs = 20;
/// Keeps covariances of silent units and of still behaviour invertible.
constexpr double kJitter = 1e-4;

/// The bins of one piece.
struct PieceBins {
  int64_t firstBin = 0;
  int64_t bins = 0;
  Split split = Split::Train;
};

std::vector<PieceBins> piecesOf(const Session &session) {
  std::vector<PieceBins> pieces;
  int64_t first = 0;
  for (size_t i = 0; i < session.pieces.size(); ++i) {
    const int64_t bins = session.index.bins(int64_t(i));
    if (bins > 0)
      pieces.push_back({first, bins, session.pieces[i].split});
    first += bins;
  }
  return pieces;
}

std::vector<int64_t> binsFrom(int64_t first, int64_t count) {
  std::vector<int64_t> bins(size_t(std::max<int64_t>(0, count)));
  std::iota(bins.begin(), bins.end(), first);
  return bins;
}

/// Counts at each bin of a piece, `lag` bins before; zero where that is before
/// its start.
MatrixXd countsBefore(const Session &session, const PieceBins &piece,
                      int32_t lag) {
  MatrixXd counts = MatrixXd::Zero(piece.bins, session.units());
  const int64_t seen = std::max<int64_t>(0, piece.bins - lag);
  counts.bottomRows(seen) =
      LaggedCounts(session, 1, 1).read(binsFrom(piece.firstBin, seen));
  return counts;
}

/// A piece's states: behaviour less its mean, then its running sum. Rows with a
/// NaN are of bins without behaviour, or after one.
MatrixXd statesOf(const Session &session, const PieceBins &piece) {
  const int64_t columns = session.columns();
  MatrixXd states(piece.bins, 2 * columns);
  states.leftCols(columns) =
      behaviorRows(session, binsFrom(piece.firstBin, piece.bins));
  for (int64_t c = 0; c < columns; ++c)
    states.col(c) = (states.col(c).array() - session.scale.mean[size_t(c)]) /
                    session.scale.deviation[size_t(c)];
  for (int64_t t = 0; t < piece.bins; ++t) {
    states.row(t).tail(columns) = states.row(t).head(columns);
    if (t > 0)
      states.row(t).tail(columns) += states.row(t - 1).tail(columns);
  }
  return states;
}

bool isWhole(const Eigen::Ref<const Eigen::RowVectorXd> &row) {
  return row.allFinite();
}

/// Σ a aᵀ, Σ b aᵀ and Σ b bᵀ of pairs of rows: the regression of b on a.
struct PairSums {
  double rows = 0;
  MatrixXd aa, ba;
  /// The lower triangle counts.
  MatrixXd bb;

  PairSums(int64_t a, int64_t b)
      : aa(MatrixXd::Zero(a, a)), ba(MatrixXd::Zero(b, a)),
        bb(MatrixXd::Zero(b, b)) {}
  void add(const MatrixXd &a, const MatrixXd &b) {
    if (a.rows() == 0) // Eigen divides by the extent
      return;
    rows += double(a.rows());
    aa.noalias() += a.transpose() * a;
    ba.noalias() += b.transpose() * a;
    bb.selfadjointView<Eigen::Lower>().rankUpdate(b.transpose());
  }
  /// The same over the first `na` columns of a and `nb` of b.
  PairSums first(int64_t na, int64_t nb) const {
    PairSums out(na, nb);
    out.rows = rows;
    out.aa = aa.topLeftCorner(na, na);
    out.ba = ba.topLeftCorner(nb, na);
    out.bb = bb.topLeftCorner(nb, nb);
    return out;
  }
  /// b ≈ slope · a.
  MatrixXd slope() const {
    MatrixXd regular = aa;
    regular.diagonal().array() += 1e-9 * (aa.trace() + 1);
    return regular.ldlt().solve(ba.transpose()).transpose();
  }
  /// The covariance of b - slope · a, on a diagonal that keeps it regular.
  MatrixXd residual(const MatrixXd &slope) const {
    const MatrixXd squares = bb.selfadjointView<Eigen::Lower>();
    MatrixXd noise = (squares - slope * ba.transpose() -
                      ba * slope.transpose() + slope * aa * slope.transpose()) /
                     std::max(1.0, rows);
    const double scale = noise.trace() / double(noise.rows());
    noise.diagonal().array() += kJitter * (scale > 0 ? scale : 1.0);
    return noise;
  }
};

VectorXd meanCounts(const Session &session,
                    const std::vector<PieceBins> &pieces) {
  VectorXd sum = VectorXd::Zero(session.units());
  double bins = 0;
  for (const PieceBins &piece : pieces)
    if (piece.split == Split::Train) {
      sum += countsBefore(session, piece, 0).colwise().sum().transpose();
      bins += double(piece.bins);
    }
  return sum / std::max(1.0, bins);
}

/// Rows of a piece whose state, and that of the row before where asked, is
/// whole.
std::vector<int64_t> wholeRows(const MatrixXd &states, int64_t first,
                               bool withBefore) {
  std::vector<int64_t> rows;
  for (int64_t t = first; t < states.rows(); ++t)
    if (isWhole(states.row(t)) && (!withBefore || isWhole(states.row(t - 1))))
      rows.push_back(t);
  return rows;
}

std::vector<int64_t> oneBefore(std::vector<int64_t> rows) {
  for (int64_t &row : rows)
    --row;
  return rows;
}

/// What one pass over the train pieces gives the models of one lag.
struct TrainSums {
  /// The next state on a state, and counts on a state.
  PairSums moves, counts;
  std::vector<VectorXd> firsts;
};

TrainSums sumPieces(const Session &session,
                    const std::vector<PieceBins> &pieces,
                    const VectorXd &countMean, int32_t lag) {
  const int64_t d = 2 * session.columns();
  TrainSums sums = {PairSums(d, d), PairSums(d, session.units()), {}};
  for (const PieceBins &piece : pieces) {
    if (piece.split != Split::Train)
      continue;
    const MatrixXd states = statesOf(session, piece);
    const std::vector<int64_t> moved = wholeRows(states, 1, true);
    sums.moves.add(states(oneBefore(moved), Eigen::all),
                   states(moved, Eigen::all));
    const std::vector<int64_t> seen = wholeRows(states, lag, false);
    const MatrixXd spikes = countsBefore(session, piece, lag);
    sums.counts.add(states(seen, Eigen::all),
                    spikes(seen, Eigen::all).rowwise() - countMean.transpose());
    if (isWhole(states.row(0)))
      sums.firsts.push_back(states.row(0).transpose());
  }
  return sums;
}

/// The model of the first `d` states.
KalmanModel fitModel(const TrainSums &sums, const VectorXd &countMean,
                     int64_t d) {
  const PairSums moves = sums.moves.first(d, d);
  const PairSums counts = sums.counts.first(d, countMean.size());
  KalmanModel model;
  model.transition = moves.slope();
  model.transitionNoise = moves.residual(model.transition);
  model.observation = counts.slope();
  model.countNoise = counts.residual(model.observation);
  model.countMean = countMean;
  model.firstMean = VectorXd::Zero(d);
  for (const VectorXd &first : sums.firsts)
    model.firstMean += first.head(d) / double(sums.firsts.size());
  model.firstNoise = kJitter * MatrixXd::Identity(d, d);
  for (const VectorXd &first : sums.firsts) {
    const VectorXd off = first.head(d) - model.firstMean;
    model.firstNoise += off * off.transpose() / double(sums.firsts.size());
  }
  return model;
}

Table predictSplit(const Dataset &dataset, int64_t number,
                   const KalmanModel &model, const KalmanChoice &choice,
                   Split split) {
  const Session &session = dataset.session(number);
  const std::vector<int64_t> wanted = sampleBins(dataset, number, split);
  Table out(int64_t(wanted.size()), session.columns());
  int64_t row = 0;
  for (const PieceBins &piece : piecesOf(session)) {
    if (piece.split != split)
      continue;
    const MatrixXd states = filterPiece(
        model, countsBefore(session, piece, choice.lag), choice.lag);
    for (; row < out.rows && wanted[size_t(row)] < piece.firstBin + piece.bins;
         ++row)
      for (int64_t c = 0; c < out.columns; ++c)
        out.at(row, c) = states(wanted[size_t(row)] - piece.firstBin, c) *
                             session.scale.deviation[size_t(c)] +
                         session.scale.mean[size_t(c)];
  }
  return out;
}

std::vector<int32_t> lagChoices(const DataSpec &spec) {
  const int32_t step =
      std::max(1, int32_t(std::lround(kLagStepMs / spec.binMs)));
  std::vector<int32_t> lags;
  for (int32_t i = 0; i <= kLagSteps && i * step < spec.historyBins; ++i)
    lags.push_back(i * step);
  return lags;
}

Table behaviorOfSession(const Dataset &dataset, int64_t number, Split split) {
  return toTable(behaviorRows(dataset.session(number),
                              sampleBins(dataset, number, split)));
}

} // namespace

MatrixXd filterPiece(const KalmanModel &model,
                     const Eigen::Ref<const MatrixXd> &counts, int64_t blind) {
  const int64_t d = model.transition.rows();
  const MatrixXd identity = MatrixXd::Identity(d, d);
  // Q is inverted once; a step then works in d dimensions only.
  const MatrixXd weighted =
      model.countNoise.llt().solve(model.observation).transpose();
  const MatrixXd information = weighted * model.observation;
  VectorXd state = model.firstMean;
  MatrixXd noise = model.firstNoise;
  MatrixXd states(counts.rows(), d);
  for (int64_t t = 0; t < counts.rows(); ++t) {
    if (t > 0) {
      state = model.transition * state;
      noise = model.transition * noise * model.transition.transpose() +
              model.transitionNoise;
    }
    if (t >= blind) {
      noise = (identity + noise * information).lu().solve(noise);
      const VectorXd counted = counts.row(t).transpose() - model.countMean;
      state += noise * (weighted * counted - information * state);
    }
    states.row(t) = state.transpose();
  }
  return states;
}

Result<KalmanDecoder> KalmanDecoder::fit(const Dataset &dataset) {
  if (dataset.outputs() == 0)
    return invalidArgument(
        fmt::format("{}: there is no behaviour to fit a Kalman filter to",
                    dataset.session(0).file.string()));
  const std::vector<int32_t> lags = lagChoices(dataset.spec());
  KalmanDecoder decoder;
  Progress progress("fitting Kalman filters",
                    dataset.sessions() * int64_t(lags.size()) * 2, "fits");
  int64_t fits = 0;
  for (int64_t number = 0; number < dataset.sessions(); ++number) {
    const Session &session = dataset.session(number);
    const std::vector<PieceBins> pieces = piecesOf(session);
    const VectorXd countMean = meanCounts(session, pieces);
    const Table target = behaviorOfSession(dataset, number, Split::Val);
    std::optional<Fitted> best;
    for (int32_t lag : lags) {
      const TrainSums sums = sumPieces(session, pieces, countMean, lag);
      for (bool displacement : {false, true}) {
        KalmanChoice choice = {lag, displacement, 0};
        KalmanModel model = fitModel(
            sums, countMean, session.columns() * (displacement ? 2 : 1));
        choice.valR2 =
            score(predictSplit(dataset, number, model, choice, Split::Val),
                  target)
                .meanR2();
        if (!best || choice.valR2 > best->choice.valR2)
          best = Fitted{choice, std::move(model)};
        progress.update(++fits);
      }
    }
    decoder.fitted.push_back(std::move(*best));
  }
  return decoder;
}

Result<Table> KalmanDecoder::predict(const Dataset &dataset,
                                     Split split) const {
  Table out(0, dataset.session(0).columns());
  for (int64_t number = 0; number < dataset.sessions(); ++number) {
    const Fitted &from = fitted[size_t(number)];
    const Table part =
        predictSplit(dataset, number, from.model, from.choice, split);
    out.rows += part.rows;
    out.values.insert(out.values.end(), part.values.begin(), part.values.end());
  }
  return out;
}

} // namespace betz::train
