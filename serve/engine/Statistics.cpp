#include "serve/engine/Statistics.h"

#include <algorithm>
#include <numeric>

namespace betz::serve {
namespace {

constexpr double kLatencySeconds[] = {.0002, .0005, .001, .002, .005, .01, .02,
                                      .03,   .05,   .1,   .25,  .5,   1,   2.5};
constexpr double kQueueSeconds[] = {.0001, .0005, .001, .005, .01,
                                    .02,   .05,   .1,   .5};
constexpr double kComputeSeconds[] = {.0002, .0005, .001, .002, .005,
                                      .01,   .02,   .03,  .05,  .1};
constexpr double kBatchWindows[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr double kFills[] = {.125, .25, .375, .5, .625, .75, .875, 1};
constexpr double kRatios[] = {.5, .8, .9, 1, 1.1, 1.25, 1.5, 2, 4};

} // namespace

void Histogram::add(double value) {
  const auto bound = std::ranges::lower_bound(bounds, value);
  ++counts[size_t(bound - bounds.begin())];
  sum += value;
}

uint64_t Histogram::count() const {
  return std::accumulate(counts.begin(), counts.end(), uint64_t(0));
}

ModelStatistics::ModelStatistics(std::string name, std::string version)
    : name(std::move(name)), version(std::move(version)),
      latencySeconds(kLatencySeconds), queueSeconds(kQueueSeconds),
      computeSeconds(kComputeSeconds), batchWindows(kBatchWindows),
      batchFill(kFills), actualOverPredicted(kRatios) {}

Duration &ModelStatistics::computedBatches(int64_t size) {
  auto place =
      std::ranges::lower_bound(byWindows, size, {}, &BatchStatistics::windows);
  if (place == byWindows.end() || place->windows != size)
    place = byWindows.insert(place, {.windows = size});
  return place->computed;
}

} // namespace betz::serve
