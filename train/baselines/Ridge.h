//===- Ridge.h - Linear decoding from lagged counts -----------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "train/data/Decoder.h"
#include "train/score/LinearFit.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace betz::train {

/// What val chose for one session.
struct RidgeChoice {
  int32_t lags = 0;
  /// Bins that one lag sums; 1 unless the history is longer than 15 bins.
  int32_t binsPerLag = 1;
  double alpha = 0;
  double valR2 = 0;
};

/// Ridge regression of behaviour on each unit's counts in the last 1, 5, 10 or
/// 15 lags (no more than the history holds, and all that it holds), fitted to
/// the train samples of each session; lags and alpha (1 to 10^5 by decades) are
/// those of the highest R² on val.
class RidgeDecoder : public Decoder {
public:
  /// Fails without behaviour.
  static Result<RidgeDecoder> fit(const Dataset &dataset);

  Result<Table> predict(const Dataset &dataset, Split split) const override;
  const RidgeChoice &choice(int64_t session) const {
    return fitted[size_t(session)].choice;
  }

private:
  struct Fitted {
    RidgeChoice choice;
    LinearMap map;
  };
  static Result<Fitted> fitSession(const Dataset &dataset, int64_t session);

  std::vector<Fitted> fitted;
};

/// The sums of `bins` (sorted, of one session) over lagged counts and
/// behaviour. Moving all bins by one lag moves a block of the Gram matrix by
/// one, but for the bins at either end of a run; so where runs are long it
/// takes a lag's share of the time that adding rows up takes.
LinearSums sumLaggedCounts(const Session &session,
                           std::span<const int64_t> bins, int32_t lags,
                           int32_t binsPerLag);

} // namespace betz::train
