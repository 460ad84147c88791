//===- LaggedCounts.h - Spike counts as rows of a matrix ------------------===//
#pragma once

#include "train/data/Dataset.h"

#include <Eigen/Core>
#include <cstdint>
#include <span>

namespace betz::train {

/// Counts of one session's units in the last bins of a window. Column
/// lag · units + u holds unit u's spikes in the `binsPerLag` bins that end
/// lag · binsPerLag bins before the window's last; before a piece's start there
/// are none.
class LaggedCounts {
public:
  LaggedCounts(const Session &session, int32_t lags, int32_t binsPerLag)
      : session(&session), lags(lags), binsPerLag(binsPerLag) {}

  int64_t columns() const { return lags * session->units(); }
  /// [bins, columns] for bins of the session; lags must lie in the history.
  Eigen::MatrixXd read(std::span<const int64_t> bins) const;

private:
  const Session *session;
  int32_t lags;
  int32_t binsPerLag;
};

/// [bins, behaviour columns], as recorded.
Eigen::MatrixXd behaviorRows(const Session &session,
                             std::span<const int64_t> bins);

/// The bins of a session's samples in `split`, in order.
std::vector<int64_t> sampleBins(const Dataset &dataset, int64_t session,
                                Split split);

} // namespace betz::train
