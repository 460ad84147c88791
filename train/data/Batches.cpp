#include "train/data/Batches.h"
#include "train/score/Random.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace betz::train {
namespace {

/// What a random number is for; a stream each.
constexpr uint64_t kShuffle = 1ull << 60, kUnits = 2ull << 60,
                   kEvents = 3ull << 60, kMask = 4ull << 60,
                   kFixedMask = 5ull << 60;

/// Sorting these orders events by bin, then neuron.
uint64_t packEvent(int64_t bin, int32_t neuron) {
  return uint64_t(bin) << 32 | uint32_t(neuron);
}

void clear(Batch &batch) {
  batch.neuronId.clear();
  batch.timeBin.clear();
  batch.value.clear();
  batch.rowSplits.assign(1, 0);
  batch.session.clear();
  batch.target.clear();
  batch.sample.clear();
  batch.queryNeuron.clear();
  batch.queryTime.clear();
  batch.queryValue.clear();
}

/// Takes memory once for any batch of `rows` samples of up to `most` events.
void reserve(const Dataset &dataset, int64_t rows, int64_t most, Batch &batch) {
  const size_t events = size_t(rows * most);
  batch.neuronId.reserve(events);
  batch.timeBin.reserve(events);
  batch.value.reserve(events);
  batch.rowSplits.reserve(size_t(rows) + 1);
  batch.session.reserve(size_t(rows));
  batch.target.reserve(size_t(rows * dataset.outputs()));
  batch.sample.reserve(size_t(rows));
}

void addEvent(const Dataset &dataset, int64_t bin, int32_t neuron,
              int32_t count, Batch &batch) {
  batch.timeBin.push_back(int32_t(bin));
  batch.neuronId.push_back(neuron);
  batch.value.push_back(std::min(count, dataset.spec().valueBuckets - 1));
}

/// All but those that `mask` hides, if there is one.
void addEvents(const Dataset &dataset, const Sample &sample,
               const SpikeMask *mask, Batch &batch) {
  SampleEvents from = dataset.events(sample);
  for (size_t i = 0; i < from.events.bin.size(); ++i)
    if (!mask || !mask->hides(i))
      addEvent(dataset, from.events.bin[i] - from.firstBin,
               from.events.neuron[i], from.events.value[i], batch);
}

/// Ends the row whose events were added.
void addRow(const Dataset &dataset, Split split, int64_t number, Batch &batch) {
  const Sample &sample = dataset.samples(split)[size_t(number)];
  batch.rowSplits.push_back(int32_t(batch.value.size()));
  batch.session.push_back(sample.session);
  batch.sample.push_back(number);
  const size_t outputs = size_t(dataset.outputs());
  batch.target.resize(batch.target.size() + outputs);
  dataset.target(sample, std::span(batch.target).last(outputs));
}

/// One row's draws: which units are silent, which spikes stay or come.
class RowDraws {
public:
  RowDraws(const BatchSpec &spec, int64_t step, int64_t row)
      : rates(spec.augmentation),
        unitKey(
            Random(spec.seed ^ kUnits, uint64_t(step), uint64_t(row)).next()),
        events(spec.seed ^ kEvents, uint64_t(step), uint64_t(row)) {
    for (double *rate :
         {&rates.unitDropout, &rates.spikeDropout, &rates.addedSpikes})
      *rate *= events.uniform();
  }

  bool silences(int32_t neuron) const {
    return Random(unitKey, uint64_t(neuron)).uniform() < rates.unitDropout;
  }

  /// Of `count` spikes of an event.
  int32_t kept(int32_t count) {
    int32_t left = 0;
    for (int32_t i = 0; i < count; ++i)
      left += events.uniform() >= rates.spikeDropout;
    return left;
  }

  int64_t moved(int64_t bin, int32_t windowBins) {
    if (rates.jitterBins == 0)
      return bin;
    const uint64_t places = uint64_t(rates.jitterBins) * 2 + 1;
    const int64_t to = bin + int64_t(events.below(places)) - rates.jitterBins;
    return to < 0 || to >= windowBins ? bin : to;
  }

