#include "train/data/SpikeMask.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace betz::train {
namespace {

size_t maskedEvents(double share, size_t events) {
  return size_t(std::lround(share * double(events)));
}

} // namespace

int64_t maskQueries(const Dataset &dataset, double share) {
  return std::max<int64_t>(
      1, 2 * int64_t(maskedEvents(share, size_t(dataset.maxEvents()))));
}

/// Any `count` of the events, each as likely as the other.
void SpikeMask::hideEvents(size_t events, size_t count, Random &random) {
  order.resize(events);
  std::iota(order.begin(), order.end(), 0u);
  hidden.assign(events, false);
  for (size_t i = 0; i < count; ++i) {
    std::swap(order[i], order[i + random.below(events - i)]);
    hidden[order[i]] = true;
  }
}

void SpikeMask::addQuery(int32_t neuron, int64_t bin, int32_t value,
                         Batch &batch) {
  batch.queryNeuron.push_back(neuron);
  batch.queryTime.push_back(int32_t(bin));
  batch.queryValue.push_back(value);
}

void SpikeMask::draw(const Dataset &dataset, const Sample &sample,
                     const Masking &masking, Random random, Batch &batch) {
  const SampleEvents from = dataset.events(sample);
  const Session &session = dataset.session(sample.session);
  const int64_t window = dataset.spec().historyBins;
  // Bins before the piece's start hold no event because none was recorded.
  const int64_t recorded = std::min(window, dataset.binInPiece(sample) + 1);
  const int64_t firstBin = window - recorded;
  const size_t events = from.events.bin.size();
  const size_t masked = maskedEvents(masking.share, events);
  hideEvents(events, masked, random);

  const int64_t units = session.units();
  taken.assign(size_t(recorded * units), false);
  const size_t queriesAtEnd = batch.queryValue.size() + size_t(masking.queries);
  for (size_t i = 0; i < events; ++i) {
    const int64_t bin = from.events.bin[i] - from.firstBin;
    const int32_t neuron = from.events.neuron[i];
    taken[size_t((bin - firstBin) * units + neuron - session.firstNeuron)] =
        true;
    if (hidden[i])
      addQuery(neuron, bin,
               std::min(from.events.value[i], dataset.spec().valueBuckets - 1),
               batch);
  }
  const size_t silent = std::min(masked, taken.size() - events);
  for (size_t i = 0; i < silent; ++i) {
    uint64_t place = random.below(taken.size());
    while (taken[place])
      place = random.below(taken.size());
    taken[place] = true;
    addQuery(session.firstNeuron + int32_t(place % uint64_t(units)),
             firstBin + int64_t(place / uint64_t(units)), 0, batch);
  }
  while (batch.queryValue.size() < queriesAtEnd)
    addQuery(session.firstNeuron, firstBin, -1, batch);
}

} // namespace betz::train
