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
                   kEvents = 3ull << 60;

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
}

/// Takes memory once for any batch of `rows` samples.
void reserve(const Dataset &dataset, int64_t rows, Batch &batch) {
  const size_t events = size_t(rows * dataset.maxEvents());
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

void addEvents(const Dataset &dataset, const Sample &sample, Batch &batch) {
  SampleEvents from = dataset.events(sample);
  for (size_t i = 0; i < from.events.bin.size(); ++i)
    addEvent(dataset, from.events.bin[i] - from.firstBin, from.events.neuron[i],
             from.events.value[i], batch);
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

/// One row's draws: which units are silent, where events go.
class RowDraws {
public:
  RowDraws(const BatchSpec &spec, int64_t step, int64_t row)
      : what(spec.augmentation),
        unitKey(
            Random(spec.seed ^ kUnits, uint64_t(step), uint64_t(row)).next()),
        events(spec.seed ^ kEvents, uint64_t(step), uint64_t(row)) {}

  bool keeps(int32_t neuron) {
    if (what.unitDropout > 0 &&
        Random(unitKey, uint64_t(neuron)).uniform() < what.unitDropout)
      return false;
    return what.eventDropout <= 0 || events.uniform() >= what.eventDropout;
  }

  int64_t moved(int64_t bin, int32_t windowBins) {
    if (what.jitterBins == 0)
      return bin;
    const uint64_t places = uint64_t(what.jitterBins) * 2 + 1;
    const int64_t to = bin + int64_t(events.below(places)) - what.jitterBins;
    return to < 0 || to >= windowBins ? bin : to;
  }

private:
  const Augmentation &what;
  uint64_t unitKey;
  Random events;
};

bool isNone(const Augmentation &what) {
  return what.unitDropout == 0 && what.eventDropout == 0 &&
         what.jitterBins == 0;
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
                  std::vector<PackedEvent> &scratch, Batch &batch) {
  const SampleEvents from = dataset.events(sample);
  const int32_t windowBins = dataset.spec().historyBins;
  scratch.clear();
  for (size_t i = 0; i < from.events.bin.size(); ++i)
    if (draws.keeps(from.events.neuron[i]))
      scratch.push_back(
          {packEvent(
               draws.moved(from.events.bin[i] - from.firstBin, windowBins),
               from.events.neuron[i]),
           from.events.value[i]});
  addSorted(dataset, scratch, batch);
}

bool isShare(double value) { return value >= 0 && value < 1; }

} // namespace

void readBatch(const Dataset &dataset, Split split,
               std::span<const int64_t> numbers, Batch &batch) {
  clear(batch);
  for (int64_t number : numbers) {
    addEvents(dataset, dataset.samples(split)[size_t(number)], batch);
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
  if (!isShare(what.unitDropout) || !isShare(what.eventDropout))
    return invalidArgument(
        fmt::format("unit dropout {} and event dropout {}: give shares from 0 "
                    "to below 1",
                    what.unitDropout, what.eventDropout));
  if (what.jitterBins < 0 || what.jitterBins >= dataset.spec().historyBins)
    return invalidArgument(
        fmt::format("a jitter of {} bins: give 0 to {}, less than the window",
                    what.jitterBins, dataset.spec().historyBins - 1));
  if (spec.rows * dataset.maxEvents() > std::numeric_limits<int32_t>::max())
    return invalidArgument(fmt::format(
        "{} samples of up to {} events are more than a batch can hold; take a "
        "smaller batch",
        spec.rows, dataset.maxEvents()));
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
  reserve(*dataset, rows, batch);
  const int64_t first = step % steps * rows;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t number = order[size_t(first + row)];
    const Sample &sample = dataset->samples(Split::Train)[size_t(number)];
    if (isNone(spec.augmentation))
      addEvents(*dataset, sample, batch);
    else
      addAugmented(*dataset, sample, RowDraws(spec, step, row), scratch, batch);
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