  int64_t added(size_t eventCount) const {
    return int64_t(rates.addedSpikes * double(eventCount));
  }
  PackedEvent addedSpike(const Session &session, int32_t windowBins) {
    const int64_t bin = int64_t(events.below(uint64_t(windowBins)));
    const auto unit = int32_t(events.below(uint64_t(session.units())));
    return {packEvent(bin, session.firstNeuron + unit), 1};
  }

private:
  Augmentation rates;
  uint64_t unitKey;
  Random events;
};

bool isNone(const Augmentation &what) {
  return what.unitDropout == 0 && what.spikeDropout == 0 &&
         what.addedSpikes == 0 && what.jitterBins == 0;
}

/// Events in order of place, those of one place added up.
void addSorted(const Dataset &dataset, std::vector<PackedEvent> &events,
               Batch &batch) {
  std::sort(events.begin(), events.end(),
            [](const PackedEvent &a, const PackedEvent &b) {
              return a.place < b.place;
            });
  for (size_t i = 0; i < events.size();) {
    const uint64_t place = events[i].place;
    int32_t count = 0;
    for (; i < events.size() && events[i].place == place; ++i)
      count += events[i].count;
    addEvent(dataset, int64_t(place >> 32), int32_t(uint32_t(place)), count,
             batch);
  }
}

void addAugmented(const Dataset &dataset, const Sample &sample, RowDraws draws,
                  const SpikeMask *mask, std::vector<PackedEvent> &scratch,
                  Batch &batch) {
  const SampleEvents from = dataset.events(sample);
  const int32_t windowBins = dataset.spec().historyBins;
  scratch.clear();
  for (size_t i = 0; i < from.events.bin.size(); ++i) {
    const int32_t neuron = from.events.neuron[i];
    if ((mask && mask->hides(i)) || draws.silences(neuron))
      continue;
    const int32_t count = draws.kept(from.events.value[i]);
    if (count > 0)
      scratch.push_back(
          {packEvent(
               draws.moved(from.events.bin[i] - from.firstBin, windowBins),
               neuron),
           count});
  }
  const Session &session = dataset.session(sample.session);
  for (int64_t i = draws.added(from.events.bin.size()); i > 0; --i)
    scratch.push_back(draws.addedSpike(session, windowBins));
  addSorted(dataset, scratch, batch);
}

bool isShare(double value) { return value >= 0 && value < 1; }

} // namespace

int64_t mostEvents(const Dataset &dataset, const Augmentation &augmentation) {
  const auto most = double(dataset.maxEvents());
  return int64_t(most + most * augmentation.addedSpikes);
}

void readBatch(const Dataset &dataset, Split split,
               std::span<const int64_t> numbers, Batch &batch) {
  clear(batch);
  for (int64_t number : numbers) {
    addEvents(dataset, dataset.samples(split)[size_t(number)], nullptr, batch);
    addRow(dataset, split, number, batch);
  }
}

void readMaskedBatch(const Dataset &dataset, Split split,
                     std::span<const int64_t> numbers, const Masking &masking,
                     uint64_t seed, Batch &batch) {
  clear(batch);
  SpikeMask mask;
  for (int64_t number : numbers) {
    const Sample &sample = dataset.samples(split)[size_t(number)];
    mask.draw(dataset, sample, masking,
              Random(seed ^ kFixedMask, uint64_t(split), uint64_t(number)),
              batch);
    addEvents(dataset, sample, &mask, batch);
    addRow(dataset, split, number, batch);
  }
}

//===- Train batches ------------------------------------------------------===//

