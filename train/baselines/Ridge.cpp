#include "train/baselines/Ridge.h"
#include "runtime/base/Progress.h"
#include "train/baselines/LaggedCounts.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace betz::train {
namespace {

constexpr int32_t kMostLags = 15;
constexpr int64_t kChunkRows = 1024;
constexpr int kLeastPower = 0, kMostPower = 5, kFirstPower = 2;

template <typename Body>
void forEachChunk(std::span<const int64_t> bins, Body body) {
  for (size_t first = 0; first < bins.size(); first += size_t(kChunkRows))
    body(first, bins.subspan(
                    first, std::min(size_t(kChunkRows), bins.size() - first)));
}

int64_t segmentOf(const Session &session, int64_t bin) {
  return session.index.at(bin).segment;
}

/// Bins that moving `bins` by `by` loses, or gains when `by` is negative.
std::vector<int64_t> runEnds(const Session &session,
                             std::span<const int64_t> bins, int64_t by) {
  std::vector<int64_t> ends;
  for (int64_t bin : bins) {
    const int64_t to = bin + by;
    const bool inPiece = to >= 0 && to < session.bins() &&
                         segmentOf(session, to) == segmentOf(session, bin);
    if (inPiece && std::binary_search(bins.begin(), bins.end(), to))
      continue;
    if (by > 0)
      ends.push_back(bin);
    else if (inPiece)
      ends.push_back(to);
  }
  return ends;
}

/// Adds sign · Σ x xᵀ over `bins` to the lower triangle.
void addOuter(const LaggedCounts &counts, std::span<const int64_t> bins,
              double sign, Eigen::MatrixXd &sum) {
  forEachChunk(bins, [&](size_t, std::span<const int64_t> chunk) {
    sum.selfadjointView<Eigen::Lower>().rankUpdate(
        counts.read(chunk).transpose(), sign);
  });
}

/// The sums over the first `features` features.
LinearSums firstFeatures(const LinearSums &all, int64_t features) {
  LinearSums out;
  out.rows = all.rows;
  out.gram = all.gram.topLeftCorner(features, features);
  out.cross = all.cross.topRows(features);
  out.features = all.features.head(features);
  out.outputs = all.outputs;
  return out;
}

Eigen::MatrixXd predictBins(const Session &session,
                            std::span<const int64_t> bins,
                            const RidgeChoice &choice, const LinearMap &map) {
  Eigen::MatrixXd out(int64_t(bins.size()), map.weights.cols());
  LaggedCounts counts(session, choice.lags, choice.binsPerLag);
  forEachChunk(bins, [&](size_t first, std::span<const int64_t> chunk) {
    out.middleRows(int64_t(first), int64_t(chunk.size())) =
        apply(map, counts.read(chunk));
  });
  return out;
}

std::vector<int32_t> lagChoices(int32_t most) {
  std::vector<int32_t> lags;
  for (int32_t choice : {1, 5, 10, kMostLags})
    if (choice < most)
      lags.push_back(choice);
  lags.push_back(most);
  return lags;
}

/// Bins of a lag: enough that kMostLags hold the history; a whole number of
/// strides where that is near, because sums by blocks need it.
int32_t lagWidth(const DataSpec &spec) {
  const int32_t least = (spec.historyBins + kMostLags - 1) / kMostLags;
  const int32_t strides = (least + spec.strideBins - 1) / spec.strideBins;
  const int32_t width = strides * spec.strideBins;
  return width <= 2 * least && width <= spec.historyBins ? width : least;
}

/// Tries alphas by decades and keeps the best.
class AlphaSearch {
public:
  AlphaSearch(const Session &session, const LinearSums &sums,
              std::span<const int64_t> valBins, RidgeChoice choice)
      : session(session), sums(sums), valBins(valBins), choice(choice),
        target(toTable(behaviorRows(session, valBins))) {}

  /// Walks from the first power in the direction that R² rises.
  Status run(RidgeChoice &best, LinearMap &bestMap) {
    BETZ_ASSIGN_OR_RETURN(double r2, tryPower(kFirstPower, best, bestMap));
    for (int direction : {1, -1}) {
      double before = r2;
      for (int power = kFirstPower + direction;
           power >= kLeastPower && power <= kMostPower; power += direction) {
        BETZ_ASSIGN_OR_RETURN(double now, tryPower(power, best, bestMap));
        if (now <= before)
          break;
        before = now;
      }
      if (before > r2)
        break;
    }
    return Status::ok();
  }

private:
  Result<double> tryPower(int power, RidgeChoice &best, LinearMap &bestMap) {
    choice.alpha = std::pow(10.0, power);
    BETZ_ASSIGN_OR_RETURN(LinearMap map, fitRidge(sums, choice.alpha));
    choice.valR2 =
        score(toTable(predictBins(session, valBins, choice, map)), target)
            .meanR2();
    if (best.lags == 0 || choice.valR2 > best.valR2) {
      best = choice;
      bestMap = std::move(map);
    }
    return choice.valR2;
  }

