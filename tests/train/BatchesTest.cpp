#include "train/data/Batches.h"
#include "tests/train/SmallRecordings.h"

#include <gmock/gmock.h>
#include <numeric>
#include <set>

using namespace betz;
using namespace betz::test;
using namespace betz::train;
using testing::HasSubstr;

namespace {

class Batches : public testing::Test {
protected:
  Batches()
      : dataset(openDataset({makeTrials(20, 6, 21).write(folder / "a.nwb")})) {}

  TrainBatches make(const BatchSpec &spec) {
    Result<TrainBatches> batches = TrainBatches::make(dataset, spec);
    EXPECT_TRUE(batches.isOk()) << batches.status().message();
    return std::move(*batches);
  }
  Batch read(const BatchSpec &spec, int64_t step) {
    Batch batch;
    make(spec).read(step, batch);
    return batch;
  }

  TemporaryFolder folder;
  Dataset dataset;
};

void expectEqual(const Batch &a, const Batch &b) {
  EXPECT_EQ(a.sample, b.sample);
  EXPECT_EQ(a.neuronId, b.neuronId);
  EXPECT_EQ(a.timeBin, b.timeBin);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.rowSplits, b.rowSplits);
  EXPECT_EQ(a.session, b.session);
  EXPECT_EQ(a.target, b.target);
}

const Augmentation kAll = {0.2, 0.5, 0.4, 2};

} // namespace

TEST_F(Batches, AnEpochHasEachSampleOnce) {
  TrainBatches batches = make({.rows = 7, .seed = 1, .augmentation = {}});
  const int64_t samples = int64_t(dataset.samples(Split::Train).size());
  EXPECT_EQ(batches.stepsPerEpoch(), samples / 7);
  Batch batch;
  std::set<int64_t> seen;
  std::vector<int64_t> firstEpoch, secondEpoch;
  for (int64_t step = 0; step < batches.stepsPerEpoch() * 2; ++step) {
    batches.read(step, batch);
    ASSERT_EQ(batch.rows(), 7);
    auto &into = step < batches.stepsPerEpoch() ? firstEpoch : secondEpoch;
    into.insert(into.end(), batch.sample.begin(), batch.sample.end());
  }
  EXPECT_EQ(std::set(firstEpoch.begin(), firstEpoch.end()).size(),
            firstEpoch.size());
  EXPECT_NE(firstEpoch, secondEpoch);
  EXPECT_FALSE(std::is_sorted(firstEpoch.begin(), firstEpoch.end()));
}

TEST_F(Batches, RowsAreTheSamplesInOrderOfBinAndNeuron) {
  const Batch batch = read({.rows = 16, .seed = 3, .augmentation = {}}, 2);
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const Sample &sample =
        dataset.samples(Split::Train)[size_t(batch.sample[size_t(row)])];
    const SampleEvents from = dataset.events(sample);
    const size_t first = size_t(batch.rowSplits[size_t(row)]);
    ASSERT_EQ(size_t(batch.rowSplits[size_t(row) + 1]) - first,
              from.events.bin.size());
    for (size_t i = 0; i < from.events.bin.size(); ++i) {
      EXPECT_EQ(batch.timeBin[first + i], from.events.bin[i] - from.firstBin);
      EXPECT_EQ(batch.neuronId[first + i], from.events.neuron[i]);
      EXPECT_EQ(batch.value[first + i], std::min(7, from.events.value[i]));
    }
    float target[2];
    dataset.target(sample, target);
    EXPECT_EQ(batch.target[size_t(row) * 2], target[0]);
    EXPECT_EQ(batch.target[size_t(row) * 2 + 1], target[1]);
  }
}

TEST_F(Batches, PlaceAloneDecides) {
  const BatchSpec spec = {.rows = 16, .seed = 9, .augmentation = kAll};
  TrainBatches whole = make(spec);
  Batch batch;
  for (int64_t step : {0, 1, 5, 40, 3})
    whole.read(step, batch);
  expectEqual(batch, read(spec, 3));
  BatchSpec other = spec;
  other.seed = 10;
  EXPECT_NE(read(other, 3).sample, batch.sample);
}

TEST_F(Batches, QueueGivesTheSameFromAnyStep) {
  const BatchSpec spec = {.rows = 16, .seed = 9, .augmentation = kAll};
  BatchQueue queue(make(spec), 5);
  for (int64_t step = 5; step < 40; ++step)
    expectEqual(queue.next(), read(spec, step));
}

TEST_F(Batches, UnitDropoutSilencesWholeUnits) {
  BatchSpec spec = {.rows = 64, .seed = 4, .augmentation = {}};
  const Batch plain = read(spec, 1);
  spec.augmentation.unitDropout = 0.5;
  const Batch dropped = read(spec, 1);
  ASSERT_EQ(plain.sample, dropped.sample);
  int64_t silent = 0, present = 0;
  auto events = [](const Batch &batch, int64_t row, int32_t neuron) {
    int64_t count = 0;
    for (int32_t i = batch.rowSplits[size_t(row)];
         i < batch.rowSplits[size_t(row) + 1]; ++i)
      count += batch.neuronId[size_t(i)] == neuron;
    return count;
  };
  for (int64_t row = 0; row < 64; ++row)
    for (int32_t neuron = 0; neuron < 6; ++neuron) {
      const int64_t before = events(plain, row, neuron);
      const int64_t after = events(dropped, row, neuron);
      EXPECT_TRUE(after == 0 || after == before);
      if (before > 0)
        ++(after == 0 ? silent : present);
    }
  // A quarter on average; 4 deviations of 64 rates and 384 coins are 0.12.
  EXPECT_NEAR(double(silent) / double(silent + present), 0.25, 0.12);
}

