//===- Batches.h - Samples ready for a step -------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "train/data/Batch.h"
#include "train/data/Dataset.h"
#include "train/data/SpikeMask.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace betz::train {

/// Changes to train samples. Each row of every step draws rates of its own,
/// uniformly from 0 to these, and then what they say: a fixed rate would make
/// samples without changes strange to the decoder.
struct Augmentation {
  /// Chance that a unit is silent in a row.
  double unitDropout = 0;
  /// Chance that a spike is left out.
  double spikeDropout = 0;
  /// Spikes that are added for each event of the window, at places drawn from
  /// all units of the session and all bins.
  double addedSpikes = 0;
  /// Each event moves by up to this many bins, either way; one that would leave
  /// the window stays. Not a rate: the same for all rows.
  int32_t jitterBins = 0;
};

/// An event on its way into a batch.
struct PackedEvent {
  /// Time bin in the upper half, neuron in the lower.
  uint64_t place;
  int32_t count;
};

struct BatchSpec {
  int32_t rows = 32;
  uint64_t seed = 0;
  /// Of the events that are left when masked ones are out.
  Augmentation augmentation;
  Masking masking = {};
};

/// The most events that a row may have after these changes.
int64_t mostEvents(const Dataset &dataset, const Augmentation &augmentation);

/// Replaces `batch` by the samples `numbers` of `split`, unchanged.
void readBatch(const Dataset &dataset, Split split,
               std::span<const int64_t> numbers, Batch &batch);

/// The same with masked events. What is masked in a sample depends on its
/// number and on the seed alone.
void readMaskedBatch(const Dataset &dataset, Split split,
                     std::span<const int64_t> numbers, const Masking &masking,
                     uint64_t seed, Batch &batch);

/// The train samples, shuffled anew in each epoch. A step's batch depends on
/// the spec and the step's number alone, so a run goes on at any step. The
/// samples that do not fill an epoch's last batch are left out of that epoch; a
/// split smaller than a batch is one smaller batch. The dataset must outlive
/// it. One thread reads.
class TrainBatches {
public:
  static Result<TrainBatches> make(const Dataset &dataset,
                                   const BatchSpec &spec);

  int64_t stepsPerEpoch() const { return steps; }
  /// Replaces `batch` by that of `step`, counted from 0 over all epochs.
  void read(int64_t step, Batch &batch);

private:
  TrainBatches(const Dataset &dataset, const BatchSpec &spec);
  void startEpoch(int64_t epoch);

  const Dataset *dataset;
  BatchSpec spec;
  int64_t rows;
  int64_t steps;
  /// Samples in the order of `epoch`.
  std::vector<int64_t> order;
  int64_t epoch = -1;
  std::vector<PackedEvent> scratch;
  SpikeMask mask;
};

/// Builds batches ahead in a thread of its own. One thread reads.
class BatchQueue {
public:
  /// From `firstStep` on.
  BatchQueue(TrainBatches batches, int64_t firstStep);
  ~BatchQueue();
  BatchQueue(const BatchQueue &) = delete;
  BatchQueue &operator=(const BatchQueue &) = delete;

  /// The next step's batch; constant until the call after.
  const Batch &next();

private:
  static constexpr size_t kSlots = 4;
  void fill();

  TrainBatches batches;
  const int64_t firstStep;
  std::vector<Batch> slots;
  std::mutex mutex;
  std::condition_variable changed;
  /// Guarded by mutex: batches made, and batches that the reader is done with.
  int64_t made = 0;
  int64_t freed = 0;
  bool stop = false;
  /// The reader's: batches handed out.
  int64_t taken = 0;
  std::thread thread;
};

} // namespace betz::train
