#include "runtime/io/Windows.h"
#include "tests/runtime/io/OddFiles.h"

#include <cmath>
#include <gmock/gmock.h>
#include <limits>
#include <map>
#include <numeric>
#include <random>

using namespace betz;
using namespace betz::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

Units makeUnits(const SpikeLists &spikes) {
  Units units;
  for (size_t row = 0; row < spikes.size(); ++row) {
    units.ids.push_back(int64_t(100 + row));
    units.heldOut.push_back(false);
    units.spikeTimes.insert(units.spikeTimes.end(), spikes[row].begin(),
                            spikes[row].end());
    units.spikeEnds.push_back(int64_t(units.spikeTimes.size()));
  }
  return units;
}

Series makeSeries(std::vector<double> time, std::vector<double> values) {
  Series series;
  series.info.name = series.info.path = "vel";
  series.info.rows = int64_t(time.size());
  series.info.columns = int64_t(values.size() / time.size());
  series.time = std::move(time);
  series.values = std::move(values);
  return series;
}

std::vector<int32_t> allRows(const Units &units) {
  std::vector<int32_t> rows(size_t(units.count()));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

WindowIndex makeIndex(std::vector<Interval> segments, WindowSpec spec) {
  Result<WindowIndex> index = WindowIndex::build(std::move(segments), spec);
  EXPECT_TRUE(index.isOk()) << index.status().message();
  return std::move(*index);
}

WindowBatch readAll(const WindowReader &reader, const WindowIndex &index) {
  std::vector<int64_t> numbers(size_t(index.size()));
  std::iota(numbers.begin(), numbers.end(), 0);
  WindowBatch batch;
  EXPECT_TRUE(reader.read(numbers, batch).isOk());
  return batch;
}

/// Nanoseconds: what the brute-force count below is exact in.
int64_t nanos(double seconds) { return std::llround(seconds * 1e9); }

/// Every window of a segment counted spike by spike in whole nanoseconds.
WindowBatch countByHand(const std::vector<Interval> &segments,
                        const SpikeLists &spikes, const WindowSpec &spec) {
  WindowBatch batch;
  batch.rowSplits.push_back(0);
  const int64_t bin = nanos(spec.binMs / 1000);
  for (const Interval &segment : segments) {
    int64_t bins = (nanos(segment.stop) - nanos(segment.start)) / bin;
    int64_t first = spec.padStart ? 1 - spec.windowBins : 0;
    for (; first + spec.windowBins <= bins; first += spec.strideBins) {
      std::map<std::pair<int64_t, int32_t>, int32_t> counts;
      for (size_t row = 0; row < spikes.size(); ++row)
        for (double spike : spikes[row]) {
          int64_t at = nanos(spike) - nanos(segment.start);
          if (at >= 0 && at / bin >= first &&
              at / bin < first + spec.windowBins)
            ++counts[{at / bin - first, int32_t(row)}];
        }
      for (const auto &[place, count] : counts) {
        batch.timeBin.push_back(int32_t(place.first));
        batch.neuronId.push_back(place.second);
        batch.value.push_back(std::min(count, spec.valueBuckets - 1));
      }
      batch.rowSplits.push_back(int32_t(batch.value.size()));
    }
  }
  return batch;
}

TEST(Windows, AgreeWithACountByHand) {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < 60; ++round) {
    WindowSpec spec;
    spec.binMs = std::vector<double>{5, 1, 20, 2.5, 33, 0.1}[round % 6];
    spec.windowBins = 1 + int32_t(random() % 9);
    spec.strideBins = 1 + int32_t(random() % 4);
    spec.valueBuckets = 2 + int32_t(random() % 4);
    spec.padStart = random() % 2;
    std::vector<Interval> segments;
    double at = double(random() % 7000);
    for (int i = 0; i < 3; ++i) {
      double start = at + double(random() % 1000) / 1000;
      double bins = double(random() % 30) + (random() % 2 ? 0 : 0.5);
      segments.push_back({start, start + bins * spec.binMs / 1000});
      at = segments.back().stop + 0.05;
    }
    SpikeLists spikes(1 + random() % 5);
    for (std::vector<double> &list : spikes) {
      for (const Interval &segment : segments)
        for (size_t i = 0; i < random() % 40; ++i) {
          // Half of them exactly on bins' borders, outside too.
          double bin = double(random() % 34) - 2;
          double inside = random() % 2 ? 0 : double(random() % 1000) / 1000;
          list.push_back(
              std::round((segment.start + (bin + inside) * spec.binMs / 1000) *
                         1e7) /
              1e7);
        }
      std::sort(list.begin(), list.end());
    }
    WindowIndex index = makeIndex(segments, spec);
    Units units = makeUnits(spikes);
    WindowReader reader(index, units, allRows(units), nullptr);
    WindowBatch got = readAll(reader, index);
    WindowBatch want = countByHand(segments, spikes, spec);
    ASSERT_EQ(got.rowSplits, want.rowSplits) << "bin " << spec.binMs;
    ASSERT_EQ(got.timeBin, want.timeBin);
    ASSERT_EQ(got.neuronId, want.neuronId);
    ASSERT_EQ(got.value, want.value);
    for (int64_t i = 0; i < index.size(); ++i)
      ASSERT_EQ(reader.eventsIn(i),
                got.rowSplits[size_t(i) + 1] - got.rowSplits[size_t(i)]);
  }
}

