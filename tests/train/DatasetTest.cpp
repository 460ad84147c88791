#include "tests/train/SmallRecordings.h"
#include "train/data/Decoder.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <limits>
#include <map>
#include <set>

using namespace betz;
using namespace betz::test;
using namespace betz::train;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using EventCounts = std::map<std::pair<int64_t, int64_t>, int64_t>;

/// (time bin, unit) -> spikes of the window of `history` bins that ends with
/// bin `last` of a trial, counted from the spike times.
EventCounts countByHand(const SmallRecording &from, size_t trial, int64_t last,
                        int64_t history) {
  EventCounts counts;
  const Interval time = from.trials[trial];
  for (size_t unit = 0; unit < from.spikes.size(); ++unit)
    for (double spike : from.spikes[unit]) {
      const double bin = std::floor((spike - time.start) / kSmallBin);
      if (spike >= time.start && spike < time.stop && bin <= double(last) &&
          bin > double(last - history))
        ++counts[{int64_t(bin) - (last - history + 1), int64_t(unit)}];
    }
  return counts;
}

EventCounts eventsOf(const Dataset &dataset, const Sample &sample) {
  EventCounts counts;
  const SampleEvents from = dataset.events(sample);
  for (size_t i = 0; i < from.events.bin.size(); ++i)
    counts[{from.events.bin[i] - from.firstBin, from.events.neuron[i]}] +=
        from.events.value[i];
  EXPECT_EQ(counts.size(), from.events.bin.size());
  return counts;
}

int64_t rowOf(const SmallRecording &from, size_t trial, int64_t bin) {
  for (size_t row = 0; row < from.time.size(); ++row)
    if (std::abs(from.time[row] - from.trials[trial].start -
                 (double(bin) + 0.5) * kSmallBin) < 1e-6)
      return int64_t(row);
  return -1;
}

std::string openError(const std::filesystem::path &file,
                      const DataSpec &spec = {}) {
  Result<Dataset> dataset = Dataset::open(std::span(&file, 1), spec);
  EXPECT_FALSE(dataset.isOk());
  return dataset.status().message();
}

} // namespace

TEST(Dataset, SamplesAreWhatACountByHandGives) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(15, 7, std::random_device{}());
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  EXPECT_DOUBLE_EQ(dataset.spec().binMs, 20);
  EXPECT_EQ(dataset.neurons(), 7);
  EXPECT_EQ(dataset.outputs(), 2);

  int64_t bins = 0, mostEvents = 0;
  for (Split split : kSplits)
    for (const Sample &sample : dataset.samples(split)) {
      const size_t trial = size_t(sample.piece);
      EXPECT_EQ(toString(split), made.split[trial]);
      const int64_t last = dataset.binInPiece(sample);
      const EventCounts counts = countByHand(made, trial, last, 15);
      EXPECT_EQ(eventsOf(dataset, sample), counts);
      mostEvents = std::max(mostEvents, int64_t(counts.size()));
      const int64_t row = rowOf(made, trial, last);
      ASSERT_GE(row, 0);
      for (size_t c = 0; c < 2; ++c)
        EXPECT_EQ(dataset.behavior(sample)[c],
                  float(made.velocity[size_t(row) * 2 + c]));
      ++bins;
    }
  EXPECT_EQ(bins, int64_t(made.time.size()));
  EXPECT_EQ(dataset.maxEvents(), mostEvents);
}

TEST(Dataset, ScaleIsOfTrainBinsOnly) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(10, 3, 1);
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  double sum = 0, squared = 0, rows = 0;
  for (size_t trial = 0; trial < 10; ++trial)
    for (int64_t bin = 0; made.split[trial] == "train"; ++bin) {
      const int64_t row = rowOf(made, trial, bin);
      if (row < 0)
        break;
      const double value = made.velocity[size_t(row) * 2];
      sum += value;
      squared += value * value;
      rows += 1;
    }
  const TargetScale &scale = dataset.session(0).scale;
  EXPECT_NEAR(scale.mean[0], sum / rows, 1e-5);
  EXPECT_NEAR(scale.deviation[0],
              std::sqrt(squared / rows - sum * sum / rows / rows), 1e-4);
  const Sample &sample = dataset.samples(Split::Test)[5];
  float target[2];
  dataset.target(sample, target);
  EXPECT_NEAR(target[0],
              (double(dataset.behavior(sample)[0]) - scale.mean[0]) /
                  scale.deviation[0],
              1e-6);
}