Result<TrainBatches> TrainBatches::make(const Dataset &dataset,
                                        const BatchSpec &spec) {
  const Augmentation &what = spec.augmentation;
  if (spec.rows < 1)
    return invalidArgument(
        fmt::format("a batch of {} samples: give at least 1", spec.rows));
  if (!isShare(what.unitDropout) || !isShare(what.spikeDropout))
    return invalidArgument(
        fmt::format("unit dropout {} and spike dropout {}: give shares from 0 "
                    "to below 1",
                    what.unitDropout, what.spikeDropout));
  if (!(what.addedSpikes >= 0 && what.addedSpikes <= 10))
    return invalidArgument(fmt::format(
        "{} added spikes for each event: give 0 to 10", what.addedSpikes));
  if (what.jitterBins < 0 || what.jitterBins >= dataset.spec().historyBins)
    return invalidArgument(
        fmt::format("a jitter of {} bins: give 0 to {}, less than the window",
                    what.jitterBins, dataset.spec().historyBins - 1));
  if (!isShare(spec.masking.share) ||
      (spec.masking.share > 0 &&
       spec.masking.queries < maskQueries(dataset, spec.masking.share)))
    return invalidArgument(fmt::format(
        "a mask of {} with {} queries: give a share from 0 to below "
        "1, and a query for each place that it asks for",
        spec.masking.share, spec.masking.queries));
  const int64_t most = mostEvents(dataset, what);
  if (spec.rows * most > std::numeric_limits<int32_t>::max())
    return invalidArgument(fmt::format(
        "{} samples of up to {} events are more than a batch can hold; take a "
        "smaller batch",
        spec.rows, most));
  return TrainBatches(dataset, spec);
}

TrainBatches::TrainBatches(const Dataset &dataset, const BatchSpec &spec)
    : dataset(&dataset), spec(spec) {
  const int64_t samples = int64_t(dataset.samples(Split::Train).size());
  rows = std::min<int64_t>(spec.rows, samples);
  steps = samples / rows;
}

void TrainBatches::startEpoch(int64_t number) {
  order.resize(dataset->samples(Split::Train).size());
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), Random(spec.seed ^ kShuffle, uint64_t(number)));
  epoch = number;
}

void TrainBatches::read(int64_t step, Batch &batch) {
  if (step / steps != epoch)
    startEpoch(step / steps);
  clear(batch);
  reserve(*dataset, rows, mostEvents(*dataset, spec.augmentation), batch);
  const int64_t first = step % steps * rows;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t number = order[size_t(first + row)];
    const Sample &sample = dataset->samples(Split::Train)[size_t(number)];
    const SpikeMask *hidden = spec.masking.share > 0 ? &mask : nullptr;
    if (hidden)
      mask.draw(*dataset, sample, spec.masking,
                Random(spec.seed ^ kMask, uint64_t(step), uint64_t(row)),
                batch);
    if (isNone(spec.augmentation))
      addEvents(*dataset, sample, hidden, batch);
    else
      addAugmented(*dataset, sample, RowDraws(spec, step, row), hidden, scratch,
                   batch);
    addRow(*dataset, Split::Train, number, batch);
  }
}

//===- Queue --------------------------------------------------------------===//

BatchQueue::BatchQueue(TrainBatches batches, int64_t firstStep)
    : batches(std::move(batches)), firstStep(firstStep), slots(kSlots),
      thread([this] { fill(); }) {}

BatchQueue::~BatchQueue() {
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  changed.notify_all();
  thread.join();
}

void BatchQueue::fill() {
  for (int64_t number = 0;; ++number) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock,
                   [&] { return stop || number - freed < int64_t(kSlots); });
      if (stop)
        return;
    }
    batches.read(firstStep + number, slots[size_t(number) % kSlots]);
    {
      std::lock_guard lock(mutex);
      made = number + 1;
    }
    changed.notify_all();
  }
}

const Batch &BatchQueue::next() {
  std::unique_lock lock(mutex);
  freed = taken;
  changed.notify_all();
  changed.wait(lock, [&] { return made > taken; });
  return slots[size_t(taken++) % kSlots];
}

} // namespace betz::train
