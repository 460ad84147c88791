#include "train/baselines/LaggedCounts.h"

namespace betz::train {

Eigen::MatrixXd LaggedCounts::read(std::span<const int64_t> bins) const {
  const int64_t units = session->units();
  Eigen::MatrixXd counts =
      Eigen::MatrixXd::Zero(int64_t(bins.size()), columns());
  for (size_t row = 0; row < bins.size(); ++row) {
    const EventView events = session->reader->events(bins[row]);
    const int64_t last = session->index.at(bins[row]).firstBin +
                         session->index.spec().windowBins - 1;
    for (size_t i = 0; i < events.bin.size(); ++i) {
      const int64_t lag = (last - events.bin[i]) / binsPerLag;
      if (lag < lags)
        counts(int64_t(row), lag * units + events.neuron[i] -
                                 session->firstNeuron) += events.value[i];
    }
  }
  return counts;
}

Eigen::MatrixXd behaviorRows(const Session &session,
                             std::span<const int64_t> bins) {
  const int64_t columns = session.columns();
  Eigen::MatrixXd rows(int64_t(bins.size()), columns);
  for (size_t row = 0; row < bins.size(); ++row)
    for (int64_t column = 0; column < columns; ++column)
      rows(int64_t(row), column) =
          double(session.behaviorByBin[size_t(bins[row] * columns + column)]);
  return rows;
}

std::vector<int64_t> sampleBins(const Dataset &dataset, int64_t session,
                                Split split) {
  std::vector<int64_t> bins;
  for (const Sample &sample : dataset.samples(split))
    if (sample.session == session)
      bins.push_back(sample.bin);
  return bins;
}

} // namespace betz::train
