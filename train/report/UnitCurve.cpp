#include "runtime/base/Progress.h"
#include "train/report/EvaluationParts.h"
#include "train/score/Random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace betz::train {
namespace {

constexpr double kShares[] = {1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2, 3.0 / 4};

int64_t unitsAt(double share, int64_t units) {
  return std::max<int64_t>(1, std::llround(share * double(units)));
}

/// All but `kept` units, drawn.
std::vector<bool> drawSilent(int64_t units, int64_t kept, Random random) {
  std::vector<int64_t> order(size_t(units), 0);
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), random);
  std::vector<bool> silent(size_t(units), true);
  for (int64_t i = 0; i < kept; ++i)
    silent[size_t(order[size_t(i)])] = false;
  return silent;
}

} // namespace

Result<std::vector<UnitCount>> scoreByUnits(const Contestant &contestant,
                                            std::span<const Units> units,
                                            const EvaluationOptions &options,
                                            double r2OfAll) {
  const Dataset &dataset = *contestant.dataset;
  Table targets = behaviorOf(dataset, options.split);
  shareScale(dataset, options.split, targets);
  std::vector<UnitCount> out;
  Progress progress("silencing units",
                    int64_t(std::size(kShares)) * options.unitDraws, "draws");
  for (double share : kShares) {
    UnitCount count;
    for (const Units &session : units)
      count.units += unitsAt(share, session.count());
    if (count.units == dataset.neurons() ||
        (!out.empty() && out.back().units == count.units))
      continue;
    for (int64_t draw = 0; draw < options.unitDraws; ++draw) {
      std::vector<Units> fewer;
      for (size_t i = 0; i < units.size(); ++i) {
        const int64_t kept = unitsAt(share, units[i].count());
        const Random random(options.seed ^ uint64_t(draw), uint64_t(kept), i);
        fewer.push_back(
            silenceUnits(units[i], drawSilent(units[i].count(), kept, random)));
      }
      BETZ_ASSIGN_OR_RETURN(
          Table table,
          contestant.decoder->predict(dataset.withUnits(fewer, options.split),
                                      options.split));
      shareScale(dataset, options.split, table);
      count.r2.push_back(score(table, targets).meanR2());
      progress.update(int64_t(out.size()) * options.unitDraws + draw + 1);
    }
    out.push_back(std::move(count));
  }
  out.push_back({dataset.neurons(), {r2OfAll}});
  return out;
}

} // namespace betz::train