TEST(Windows, SpikesOnABordersRoundingErrorAreNotEarly) {
  // 0.3 - 0.1 < 0.2, and 2282.6 + 0.005 is stored a little low.
  EXPECT_EQ(binOf(0.3, 0.1, 100), 2);
  EXPECT_EQ(binOf(2282.605, 2282.6, 5), 1);
  EXPECT_EQ(binOf(2282.604999, 2282.6, 5), 0);
  EXPECT_EQ(binOf(2282.6 - 1e-12, 2282.6, 5), 0);
  EXPECT_EQ(binOf(2282.599999, 2282.6, 5), -1);
  EXPECT_EQ(binOf(0.7, 0, 5), 140);
  for (int ms = 0; ms < 5000; ++ms)
    ASSERT_EQ(binOf(0.8 * 13 + ms / 1000.0, 0.8 * 13, 1), ms);
  EXPECT_GT(binOf(1e300, 0, 5), int64_t(1) << 40);
  EXPECT_LT(binOf(-1e300, 0, 5), -(int64_t(1) << 40));
}

TEST(Windows, PlacesAndTimes) {
  WindowIndex index =
      makeIndex({{10, 10.1}, {20, 20.03}, {30, 30.065}}, {10, 4, 2, 8, false});
  // 10 bins, 3 bins, 6 bins: 4, none and 2 windows.
  ASSERT_EQ(index.size(), 6);
  EXPECT_EQ(index.bins(2), 6);
  Window window = index.at(3);
  EXPECT_EQ(window.segment, 0);
  EXPECT_EQ(window.firstBin, 6);
  EXPECT_NEAR(window.start, 10.06, 1e-12);
  EXPECT_NEAR(window.stop, 10.10, 1e-12);
  EXPECT_NEAR(window.target, 10.095, 1e-12);
  EXPECT_EQ(index.at(4).segment, 2);
  EXPECT_EQ(index.at(4).firstBin, 0);
}