TEST(Dataset, StrideAndTargetGrid) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(10, 3, 2);
  DataSpec spec;
  spec.strideBins = 4;
  spec.targetTimes = 3;
  spec.targetStepBins = 2;
  Dataset dataset = openDataset({made.write(folder / "a.nwb")}, spec);
  EXPECT_EQ(dataset.outputs(), 6);
  const Sample &sample = dataset.samples(Split::Train)[1];
  // The first sample's grid begins at bin 0, so its last time is bin 4.
  EXPECT_EQ(dataset.binInPiece(sample), 8);
  std::vector<float> target(6);
  dataset.target(sample, target);
  const TargetScale &scale = dataset.session(0).scale;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t row = rowOf(made, 0, 4 + 2 * i);
    for (size_t c = 0; c < 2; ++c)
      EXPECT_NEAR(target[size_t(i) * 2 + c],
                  (made.velocity[size_t(row) * 2 + c] - scale.mean[c]) /
                      scale.deviation[c],
                  1e-5);
  }
}

TEST(Dataset, SessionsKeepTheirOwnUnits) {
  TemporaryFolder folder;
  SmallRecording first = makeTrials(10, 3, 3), second = makeTrials(5, 4, 4);
  Dataset dataset = openDataset(
      {first.write(folder / "a.nwb"), second.write(folder / "b.nwb")});
  EXPECT_EQ(dataset.neurons(), 7);
  EXPECT_EQ(dataset.session(1).firstNeuron, 3);
  EXPECT_THAT(dataset.session(1).unitIds, ElementsAre(10, 13, 16, 19));
  std::set<int32_t> neurons[2];
  for (const Sample &sample : dataset.samples(Split::Train))
    for (int32_t neuron : dataset.events(sample).events.neuron)
      neurons[sample.session].insert(neuron);
  EXPECT_THAT(neurons[0], ElementsAre(0, 1, 2));
  EXPECT_THAT(neurons[1], ElementsAre(3, 4, 5, 6));
}

TEST(Dataset, SessionsAreScoredEachByItself) {
  TemporaryFolder folder;
  Dataset dataset = openDataset({makeTrials(10, 3, 3).write(folder / "a.nwb"),
                                 makeTrials(10, 3, 4).write(folder / "b.nwb")});
  // Right in the first session, the mean of its targets in the second.
  Table predictions = behaviorOf(dataset, Split::Test);
  const Table targets = predictions;
  const std::span<const Sample> samples = dataset.samples(Split::Test);
  for (int64_t column = 0; column < 2; ++column) {
    double sum = 0, rows = 0;
    for (int64_t row = 0; row < targets.rows; ++row)
      if (samples[size_t(row)].session == 1)
        sum += targets.at(row, column), rows += 1;
    for (int64_t row = 0; row < targets.rows; ++row)
      if (samples[size_t(row)].session == 1)
        predictions.at(row, column) = sum / rows;
  }
  const std::vector<Score> scores =
      scoreSessions(dataset, Split::Test, predictions);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_EQ(scores[0].meanR2(), 1);
  EXPECT_NEAR(scores[1].meanR2(), 0, 1e-12);
  EXPECT_NEAR(meanR2(scores), 0.5, 1e-12);
}

TEST(Dataset, SessionsHaveNamesOfTheirOwn) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "day");
  const std::vector<std::filesystem::path> files = {
      makeTrials(10, 3, 3).write(folder / "a.nwb"),
      makeTrials(10, 3, 4).write(folder / "day" / "a.nwb")};
  EXPECT_THAT(Dataset::open(files, {}).status().message(),
              HasSubstr("two recordings of one name"));
}