  const Session &session;
  const LinearSums &sums;
  std::span<const int64_t> valBins;
  RidgeChoice choice;
  Table target;
};

} // namespace

LinearSums sumLaggedCounts(const Session &session,
                           std::span<const int64_t> bins, int32_t lags,
                           int32_t binsPerLag) {
  const int64_t units = session.units();
  LaggedCounts counts(session, lags, binsPerLag);
  LinearSums sums(counts.columns(), session.columns());
  const std::vector<int64_t> lost = runEnds(session, bins, binsPerLag);
  const std::vector<int64_t> gained = runEnds(session, bins, -binsPerLag);
  const bool byBlocks = lost.size() + gained.size() <= bins.size() / 2;
  sums.rows = double(bins.size());
  forEachChunk(bins, [&](size_t, std::span<const int64_t> chunk) {
    const Eigen::MatrixXd x = counts.read(chunk);
    const Eigen::MatrixXd y = behaviorRows(session, chunk);
    if (byBlocks)
      sums.gram.leftCols(units).noalias() += x.transpose() * x.leftCols(units);
    else
      sums.gram.selfadjointView<Eigen::Lower>().rankUpdate(x.transpose());
    sums.cross.noalias() += x.transpose() * y;
    sums.features += x.colwise().sum().transpose();
    sums.outputs += y.colwise().sum();
  });
  if (!byBlocks)
    return sums;
  // Lag i of bin t is lag i - 1 of the bin a lag before t.
  Eigen::MatrixXd ends =
      Eigen::MatrixXd::Zero(counts.columns(), counts.columns());
  addOuter(counts, lost, -1, ends);
  addOuter(counts, gained, 1, ends);
  for (int64_t j = 1; j < lags; ++j)
    for (int64_t i = j; i < lags; ++i)
      sums.gram.block(i * units, j * units, units, units) =
          sums.gram.block((i - 1) * units, (j - 1) * units, units, units) +
          ends.block((i - 1) * units, (j - 1) * units, units, units);
  return sums;
}

Result<RidgeDecoder::Fitted> RidgeDecoder::fitSession(const Dataset &dataset,
                                                      int64_t number) {
  const Session &session = dataset.session(number);
  const std::vector<int64_t> train = sampleBins(dataset, number, Split::Train);
  const std::vector<int64_t> val = sampleBins(dataset, number, Split::Val);
  const int32_t history = dataset.spec().historyBins;
  RidgeChoice choice;
  choice.binsPerLag = lagWidth(dataset.spec());
  const int32_t most = history / choice.binsPerLag;
  const LinearSums all =
      sumLaggedCounts(session, train, most, choice.binsPerLag);
  Fitted best;
  for (int32_t lags : lagChoices(most)) {
    choice.lags = lags;
    const LinearSums sums = firstFeatures(all, lags * session.units());
    BETZ_RETURN_IF_ERROR(
        AlphaSearch(session, sums, val, choice).run(best.choice, best.map));
  }
  return best;
}

Result<RidgeDecoder> RidgeDecoder::fit(const Dataset &dataset) {
  if (dataset.outputs() == 0)
    return invalidArgument(
        fmt::format("{}: there is no behaviour to fit a ridge decoder to",
                    dataset.session(0).file.string()));
  RidgeDecoder decoder;
  BusyLine busy("fitting ridge");
  for (int64_t session = 0; session < dataset.sessions(); ++session) {
    BETZ_ASSIGN_OR_RETURN(Fitted fitted, fitSession(dataset, session));
    decoder.fitted.push_back(std::move(fitted));
  }
  return decoder;
}

Result<Table> RidgeDecoder::predict(const Dataset &dataset, Split split) const {
  Table out(0, dataset.session(0).columns());
  for (int64_t number = 0; number < dataset.sessions(); ++number) {
    const Fitted &from = fitted[size_t(number)];
    const Table part = toTable(predictBins(dataset.session(number),
                                           sampleBins(dataset, number, split),
                                           from.choice, from.map));
    out.rows += part.rows;
    out.values.insert(out.values.end(), part.values.begin(), part.values.end());
  }
  return out;
}

} // namespace betz::train
