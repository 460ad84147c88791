#include "tests/train/SmallRecordings.h"
#include "train/data/Batches.h"

#include <gmock/gmock.h>
#include <map>
#include <set>

using namespace betz;
using namespace betz::test;
using namespace betz::train;
using testing::HasSubstr;

namespace {

using Place = std::pair<int32_t, int32_t>; // bin, neuron

class SpikeMaskTest : public testing::Test {
protected:
  SpikeMaskTest()
      : dataset(openDataset({makeTrials(12, 5, 31).write(folder / "a.nwb"),
                             makeTrials(12, 4, 32).write(folder / "b.nwb")})),
        masking{0.25, maskQueries(dataset, 0.25)} {}

  Batch read(int64_t step, Augmentation augmentation = {}) {
    Result<TrainBatches> batches =
        TrainBatches::make(dataset, {.rows = 24,
                                     .seed = 5,
                                     .augmentation = augmentation,
                                     .masking = masking});
    EXPECT_TRUE(batches.isOk()) << batches.status().message();
    Batch batch;
    batches->read(step, batch);
    return batch;
  }

  std::map<Place, int32_t> eventsOf(const Sample &sample) {
    const SampleEvents from = dataset.events(sample);
    std::map<Place, int32_t> events;
    for (size_t i = 0; i < from.events.bin.size(); ++i)
      events[{int32_t(from.events.bin[i] - from.firstBin),
              from.events.neuron[i]}] = std::min(7, from.events.value[i]);
    return events;
  }

  TemporaryFolder folder;
  Dataset dataset;
  Masking masking;
};

} // namespace

TEST_F(SpikeMaskTest, AQuarterOfTheEventsIsOutAndAskedForBesideSilentPlaces) {
  const Batch batch = read(3);
  ASSERT_EQ(batch.queryValue.size(), size_t(batch.rows() * masking.queries));
  int64_t silentPlaces = 0, shortRows = 0;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const Sample &sample =
        dataset.samples(Split::Train)[size_t(batch.sample[size_t(row)])];
    const Session &session = dataset.session(sample.session);
    std::map<Place, int32_t> events = eventsOf(sample);
    const size_t count = events.size();
    std::set<Place> asked;
    size_t masked = 0, silent = 0;
    for (int64_t i = row * masking.queries; i < (row + 1) * masking.queries;
         ++i) {
      const int32_t value = batch.queryValue[size_t(i)];
      const Place place = {batch.queryTime[size_t(i)],
                           batch.queryNeuron[size_t(i)]};
      EXPECT_GE(place.second, session.firstNeuron);
      EXPECT_LT(place.second, session.firstNeuron + session.units());
      if (value < 0)
        continue;
      EXPECT_TRUE(asked.insert(place).second);
      if (value > 0) {
        ++masked;
        ASSERT_TRUE(events.contains(place));
        EXPECT_EQ(events[place], value);
      } else {
        ++silent;
        EXPECT_FALSE(events.contains(place));
        // Bins before the trial were not recorded, so they are not silent.
        EXPECT_GE(place.first, 15 - (dataset.binInPiece(sample) + 1));
        EXPECT_LT(place.first, 15);
      }
    }
    EXPECT_EQ(masked, size_t(std::lround(0.25 * double(count))));
    EXPECT_LE(silent, masked);
    silentPlaces += int64_t(silent);
    shortRows += silent < masked;
    std::set<Place> seen;
    for (int32_t i = batch.rowSplits[size_t(row)];
         i < batch.rowSplits[size_t(row) + 1]; ++i)
      seen.insert({batch.timeBin[size_t(i)], batch.neuronId[size_t(i)]});
    EXPECT_EQ(seen.size() + masked, count);
    for (const Place &place : seen)
      EXPECT_FALSE(asked.contains(place));
  }
  EXPECT_GT(silentPlaces, 100);
  EXPECT_LT(shortRows, batch.rows());
}

TEST_F(SpikeMaskTest, PlaceAloneDecides) {
  const Batch one = read(2), other = read(2), later = read(3);
  EXPECT_EQ(one.queryNeuron, other.queryNeuron);
  EXPECT_EQ(one.queryTime, other.queryTime);
  EXPECT_EQ(one.queryValue, other.queryValue);
  EXPECT_EQ(one.neuronId, other.neuronId);
  EXPECT_NE(one.queryTime, later.queryTime);
}

TEST_F(SpikeMaskTest, AugmentationComesAfterTheMask) {
  const Batch plain = read(2), thin = read(2, {0.3, 0.3, 0});
  EXPECT_EQ(plain.queryNeuron, thin.queryNeuron);
  EXPECT_EQ(plain.queryValue, thin.queryValue);
  EXPECT_LT(thin.value.size(), plain.value.size());
}

TEST_F(SpikeMaskTest, ValIsMaskedAlikeInAnyBatch) {
  const int64_t numbers[] = {4, 9, 2};
  Batch together, alone;
  readMaskedBatch(dataset, Split::Val, numbers, masking, 7, together);
  readMaskedBatch(dataset, Split::Val, std::span(numbers).subspan(1, 1),
                  masking, 7, alone);
  ASSERT_EQ(alone.queryTime.size(), size_t(masking.queries));
  for (int64_t i = 0; i < masking.queries; ++i) {
    EXPECT_EQ(alone.queryTime[size_t(i)],
              together.queryTime[size_t(masking.queries + i)]);
    EXPECT_EQ(alone.queryValue[size_t(i)],
              together.queryValue[size_t(masking.queries + i)]);
  }
  EXPECT_EQ(alone.value.size(),
            size_t(together.rowSplits[2] - together.rowSplits[1]));
}

TEST_F(SpikeMaskTest, TooFewQueriesAreNamed) {
  EXPECT_THAT(
      TrainBatches::make(
          dataset,
          {.rows = 8, .seed = 0, .augmentation = {}, .masking = {0.25, 1}})
          .status()
          .message(),
      HasSubstr("a mask of 0.25 with 1 queries"));
}