TEST(Dataset, FewLabelsAreSomeTrialsOfTrain) {
  TemporaryFolder folder;
  const std::filesystem::path file =
      makeTrials(20, 3, 1).write(folder / "a.nwb");
  auto trialsOf = [&](const DataSpec &spec, Split split) {
    Dataset dataset = openDataset({file}, spec);
    std::set<int32_t> trials;
    for (const Sample &sample : dataset.samples(split))
      trials.insert(sample.piece);
    return trials;
  };
  DataSpec few, fewer;
  few.labelFraction = 0.5;
  fewer.labelledTrials = 2;
  const std::set<int32_t> all = trialsOf({}, Split::Train);
  const std::set<int32_t> half = trialsOf(few, Split::Train);
  const std::set<int32_t> two = trialsOf(fewer, Split::Train);
  EXPECT_EQ(all.size(), 12u);
  EXPECT_EQ(half.size(), 6u);
  EXPECT_EQ(two.size(), 2u);
  EXPECT_TRUE(std::ranges::includes(all, half));
  EXPECT_TRUE(std::ranges::includes(half, two));
  EXPECT_EQ(trialsOf(few, Split::Val), trialsOf({}, Split::Val));
  EXPECT_EQ(trialsOf(few, Split::Test), trialsOf({}, Split::Test));
  few.seed = 1;
  EXPECT_NE(trialsOf(few, Split::Train), half);

  // Nothing of the other trials' behaviour is left, so the scale is of two.
  Dataset dataset = openDataset({file}, fewer);
  double sum = 0, rows = 0;
  for (const Sample &sample : dataset.samples(Split::Train))
    sum += double(dataset.behavior(sample)[0]), rows += 1;
  EXPECT_NEAR(dataset.session(0).scale.mean[0], sum / rows, 1e-9);

  fewer.labelledTrials = 0;
  EXPECT_THAT(Dataset::open(std::span(&file, 1), fewer).status().message(),
              HasSubstr("0 labelled trials: give at least 1"));
}

TEST(Dataset, RowsOfNaNAreLeftOutAndCounted) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(10, 3, 5);
  made.velocity[2 * 7] = std::numeric_limits<double>::quiet_NaN();
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  EXPECT_EQ(dataset.session(0).binsWithoutTarget, 1);
  for (const Sample &sample : dataset.samples(Split::Train))
    EXPECT_FALSE(sample.piece == 0 && dataset.binInPiece(sample) == 7);
  ASSERT_EQ(dataset.warnings().size(), 1u);
  EXPECT_THAT(dataset.warnings()[0], HasSubstr("1 samples are left out"));
  // The spikes of that bin are still in the windows after it.
  for (const Sample &sample : dataset.samples(Split::Train))
    if (sample.piece == 0 && dataset.binInPiece(sample) == 8) {
      EXPECT_EQ(eventsOf(dataset, sample), countByHand(made, 0, 8, 15));
    }
}

TEST(Dataset, WithoutSplitsTrialsAreDrawnBySeed) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(50, 3, 6);
  made.split.clear();
  const std::filesystem::path file = made.write(folder / "a.nwb");
  auto splits = [&](uint64_t seed) {
    DataSpec spec;
    spec.seed = seed;
    std::vector<Split> out;
    Dataset dataset = openDataset({file}, spec);
    for (const Piece &piece : dataset.session(0).pieces)
      out.push_back(piece.split);
    return out;
  };
  const std::vector<Split> drawn = splits(1);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), Split::Train), 30);
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), Split::Val), 10);
  EXPECT_EQ(splits(1), drawn);
  EXPECT_NE(splits(2), drawn);
}

