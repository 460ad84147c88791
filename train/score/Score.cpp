#include "train/score/Score.h"
#include "train/score/Random.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace betz::train {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kRestPercentile = 0.95, kRestShare = 0.1;

/// Sums of one output over some rows. Values are taken from a point near their
/// mean, so that squares keep their digits.
struct Sums {
  double rows = 0;
  double target = 0, targetSquared = 0;
  double prediction = 0, predictionSquared = 0;
  double product = 0;
  double errorSquared = 0;

  void add(double p, double t) {
    rows += 1;
    target += t;
    targetSquared += t * t;
    prediction += p;
    predictionSquared += p * p;
    product += p * t;
    errorSquared += (p - t) * (p - t);
  }
  void add(const Sums &other) {
    rows += other.rows;
    target += other.target;
    targetSquared += other.targetSquared;
    prediction += other.prediction;
    predictionSquared += other.predictionSquared;
    product += other.product;
    errorSquared += other.errorSquared;
  }

  double targetVariation() const { return spread(target, targetSquared); }
  double r2() const {
    const double variation = targetVariation();
    return variation > 0 ? 1 - errorSquared / variation : kNaN;
  }
  double mse() const { return rows > 0 ? errorSquared / rows : kNaN; }
  double correlation() const {
    const double both =
        targetVariation() * spread(prediction, predictionSquared);
    return both > 0 ? (product - target * prediction / rows) / std::sqrt(both)
                    : kNaN;
  }

private:
  /// Sum of squared distances from the mean; 0 when rounding is all of it.
  double spread(double sum, double squared) const {
    if (rows == 0)
      return 0;
    const double value = squared - sum * sum / rows;
    return value > 1e-13 * squared ? value : 0;
  }
};

std::vector<double> columnMeans(const Table &table) {
  std::vector<double> means(size_t(table.columns), 0.0);
  for (int64_t row = 0; row < table.rows; ++row)
    for (int64_t column = 0; column < table.columns; ++column)
      means[size_t(column)] += table.at(row, column) / double(table.rows);
  return means;
}

bool takes(const RowMask &mask, int64_t row) {
  return mask.empty() || mask[size_t(row)];
}

double mean(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return values.empty() ? kNaN : sum / double(values.size());
}

double meanR2(std::span<const Sums> outputs) {
  double sum = 0;
  for (const Sums &output : outputs)
    sum += output.r2();
  return sum / double(outputs.size());
}

/// The value below which `share` of them lie; orders `values`.
double percentile(std::vector<double> &values, double share) {
  auto place = values.begin() +
               std::ptrdiff_t(std::lround(share * double(values.size() - 1)));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

} // namespace

double Score::meanR2() const { return mean(r2); }
double Score::meanMse() const { return mean(mse); }
double Score::meanCorrelation() const { return mean(correlation); }

Score score(const Table &predictions, const Table &targets,
            const RowMask &mask) {
  const std::vector<double> origin = columnMeans(targets);
  std::vector<Sums> sums(size_t(targets.columns));
  for (int64_t row = 0; row < targets.rows; ++row)
    if (takes(mask, row))
      for (size_t c = 0; c < sums.size(); ++c)
        sums[c].add(predictions.at(row, int64_t(c)) - origin[c],
                    targets.at(row, int64_t(c)) - origin[c]);
  Score out;
  for (const Sums &output : sums) {
    out.rows = int64_t(output.rows);
    out.r2.push_back(output.r2());
    out.mse.push_back(output.mse());
    out.correlation.push_back(output.correlation());
  }
  return out;
}

Confidence bootstrapR2(const Table &predictions, const Table &targets,
                       std::span<const int64_t> group, uint64_t seed,
                       int64_t draws, const RowMask &mask) {
  const size_t outputs = size_t(targets.columns);
  const std::vector<double> origin = columnMeans(targets);
  std::vector<Sums> byGroup;
  for (int64_t row = 0; row < targets.rows; ++row) {
    if (!takes(mask, row))
      continue;
    const size_t first = size_t(group[size_t(row)]) * outputs;
    byGroup.resize(std::max(byGroup.size(), first + outputs));
    for (size_t c = 0; c < outputs; ++c)
      byGroup[first + c].add(predictions.at(row, int64_t(c)) - origin[c],
                             targets.at(row, int64_t(c)) - origin[c]);
  }
  if (byGroup.empty())
    return {kNaN, kNaN};
  const size_t groups = byGroup.size() / outputs;
  std::vector<double> values;
  std::vector<Sums> drawn(outputs);
  for (int64_t draw = 0; draw < draws; ++draw) {
    Random random(seed, uint64_t(draw));
    std::fill(drawn.begin(), drawn.end(), Sums());
    for (size_t i = 0; i < groups; ++i) {
      const size_t first = random.below(groups) * outputs;
      for (size_t c = 0; c < outputs; ++c)
        drawn[c].add(byGroup[first + c]);
    }
    // A draw of trials that all stand still has no R².
    if (double r2 = meanR2(drawn); std::isfinite(r2))
      values.push_back(r2);
  }
  if (values.empty())
    return {kNaN, kNaN};
  return {percentile(values, 0.025), percentile(values, 0.975)};
}

std::vector<double> speeds(const Table &velocity) {
  std::vector<double> out;
  for (int64_t row = 0; row < velocity.rows; ++row) {
    double squared = 0;
    for (int64_t column = 0; column < velocity.columns; ++column)
      squared += velocity.at(row, column) * velocity.at(row, column);
    out.push_back(std::sqrt(squared));
  }
  return out;
}

double restThreshold(const Table &trainVelocity) {
  std::vector<double> speed = speeds(trainVelocity);
  return speed.empty() ? 0 : kRestShare * percentile(speed, kRestPercentile);
}

RowMask movingRows(const Table &velocity, double threshold) {
  RowMask moving;
  for (double speed : speeds(velocity))
    moving.push_back(speed >= threshold);
  return moving;
}

} // namespace betz::train
