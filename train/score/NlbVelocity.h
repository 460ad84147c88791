//===- NlbVelocity.h - The velocity score of NLB'21 -----------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "train/score/Score.h"

#include <optional>
#include <string_view>

namespace betz::train {

/// Which bins of a trial that benchmark scores, in milliseconds from the
/// trial's column `align`. Rates lie in [start, stop), behaviour `lag` later.
struct NlbWindow {
  std::string_view align;
  double startMs = 0;
  double stopMs = 0;
  double lagMs = 0;
};

/// Of "mc_maze", "mc_maze_large", "mc_maze_medium", "mc_maze_small", "mc_rtt"
/// or "area2_bump"; nothing for another name.
std::optional<NlbWindow> nlbWindow(std::string_view dataset);

/// The benchmark's score of firing rates [rows, units]: ridge on one bin of
/// rates, its alpha among 1e-4 to 1 by 5-fold cross-validation over train rows
/// in order, fitted on train, R² averaged over outputs on the evaluation rows.
/// Rows whose first velocity column is NaN are left out. Fails with fewer than
/// five train rows or no evaluation row.
Result<double> nlbVelocityR2(const Table &trainRates,
                             const Table &trainVelocity, const Table &evalRates,
                             const Table &evalVelocity);

} // namespace betz::train