TEST(Dataset, ContinuousRecordingsAreCutIntoBlocks) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(40, 3, 7);
  made.trials.clear();
  made.observed = {{made.time.front() - 0.01, made.time.back() + 0.01}};
  DataSpec spec;
  spec.binMs = 20;
  Dataset dataset = openDataset({made.write(folder / "a.nwb")}, spec);
  const Session &session = dataset.session(0);
  EXPECT_EQ(session.splitSource, "seeded by block");
  ASSERT_GE(session.pieces.size(), 10u);
  for (size_t i = 1; i < session.pieces.size(); ++i) {
    EXPECT_DOUBLE_EQ(session.pieces[i - 1].time.stop,
                     session.pieces[i].time.start);
    const double bins =
        (session.pieces[i].time.start - made.observed[0].start) / kSmallBin;
    EXPECT_NEAR(bins, std::round(bins), 1e-6);
  }
}

TEST(Dataset, TwoSplitsInTheFileBecomeThree) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(20, 3, 8);
  for (std::string &split : made.split)
    split = split == "test" ? "val" : split; // 12 train, 8 val
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  int64_t counts[3] = {};
  for (const Piece &piece : dataset.session(0).pieces) {
    ++counts[size_t(piece.split)];
    EXPECT_EQ(piece.split == Split::Test,
              made.split[size_t(piece.trial)] == "val");
  }
  EXPECT_THAT(counts, ElementsAre(10, 2, 8));
  EXPECT_THAT(dataset.warnings()[0], HasSubstr("has no test"));
}

TEST(Dataset, OverlappingTrialsShareNoBin) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(10, 3, 9);
  made.trials[1].start = made.trials[0].stop - 5 * kSmallBin;
  made.observed = {{made.trials[0].start, made.trials[9].stop}};
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  const std::vector<Piece> &pieces = dataset.session(0).pieces;
  for (size_t i = 1; i < pieces.size(); ++i)
    EXPECT_GE(pieces[i].time.start, pieces[i - 1].time.stop);
}

TEST(Dataset, WithoutBehaviourThereAreEventsOnly) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(10, 3, 10);
  made.time.clear();
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  EXPECT_EQ(dataset.outputs(), 0);
  EXPECT_GT(dataset.samples(Split::Train).size(), 100u);
  EXPECT_GT(dataset.maxEvents(), 0);
}

TEST(Dataset, BadRecordingsAreOneClearLine) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(10, 3, 11);
  SmallRecording silent = made;
  for (std::vector<double> &list : silent.spikes)
    std::erase_if(list, [&](double spike) {
      return spike >= made.trials[4].start && spike < made.trials[4].stop;
    });
  std::erase_if(silent.spikes[0],
                [&](double spike) { return spike >= made.trials[9].start; });
  for (std::vector<double> &list : silent.spikes)
    std::erase_if(list, [&](double spike) {
      return spike >= made.trials[9].start && spike < made.trials[9].stop;
    });
  EXPECT_THAT(openError(silent.write(folder / "silent.nwb")),
              HasSubstr("no spike is in the split test"));

  SmallRecording noUnits = made;
  noUnits.ids.clear();
  noUnits.spikes.clear();
  EXPECT_THAT(openError(makeFile(folder / "none.nwb",
                                 [&](Hdf5Writer &writer) {
                                   addTrials(writer, made.trials, made.split);
                                   addSeries(writer,
                                             "/processing/behavior/hand_vel",
                                             made.time, made.velocity);
                                 })),
              HasSubstr("nothing to decode"));

  DataSpec spec;
  spec.targetTimes = 5;
  spec.targetStepBins = 4;
  EXPECT_THAT(openError(made.write(folder / "a.nwb"), spec),
              HasSubstr("5 target times 4 bins apart do not fit"));
}

TEST(Dataset, OneTrialIsCutIntoBlocks) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(1, 3, 12);
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  EXPECT_EQ(dataset.session(0).splitSource, "seeded by block");
  EXPECT_THAT(dataset.warnings()[0], HasSubstr("1 trial cannot be split"));
}
