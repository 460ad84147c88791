#include "train/score/NlbVelocity.h"
#include "train/score/LinearFit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace betz::train {
namespace {

constexpr int64_t kFolds = 5;
constexpr int kAlphas = 9;

double alphaAt(int i) { return std::pow(10.0, -4.0 + 0.5 * i); }

struct Rows {
  Eigen::MatrixXd rates;
  Eigen::MatrixXd velocity;
};

Rows usableRows(const Table &rates, const Table &velocity) {
  std::vector<int64_t> usable;
  for (int64_t row = 0; row < velocity.rows; ++row)
    if (!std::isnan(velocity.at(row, 0)))
      usable.push_back(row);
  return {toMatrix(rates)(usable, Eigen::all),
          toMatrix(velocity)(usable, Eigen::all)};
}

LinearSums sumsOf(const Rows &rows, int64_t first, int64_t count) {
  LinearSums sums(rows.rates.cols(), rows.velocity.cols());
  sums.add(rows.rates.middleRows(first, count),
           rows.velocity.middleRows(first, count));
  return sums;
}

LinearSums without(LinearSums all, const LinearSums &fold) {
  all.rows -= fold.rows;
  all.gram -= fold.gram;
  all.cross -= fold.cross;
  all.features -= fold.features;
  all.outputs -= fold.outputs;
  return all;
}

Result<double> scoreOf(const LinearSums &fitted, double alpha,
                       const Eigen::Ref<const Eigen::MatrixXd> &rates,
                       const Eigen::Ref<const Eigen::MatrixXd> &velocity) {
  BETZ_ASSIGN_OR_RETURN(LinearMap map, fitRidge(fitted, alpha));
  return score(toTable(apply(map, rates)), toTable(velocity)).meanR2();
}

Result<double> chooseAlpha(const Rows &train, const LinearSums &all) {
  std::array<double, kAlphas> r2{};
  const int64_t rows = train.rates.rows();
  int64_t first = 0;
  for (int64_t fold = 0; fold < kFolds; ++fold) {
    const int64_t count = rows / kFolds + (fold < rows % kFolds);
    const LinearSums others = without(all, sumsOf(train, first, count));
    for (int i = 0; i < kAlphas; ++i) {
      BETZ_ASSIGN_OR_RETURN(double value,
                            scoreOf(others, alphaAt(i),
                                    train.rates.middleRows(first, count),
                                    train.velocity.middleRows(first, count)));
      r2[size_t(i)] += value / double(kFolds);
    }
    first += count;
  }
  return alphaAt(int(std::max_element(r2.begin(), r2.end()) - r2.begin()));
}

} // namespace

std::optional<NlbWindow> nlbWindow(std::string_view dataset) {
  static constexpr std::array<std::pair<std::string_view, NlbWindow>, 6>
      kWindows = {{{"mc_maze", {"move_onset_time", -250, 450, 100}},
                   {"mc_maze_large", {"move_onset_time", -250, 450, 120}},
                   {"mc_maze_medium", {"move_onset_time", -250, 450, 120}},
                   {"mc_maze_small", {"move_onset_time", -250, 450, 120}},
                   {"mc_rtt", {"start_time", 0, 600, 140}},
                   {"area2_bump", {"move_onset_time", -100, 500, -20}}}};
  for (const auto &[name, window] : kWindows)
    if (name == dataset)
      return window;
  return std::nullopt;
}

Result<double> nlbVelocityR2(const Table &trainRates,
                             const Table &trainVelocity, const Table &evalRates,
                             const Table &evalVelocity) {
  const Rows train = usableRows(trainRates, trainVelocity);
  const Rows eval = usableRows(evalRates, evalVelocity);
  if (train.rates.rows() < kFolds || eval.rates.rows() == 0)
    return invalidArgument(fmt::format(
        "NLB velocity: {} train rows and {} evaluation rows with a velocity; "
        "at least {} and 1 are needed",
        train.rates.rows(), eval.rates.rows(), kFolds));
  const LinearSums all = sumsOf(train, 0, train.rates.rows());
  BETZ_ASSIGN_OR_RETURN(double alpha, chooseAlpha(train, all));
  return scoreOf(all, alpha, eval.rates, eval.velocity);
}

} // namespace betz::train
