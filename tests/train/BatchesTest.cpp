#include "train/data/Batches.h"
#include "tests/train/SmallRecordings.h"

#include <gmock/gmock.h>
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

const Augmentation kAll = {0.2, 0.1, 2};

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
  // Of 384 fair coins; 4 deviations are 39.
  EXPECT_NEAR(silent, present, 2 * 39);
}

TEST_F(Batches, EventDropoutAndJitterKeepTheOrder) {
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
  spec.augmentation = {0, 0.25, 0};
  const Batch thin = read(spec, 1);
  const double kept = double(thin.value.size()) / double(plain.value.size());
  EXPECT_NEAR(kept, 0.75, 0.05);
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
  EXPECT_THAT(error({.rows = 8, .seed = 0, .augmentation = {1.0, 0, 0}}),
              HasSubstr("unit dropout 1"));
  EXPECT_THAT(error({.rows = 8, .seed = 0, .augmentation = {0, 0, 15}}),
              HasSubstr("a jitter of 15 bins: give 0 to 14"));
}