TEST_F(Batches, JitterKeepsTheOrder) {
  BatchSpec spec = {.rows = 64, .seed = 4, .augmentation = {}};
  const Batch plain = read(spec, 1);
  spec.augmentation.jitterBins = 2;
  const Batch moved = read(spec, 1);
  ASSERT_EQ(plain.sample, moved.sample);
  EXPECT_NE(plain.timeBin, moved.timeBin);
  auto place = [&](size_t i) {
    return std::pair(moved.timeBin[i], moved.neuronId[i]);
  };
  for (int64_t row = 0; row < 64; ++row)
    for (size_t i = size_t(moved.rowSplits[size_t(row)]) + 1;
         i < size_t(moved.rowSplits[size_t(row) + 1]); ++i) {
      EXPECT_LT(place(i - 1), place(i));
      EXPECT_GE(moved.timeBin[i], 0);
      EXPECT_LT(moved.timeBin[i], 15);
    }
}

int64_t spikesOf(const Batch &batch, int64_t row) {
  return std::accumulate(batch.value.begin() + batch.rowSplits[size_t(row)],
                         batch.value.begin() + batch.rowSplits[size_t(row) + 1],
                         int64_t(0));
}

TEST_F(Batches, EachRowDrawsItsShareOfSpikes) {
  BatchSpec spec = {.rows = 64, .seed = 4, .augmentation = {}};
  const Batch plain = read(spec, 1);
  spec.augmentation.spikeDropout = 0.8;
  const Batch thin = read(spec, 1);
  ASSERT_EQ(plain.sample, thin.sample);
  double least = 1, most = 0, sum = 0;
  for (int64_t row = 0; row < 64; ++row) {
    const double kept = double(spikesOf(thin, row)) /
                        double(std::max<int64_t>(spikesOf(plain, row), 1));
    least = std::min(least, kept), most = std::max(most, kept), sum += kept;
  }
  EXPECT_GT(most, 0.9);
  EXPECT_LT(least, 0.35);
  EXPECT_NEAR(sum / 64, 0.6, 0.12); // 4 deviations of 64 rates
}

TEST_F(Batches, AddedSpikesAreWithinTheirBound) {
  BatchSpec spec = {.rows = 64, .seed = 4, .augmentation = {}};
  const Batch plain = read(spec, 1);
  spec.augmentation.addedSpikes = 0.5;
  const Batch more = read(spec, 1);
  ASSERT_EQ(plain.sample, more.sample);
  const auto bound = mostEvents(dataset, spec.augmentation);
  int64_t added = 0, events = 0;
  for (int64_t row = 0; row < 64; ++row) {
    const int64_t before =
        plain.rowSplits[size_t(row) + 1] - plain.rowSplits[size_t(row)];
    const int64_t difference = spikesOf(more, row) - spikesOf(plain, row);
    EXPECT_GE(difference, 0);
    EXPECT_LE(difference, before / 2);
    EXPECT_LE(more.rowSplits[size_t(row) + 1] - more.rowSplits[size_t(row)],
              bound);
    added += difference, events += before;
  }
  EXPECT_NEAR(double(added) / double(events), 0.25, 0.09);
  for (int32_t neuron : more.neuronId)
    EXPECT_TRUE(neuron >= 0 && neuron < dataset.neurons());
}

TEST_F(Batches, SessionsAreNamed) {
  Dataset two = openDataset({makeTrials(10, 3, 5).write(folder / "b.nwb"),
                             makeTrials(10, 4, 6).write(folder / "c.nwb")});
  Result<TrainBatches> batches = TrainBatches::make(two, {});
  ASSERT_TRUE(batches.isOk());
  Batch batch;
  batches->read(0, batch);
  std::set<int32_t> sessions(batch.session.begin(), batch.session.end());
  EXPECT_EQ(sessions, (std::set<int32_t>{0, 1}));
}

TEST_F(Batches, SettingsOutOfRangeAreNamed) {
  auto error = [&](const BatchSpec &spec) {
    return TrainBatches::make(dataset, spec).status().message();
  };
  EXPECT_THAT(error({.rows = 0, .seed = 0, .augmentation = {}}),
              HasSubstr("a batch of 0 samples"));
  EXPECT_THAT(
      error({.rows = 8, .seed = 0, .augmentation = {.unitDropout = 1.0}}),
      HasSubstr("unit dropout 1"));
  EXPECT_THAT(
      error({.rows = 8, .seed = 0, .augmentation = {.addedSpikes = -1}}),
      HasSubstr("-1 added spikes"));
  EXPECT_THAT(error({.rows = 8, .seed = 0, .augmentation = {.jitterBins = 15}}),
              HasSubstr("a jitter of 15 bins: give 0 to 14"));
}