TEST(Windows, PaddedWindowsEndOnEachBin) {
  WindowIndex index = makeIndex({{0, 0.03}, {1, 1.005}}, {10, 4, 1, 8, true});
  ASSERT_EQ(index.size(), 3);
  EXPECT_EQ(index.at(0).firstBin, -3);
  EXPECT_NEAR(index.at(0).stop, 0.01, 1e-12);
  Units units = makeUnits({{0.005, 0.025, 0.0255}});
  WindowReader reader(index, units, allRows(units), nullptr);
  WindowBatch batch = readAll(reader, index);
  EXPECT_THAT(batch.rowSplits, ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(batch.timeBin, ElementsAre(3, 2, 1, 3));
  EXPECT_THAT(batch.value, ElementsAre(1, 1, 1, 2));
}

TEST(Windows, NoneIsLegal) {
  Units units = makeUnits({{}, {0.5}});
  for (std::vector<Interval> segments :
       {std::vector<Interval>{}, std::vector<Interval>{{0, 0.001}}}) {
    WindowIndex index = makeIndex(segments, {});
    EXPECT_EQ(index.size(), 0);
    WindowReader reader(index, units, allRows(units), nullptr);
    EXPECT_THAT(readAll(reader, index).rowSplits, ElementsAre(0));
  }
  // Windows without a single spike.
  WindowIndex index = makeIndex({{0, 0.02}}, {10, 1, 1, 8, false});
  WindowReader reader(index, units, allRows(units), nullptr);
  EXPECT_THAT(readAll(reader, index).rowSplits, ElementsAre(0, 0, 0));
}

TEST(Windows, ImpossibleSpecsAreErrors) {
  for (WindowSpec spec :
       {WindowSpec{0, 1, 1, 8}, WindowSpec{kNan, 1, 1, 8},
        WindowSpec{-5, 1, 1, 8}, WindowSpec{5, 0, 1, 8}, WindowSpec{5, 1, 0, 8},
        WindowSpec{5, 1, 1, 0}, WindowSpec{1e-9, 1, 1, 8}})
    EXPECT_FALSE(WindowIndex::build({{0, 100}}, spec).isOk());
}

TEST(Windows, TargetsAverageTheLastBin) {
  // Rows each 2 ms from 1000 s; x counts rows, y is ten times that.
  std::vector<double> time, values;
  for (int row = 0; row < 10; ++row) {
    time.push_back(1000 + row * 0.002);
    values.push_back(row == 4 ? kNan : row);
    values.push_back(row * 10);
  }
  Series series = makeSeries(time, values);
  Units units = makeUnits({{1000.001}});
  WindowIndex index = makeIndex({{1000, 1000.02}}, {4, 1, 1, 8, false});
  WindowReader reader(index, units, allRows(units), &series);
  EXPECT_EQ(reader.targetColumns(), 2);
  // Bin 2 holds rows 4 (incomplete) and 5.
  EXPECT_THAT(readAll(reader, index).target,
              ElementsAre(0.5f, 5, 2.5f, 25, 5, 50, 6.5f, 65, 8.5f, 85));
}

TEST(Windows, TargetsOfCoarseRowsAreNearOrMissing) {
  // Rows each 20 ms at the centres of 20 ms bins, as some files have.
  Series series = makeSeries({0.010, 0.030}, {1, 2});
  Units units = makeUnits({{}});
  WindowIndex index = makeIndex({{0, 0.04}}, {5, 1, 1, 8, false});
  WindowReader reader(index, units, allRows(units), &series);
  // Row 0.010 lies in bin 2 and half a bin from 1 and 3 at the most.
  std::vector<float> target = readAll(reader, index).target;
  ASSERT_EQ(target.size(), 8u);
  EXPECT_TRUE(std::isnan(target[0]));
  EXPECT_EQ(target[1], 1);
  EXPECT_EQ(target[2], 1);
  EXPECT_TRUE(std::isnan(target[3]));
  EXPECT_TRUE(std::isnan(target[4]));
  EXPECT_EQ(target[5], 2);
  EXPECT_EQ(target[6], 2);
  EXPECT_TRUE(std::isnan(target[7]));
}

TEST(Windows, AnyOrderGivesTheSameWindows) {
  std::mt19937 random(std::random_device{}());
  SpikeLists spikes(4);
  for (std::vector<double> &list : spikes) {
    for (int i = 0; i < 300; ++i)
      list.push_back(double(random() % 100000) / 1e5);
    std::sort(list.begin(), list.end());
  }
  Units units = makeUnits(spikes);
  WindowIndex index = makeIndex({{0, 0.5}, {0.6, 1}}, {7, 5, 3, 3, false});
  WindowReader reader(index, units, allRows(units), nullptr);
  WindowBatch all = readAll(reader, index), one;
  for (int i = 0; i < 50; ++i) {
    int64_t number = int64_t(random() % uint64_t(index.size()));
    ASSERT_TRUE(reader.read(std::span(&number, 1), one).isOk());
    auto part = [&](const std::vector<int32_t> &of) {
      return std::vector<int32_t>(of.begin() + all.rowSplits[size_t(number)],
                                  of.begin() +
                                      all.rowSplits[size_t(number) + 1]);
    };
    ASSERT_EQ(one.neuronId, part(all.neuronId));
    ASSERT_EQ(one.timeBin, part(all.timeBin));
    ASSERT_EQ(one.value, part(all.value));
  }
}

//===- Segments -----------------------------------------------------------===//

Recording makeRecording(const std::vector<Interval> &observed,
                        const std::vector<Interval> &trials) {
  Recording recording;
  recording.file = "x.nwb";
  recording.units = makeUnits({{0.25, 9.5}, {0.125}});
  recording.units.observed = observed;
  recording.trials.times = trials;
  recording.trials.split.assign(trials.size(), "train");
  for (size_t row = 0; row < trials.size(); ++row)
    recording.trials.order.push_back(int64_t(row));
  return recording;
}

Segmentation segmentsOf(const Recording &recording,
                        const Series *series = nullptr) {
  Result<Segmentation> found = findSegments(recording, series);
  EXPECT_TRUE(found.isOk()) << found.status().message();
  return found.isOk() ? *found : Segmentation{};
}

TEST(Segments, ObservationThenTrialsThenSpikes) {
  std::vector<Interval> observed = {{0, 1}, {1.0005, 2}, {2.1, 3}};
  std::vector<Interval> trials = {{0, 4}, {4, 5}, {5.5, 6}};
  Segmentation found = segmentsOf(makeRecording(observed, trials));
  EXPECT_EQ(found.source, "obs_intervals");
  EXPECT_THAT(found.segments, ElementsAre(Interval{0, 2}, Interval{2.1, 3}));
  found = segmentsOf(makeRecording({}, trials));
  EXPECT_EQ(found.source, "trials");
  EXPECT_THAT(found.segments, ElementsAre(Interval{0, 5}, Interval{5.5, 6}));
  found = segmentsOf(makeRecording({}, {}));
  EXPECT_EQ(found.source, "spikes");
  EXPECT_THAT(found.segments, ElementsAre(Interval{0.125, 9.5}));
}

TEST(Segments, BehaviourCutsWhereItJumpsOrIsMissing) {
  // 10 ms rows from 0 to 1 s but none in [0.3, 0.5), NaN in [0.7, 0.72).
  std::vector<double> time, values;
  for (int row = 0; row < 100; ++row) {
    if (row >= 30 && row < 50)
      continue;
    time.push_back(row * 0.01);
    values.push_back(row == 70 || row == 71 ? kNan : 1);
  }
  Series series = makeSeries(time, values);
  Segmentation found = segmentsOf(makeRecording({{0, 1}}, {}), &series);
  ASSERT_EQ(found.segments.size(), 3u);
  auto near = [&](size_t i, double start, double stop) {
    EXPECT_NEAR(found.segments[i].start, start, 1e-9) << i;
    EXPECT_NEAR(found.segments[i].stop, stop, 1e-9) << i;
  };
  near(0, 0, 0.3);
  near(1, 0.5, 0.7);
  near(2, 0.72, 1);
  // Observation that starts before and ends after the rows is clipped.
  found = segmentsOf(makeRecording({{-5, 0.2}, {0.8, 7}}, {}), &series);
  ASSERT_EQ(found.segments.size(), 2u);
  near(0, 0, 0.2);
  near(1, 0.8, 1);
  // Borders within a row's step of a gap stand where they are.
  found =
      segmentsOf(makeRecording({{0.005, 0.305}, {0.495, 0.6}}, {}), &series);
  ASSERT_EQ(found.segments.size(), 2u);
  near(0, 0.005, 0.3);
  near(1, 0.495, 0.6);
}

TEST(Segments, RowsAtTheCentresOfBinsKeepTheTrialsGrid) {
  Series series = makeSeries({0.01, 0.03, 0.05, 1.01, 1.03}, {1, 2, 3, 4, 5});
  Segmentation found =
      segmentsOf(makeRecording({{0, 0.06}, {1, 1.04}}, {}), &series);
  EXPECT_THAT(found.segments,
              ElementsAre(Interval{0, 0.06}, Interval{1, 1.04}));
}

TEST(Segments, WhatCannotBeDecodedIsAnError) {
  Recording none = makeRecording({{0, 1}}, {});
  none.units = {};
  EXPECT_THAT(findSegments(none, nullptr).status().message(),
              HasSubstr("x.nwb: /units: is missing"));
  Recording recording = makeRecording({{0, 1}}, {});
  Series elsewhere = makeSeries({100, 101, 102}, {1, 2, 3});
  EXPECT_THAT(findSegments(recording, &elsewhere).status().message(),
              HasSubstr("are both on one clock?"));
  Series missing = makeSeries({0, 0.5, 1}, {kNan, kNan, kNan});
  EXPECT_FALSE(findSegments(recording, &missing).isOk());
  Series stuck = makeSeries({0, 0, 0}, {1, 2, 3});
  EXPECT_FALSE(findSegments(recording, &stuck).isOk());
}

TEST(Segments, TheTwoMazeTrialsShowTheirGap) {
  BETZ_NEED_SHARED(path, "data/mc_maze_two_trials_1ms.nwb");
  Result<Recording> recording = Recording::open(path);
  ASSERT_TRUE(recording.isOk());
  Result<Series> series = loadSeries(**recording->chooseSeries(""));
  ASSERT_TRUE(series.isOk());
  Segmentation found = segmentsOf(*recording, &*series);
  ASSERT_EQ(found.segments.size(), 2u);
  EXPECT_NEAR(found.segments[0].stop, 2285.836, 1e-9);
  EXPECT_NEAR(found.segments[1].start, 4122.8, 1e-9);
  // Without the observation the behaviour alone shows it.
  recording->units.observed.clear();
  recording->trials.order.clear();
  found = segmentsOf(*recording, &*series);
  ASSERT_EQ(found.segments.size(), 2u);
  EXPECT_NEAR(found.segments[0].stop, 2285.836, 1e-6);
  EXPECT_NEAR(found.segments[1].start, 4122.8, 1e-6);
}

TEST(Segments, EachSpikeOfASharedFileIsCountedOnce) {
  BETZ_NEED_SHARED(path, "data/sub-Jenkins_ses-small_desc-test_ecephys.nwb");
  Result<Recording> recording = Recording::open(path);
  ASSERT_TRUE(recording.isOk());
  // Windows of one bin side by side, with values that are not clipped.
  WindowIndex index =
      makeIndex(segmentsOf(*recording).segments, {5, 1, 1, 1 << 20, false});
  WindowReader reader(index, recording->units, allRows(recording->units),
                      nullptr);
  WindowBatch batch = readAll(reader, index);
  EXPECT_EQ(index.size(), 100 * 140);
  EXPECT_EQ(std::accumulate(batch.value.begin(), batch.value.end(), 0), 32897);
}

//===- Units --------------------------------------------------------------===//

TEST(UnitTable, ByIdOrByRow) {
  Units units = makeUnits({{}, {}, {}}); // ids 100, 101, 102
  Result<UnitMap> map = UnitMap::parse(R"({"102": 0, "100": 7, "5": 1})");
  ASSERT_TRUE(map.isOk()) << map.status().message();
  Result<NeuronTable> table = assignNeurons(units, &*map, 8, false);
  ASSERT_TRUE(table.isOk());
  EXPECT_THAT(table->neuronOfRow, ElementsAre(7, -1, 0));
  EXPECT_THAT(table->warnings, ElementsAre(HasSubstr("left out: 101")));
  EXPECT_FALSE(assignNeurons(units, &*map, 8, true).isOk());
  table = assignNeurons(units, nullptr, 2, false);
  ASSERT_TRUE(table.isOk());
  EXPECT_THAT(table->neuronOfRow, ElementsAre(0, 1, -1));
  EXPECT_THAT(table->warnings, ElementsAre(HasSubstr("only 2 neurons: 102")));
  EXPECT_TRUE(assignNeurons(units, nullptr, 3, true).isOk());
}

TEST(UnitTable, BadTables) {
  for (const char *text :
       {"[]", "{", R"({"x": 1})", R"({"1": -1})", R"({"1": "a"})",
        R"({"1": 3000000000})", R"({"1 ": 1})"})
    EXPECT_FALSE(UnitMap::parse(text).isOk()) << text;
}

TEST(UnitTable, LeftOutUnitsGiveNoEvents) {
  Units units = makeUnits({{0.001}, {0.001}, {0.001}});
  WindowIndex index = makeIndex({{0, 0.01}}, {10, 1, 1, 8, false});
  std::vector<int32_t> neurons = {5, -1, 2};
  WindowReader reader(index, units, neurons, nullptr);
  EXPECT_THAT(readAll(reader, index).neuronId, ElementsAre(5, 2));
}

} // namespace
