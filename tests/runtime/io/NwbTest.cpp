#include "runtime/io/Nwb.h"
#include "runtime/io/Windows.h"
#include "tests/runtime/io/OddFiles.h"

#include <cmath>
#include <gmock/gmock.h>
#include <limits>

using namespace betz;
using namespace betz::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

Recording openGood(const std::string &path, const std::string &behavior = "") {
  Result<Recording> recording = Recording::open(path, behavior);
  EXPECT_TRUE(recording.isOk()) << recording.status().message();
  return recording.isOk() ? std::move(*recording) : Recording{};
}

std::string openBad(const std::string &path) {
  Result<Recording> recording = Recording::open(path);
  EXPECT_FALSE(recording.isOk());
  std::string message = recording.isOk() ? "" : recording.status().message();
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_THAT(message, HasSubstr(path));
  return message;
}

std::vector<double> spikesOf(const Recording &recording, int64_t row) {
  std::span<const double> spikes = recording.units.spikes(row);
  return {spikes.begin(), spikes.end()};
}

TEST(Nwb, IndicesAreCumulativeEndsOfAnyWidth) {
  TemporaryFolder folder;
  SpikeLists spikes = {{0.5, 1.0}, {}, {0.25}, {}, {2.0, 3.0, 4.0}};
  using enum Hdf5Integer;
  for (Hdf5Integer type : {U8, U16, U32, U64, I32, I64}) {
    Recording recording =
        openGood(makeFile(folder / "a.nwb", [&](Hdf5Writer &w) {
          addUnits(w, {11, 12, 21, 22, 31}, spikes, type);
        }));
    ASSERT_EQ(recording.units.count(), 5);
    for (int64_t row = 0; row < 5; ++row)
      EXPECT_EQ(spikesOf(recording, row), spikes[size_t(row)]);
    EXPECT_THAT(recording.warnings, IsEmpty());
  }
}

TEST(Nwb, MoreSpikesThanAByteCounts) {
  TemporaryFolder folder;
  SpikeLists spikes(3);
  for (int i = 0; i < 200; ++i)
    for (std::vector<double> &list : spikes)
      list.push_back(i * 0.01);
  Recording recording = openGood(makeFile(folder / "a.nwb", [&](Hdf5Writer &w) {
    addUnits(w, {1, 2, 3}, spikes, Hdf5Integer::U16, {64, true, 4});
  }));
  EXPECT_EQ(spikesOf(recording, 2), spikes[2]);
}

TEST(Nwb, BrokenIndicesNameTheirPlace) {
  TemporaryFolder folder;
  struct Case {
    std::vector<int64_t> ends;
    const char *message;
  };
  for (const Case &c : {Case{{2, 1, 4}, "falls from 2 to 1 at row 1"},
                        Case{{2, 3, 5}, "row 2 ends at 5, past the 4 rows"},
                        Case{{-1, 2, 4}, "falls from 0 to -1 at row 0"},
                        Case{{1, 2, 3}, "ends at 3 but spike_times has 4"},
                        Case{{1, 4}, "has 2 rows for 3 units"},
                        Case{{}, "has 0 rows for 3 units"}}) {
    std::string message =
        openBad(makeFile(folder / "a.nwb", [&](Hdf5Writer &w) {
          must(w.integers("/units/id", std::vector<int64_t>{1, 2, 3}, {3}));
          must(w.doubles("/units/spike_times", std::vector<double>{1, 2, 3, 4},
                         {4}));
          must(w.integers("/units/spike_times_index", c.ends,
                          {int64_t(c.ends.size())}));
        }));
    EXPECT_THAT(message, HasSubstr("/units/spike_times_index: "));
    EXPECT_THAT(message, HasSubstr(c.message));
  }
}

TEST(Nwb, WrongShapesAndTypes) {
  TemporaryFolder folder;
  std::vector<double> four = {1, 2, 3, 4};
  std::vector<int64_t> ids = {1, 2};
  auto units = [&](Hdf5Writer &w) { addUnits(w, ids, {{1, 2}, {3}}); };
  struct Case {
    std::function<void(Hdf5Writer &)> fill;
    const char *message;
  };
  const std::vector<Case> cases = {
      {[&](Hdf5Writer &w) {
         must(w.integers("/units/id", ids, {2}));
         must(w.doubles("/units/spike_times", four, {2, 2}));
       },
       "/units/spike_times: has shape [2, 2]"},
      {[&](Hdf5Writer &w) {
         must(w.integers("/units/id", ids, {2}));
         must(w.doubles("/units/spike_times", four, {4}));
       },
       "/units/spike_times_index: is missing"},
      {[&](Hdf5Writer &w) {
         must(w.integers("/units/id", ids, {2}));
         must(w.doubles("/units/spike_times", four, {4}));
         must(w.doubles("/units/spike_times_index", four, {4}));
       },
       "/units/spike_times_index: does not hold whole numbers"},
      {[&](Hdf5Writer &w) {
         must(w.integers("/units/id", ids, {2}));
         must(w.doubles("/units/spike_times", four, {4}));
         must(w.integers("/units/spike_times_index", std::vector<int64_t>{2, 4},
                         {1, 2}));
       },
       "/units/spike_times_index: has shape [1, 2]"},
      {[&](Hdf5Writer &w) { must(w.strings("/units/id", {"a", "b"})); },
       "/units/id: does not hold whole numbers"},
      {[&](Hdf5Writer &w) {
         units(w);
         must(w.bools("/units/heldout", {true}));
       },
       "/units/heldout: has 1 rows for 2 units"},
      {[&](Hdf5Writer &w) {
         units(w);
         must(w.doubles("/units/obs_intervals", four, {4}));
       },
       "/units/obs_intervals: has shape [4]"},
      {[&](Hdf5Writer &w) {
         units(w);
         must(w.doubles("/units/obs_intervals", four, {2, 2}));
         must(w.integers("/units/obs_intervals_index",
                         std::vector<int64_t>{2, 1}, {2}));
       },
       "/units/obs_intervals_index: falls"},
      {[&](Hdf5Writer &w) {
         units(w);
         must(w.doubles("/intervals/trials/start_time", four, {4}));
       },
       "/intervals/trials/stop_time: is missing"},
      {[&](Hdf5Writer &w) {
         units(w);
         addTrials(w, {{0, 1}, {2, 3}}, {"train"});
       },
       "/intervals/trials/split: has 1 rows but the table has 2"},
  };
  for (const Case &c : cases)
    EXPECT_THAT(openBad(makeFile(folder / "a.nwb", c.fill)),
                HasSubstr(c.message));
}

TEST(Nwb, OddButUsableUnitsWarn) {
  TemporaryFolder folder;
  Recording recording = openGood(makeFile(folder / "a.nwb", [](Hdf5Writer &w) {
    must(w.doubles("/units/spike_times",
                   std::vector<double>{3, 1, kNan, 2, 5, 6}, {6}));
    must(w.integers("/units/spike_times_index", std::vector<int64_t>{4, 6},
                    {2}));
  }));
  EXPECT_THAT(recording.units.ids, ElementsAre(0, 1));
  EXPECT_THAT(spikesOf(recording, 0), ElementsAre(1, 2, 3));
  EXPECT_THAT(spikesOf(recording, 1), ElementsAre(5, 6));
  EXPECT_THAT(recording.warnings,
              ElementsAre(HasSubstr("/units/id is missing"),
                          HasSubstr("1 spike times are not numbers"),
                          HasSubstr("spikes of 1 units were not in order")));
}

TEST(Nwb, TimesThatAreNotSeconds) {
  TemporaryFolder folder;
  struct Case {
    double factor;
    const char *message;
  };
  for (Case c : {Case{1e3, "milliseconds"}, Case{3e4, "samples"}}) {
    std::string message =
        openBad(makeFile(folder / "a.nwb", [&](Hdf5Writer &w) {
          addUnits(w, {1}, {{0.5 * c.factor, 9.5 * c.factor}});
          addTrials(w, {{0, 4}, {5, 10}});
        }));
    EXPECT_THAT(message, HasSubstr(c.message));
    EXPECT_THAT(message, HasSubstr("rewrite them in seconds"));
  }
}

TEST(Nwb, MissingTables) {
  TemporaryFolder folder;
  Recording onlyUnits = openGood(makeFile(folder / "a.nwb", [](Hdf5Writer &w) {
    addUnits(w, {7}, {{1.0}});
    must(w.group("/processing"));
  }));
  EXPECT_EQ(onlyUnits.trials.count(), 0);
  EXPECT_THAT(onlyUnits.series, IsEmpty());
  EXPECT_EQ(*onlyUnits.chooseSeries(""), nullptr);
  EXPECT_FALSE(onlyUnits.chooseSeries("hand_vel").isOk());

  Recording onlyBehavior =
      openGood(makeFile(folder / "b.nwb", [](Hdf5Writer &w) {
        addSeries(w, "/processing/behavior/hand_vel", {0, 1}, {1, 2, 3, 4});
      }));
  EXPECT_EQ(onlyBehavior.units.count(), 0);
  EXPECT_THAT(onlyBehavior.warnings,
              ElementsAre(HasSubstr("/units is missing")));

  Recording noSpikes = openGood(makeFile(folder / "e.nwb", [](Hdf5Writer &w) {
    must(w.integers("/units/id", std::vector<int64_t>{1, 2}, {2}));
    addTrials(w, {{0, 1}});
  }));
  EXPECT_FALSE(noSpikes.units.canBeDecoded());
  EXPECT_THAT(findSegments(noSpikes, nullptr).status().message(),
              HasSubstr("/units/spike_times: is missing"));

  EXPECT_THAT(openBad(makeFile(folder / "c.nwb",
                               [](Hdf5Writer &w) { addTrials(w, {{0, 1}}); })),
              HasSubstr("/units: is missing or empty"));
  EXPECT_THAT(openBad(makeFile(folder / "d.nwb",
                               [](Hdf5Writer &w) { must(w.group("/x")); })),
              HasSubstr("holds no recording"));
}

TEST(Nwb, TrialColumns) {
  TemporaryFolder folder;
  Recording recording = openGood(makeFile(folder / "a.nwb", [](Hdf5Writer &w) {
    addUnits(w, {1}, {{0.1}});
    std::string table = "/intervals/trials";
    addTrials(w, {{3, 4}, {0, 1}, {kNan, 2}, {5, 5}});
    must(w.strings(table + "/split", {"train", "val", "none", "test"},
                   Hdf5Text::Fixed));
    must(w.bools(table + "/success", {true, false, true, true}));
    must(w.doubles(table + "/move_onset_time",
                   std::vector<double>{3.5, kNan, 1, 1}, {4}));
    must(w.strings(table + "/result", {"R", "A", "R", "F"}));
    must(w.doubles(table + "/target_pos", std::vector<double>{1, 2, 3}, {3}));
    must(w.integers(table + "/target_pos_index",
                    std::vector<int64_t>{0, 1, 2, 3}, {4}));
    must(w.doubles(table + "/pair", std::vector<double>(8), {4, 2}));
  }));
  const Trials &trials = recording.trials;
  ASSERT_EQ(trials.count(), 4);
  EXPECT_THAT(trials.split, ElementsAre("train", "val", "none", "test"));
  ASSERT_EQ(trials.columns.size(), 3u);
  EXPECT_EQ(trials.columns[0].name, "move_onset_time");
  EXPECT_EQ(trials.columns[0].numbers[0], 3.5);
  EXPECT_EQ(trials.columns[1].name, "result");
  EXPECT_EQ(trials.columns[1].texts[3], "F");
  EXPECT_EQ(trials.columns[2].numbers[1], 0);
  EXPECT_THAT(trials.order, ElementsAre(1, 0));
  EXPECT_EQ(trials.at(3.0), 0);
  EXPECT_EQ(trials.at(0.999), 1);
  EXPECT_EQ(trials.at(1.0), std::nullopt);
  EXPECT_EQ(trials.at(-1.0), std::nullopt);
  EXPECT_THAT(recording.warnings, ElementsAre(HasSubstr("2 of 4 trials")));
}

TEST(Nwb, SeriesByTimestampsByRateAndInContainers) {
  TemporaryFolder folder;
  std::string b = "/processing/behavior";
  Recording recording = openGood(makeFile(folder / "a.nwb", [&](Hdf5Writer &w) {
    addUnits(w, {1}, {{0.1}});
    addSeries(w, b + "/hand_vel", {1, 1.5, 2}, {1, 2, 3, kNan, 5, 6});
    must(w.attribute(b + "/hand_vel/data", "conversion", 10.0));
    must(w.attribute(b + "/hand_vel/data", "offset", 0.5));
    must(
        w.doubles(b + "/Position/pos/data", std::vector<double>{7, 8, 9}, {3}));
    must(w.number(b + "/Position/pos/starting_time", 2.0));
    must(w.attribute(b + "/Position/pos/starting_time", "rate", 4.0));
    addSeries(w, b + "/linked", {0, 1}, {1, 2, 3, 4});
    must(w.softLink(b + "/shared/data", b + "/linked/data"));
    must(w.softLink(b + "/shared/timestamps", b + "/linked/timestamps"));
    must(w.softLink(b + "/loop", b));
    must(w.doubles(b + "/short/data", std::vector<double>{1, 2}, {2}));
    must(w.doubles(b + "/short/timestamps", std::vector<double>{1}, {1}));
    must(w.strings(b + "/words/data", {"a"}));
    must(w.doubles(b + "/timeless/data", std::vector<double>{1}, {1}));
  }));
  auto find = [&](const std::string &name) {
    Result<const SeriesInfo *> info = recording.chooseSeries(name);
    EXPECT_TRUE(info.isOk()) << info.status().message();
    return *info;
  };
  Result<Series> velocity = loadSeries(*find(""));
  ASSERT_TRUE(velocity.isOk()) << velocity.status().message();
  EXPECT_EQ(velocity->info.name, "hand_vel");
  EXPECT_EQ(velocity->info.unit, "mm/s");
  EXPECT_EQ(velocity->values[1], 20.5);
  EXPECT_FALSE(velocity->isMissing(0));
  EXPECT_TRUE(velocity->isMissing(1));
  EXPECT_EQ(velocity->medianStep(), 0.5);
  Result<Series> position = loadSeries(*find("pos"));
  ASSERT_TRUE(position.isOk());
  EXPECT_THAT(position->time, ElementsAre(2.0, 2.25, 2.5));
  EXPECT_EQ(position->info.columns, 1);
  Result<Series> shared = loadSeries(*find("shared"));
  ASSERT_TRUE(shared.isOk());
  EXPECT_THAT(shared->values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(loadSeries(*find("short")).status().message(),
              HasSubstr("1 timestamps for 2 rows"));
  EXPECT_THAT(loadSeries(*find("words")).status().message(),
              HasSubstr("not numbers"));
  EXPECT_THAT(loadSeries(*find("timeless")).status().message(),
              HasSubstr("neither timestamps nor"));
  Result<const SeriesInfo *> wrong = recording.chooseSeries("hand_vell");
  ASSERT_FALSE(wrong.isOk());
  EXPECT_THAT(wrong.status().message(), HasSubstr("did you mean hand_vel?"));
}

TEST(Nwb, TheSoleSeriesWithTwoColumnsIsTheDefault) {
  TemporaryFolder folder;
  std::string b = "/processing/behavior";
  auto fill = [&](Hdf5Writer &w) {
    addUnits(w, {1}, {{0.1}});
    addSeries(w, b + "/speed", {0, 1}, {1, 2});
    addSeries(w, b + "/velocity", {0, 1}, {1, 2, 3, 4});
  };
  Recording one = openGood(makeFile(folder / "a.nwb", fill));
  EXPECT_EQ((*one.chooseSeries(""))->name, "velocity");
  Recording two = openGood(makeFile(folder / "b.nwb", [&](Hdf5Writer &w) {
    fill(w);
    addSeries(w, b + "/other", {0, 1}, {1, 2, 3, 4});
  }));
  EXPECT_EQ(*two.chooseSeries(""), nullptr);
}

TEST(Nwb, FallingTimestampsAreAnError) {
  TemporaryFolder folder;
  Recording recording = openGood(makeFile(folder / "a.nwb", [&](Hdf5Writer &w) {
    addUnits(w, {1}, {{0.1}});
    addSeries(w, "/processing/behavior/hand_vel", {0, 2, 1}, {1, 2, 3});
  }));
  Result<Series> series = loadSeries(recording.series[0]);
  ASSERT_FALSE(series.isOk());
  EXPECT_THAT(series.status().message(),
              HasSubstr("/processing/behavior/hand_vel/timestamps: row 2"));
}

TEST(Nwb, ASecondFileSuppliesBehaviourAndTrials) {
  TemporaryFolder folder;
  std::string spikes = makeFile(
      folder / "a.nwb", [](Hdf5Writer &w) { addUnits(w, {1}, {{0.1}}); });
  std::string behavior = makeFile(folder / "b.nwb", [](Hdf5Writer &w) {
    addTrials(w, {{0, 1}}, {"val"});
    addSeries(w, "/processing/behavior/hand_vel", {0, 1}, {1, 2, 3, 4});
  });
  Recording both = openGood(spikes, behavior);
  EXPECT_EQ(both.trials.count(), 1);
  ASSERT_EQ(both.series.size(), 1u);
  EXPECT_EQ(both.series[0].file, behavior);
  EXPECT_TRUE(loadSeries(both.series[0]).isOk());
  Result<Recording> none = Recording::open(spikes, spikes);
  ASSERT_FALSE(none.isOk());
  EXPECT_THAT(none.status().message(),
              HasSubstr("/processing/behavior: holds no series"));
}

TEST(Nwb, TheGenuineArchiveFile) {
  BETZ_NEED_SHARED(path, "data/sub-Jenkins_ses-small_desc-test_ecephys.nwb");
  Recording recording = openGood(path);
  EXPECT_EQ(recording.nwbVersion, "2.4.0");
  EXPECT_EQ(recording.units.count(), 107);
  EXPECT_EQ(recording.units.spikeTimes.size(), 32897u);
  EXPECT_EQ(recording.units.ids[0], 1011);
  EXPECT_EQ(std::count(recording.units.heldOut.begin(),
                       recording.units.heldOut.end(), true),
            0);
  EXPECT_EQ(recording.units.observed.size(), 100u);
  EXPECT_EQ(recording.trials.count(), 100);
  EXPECT_EQ(recording.trials.split[99], "test");
  ASSERT_EQ(recording.trials.columns.size(), 1u);
  EXPECT_EQ(recording.trials.columns[0].name, "move_onset_time");
  EXPECT_THAT(recording.series, IsEmpty());
  EXPECT_THAT(recording.warnings, IsEmpty());
}

TEST(Nwb, EverySharedRecordingOpens) {
  BETZ_NEED_SHARED(folder, "data");
  int files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    Recording recording = openGood(entry.path());
    EXPECT_GT(recording.units.count(), 0);
    EXPECT_GT(recording.trials.count(), 0);
    EXPECT_THAT(recording.warnings, IsEmpty()) << entry.path();
    Result<const SeriesInfo *> series = recording.chooseSeries("");
    ASSERT_TRUE(series.isOk());
    if (*series) {
      Result<Series> loaded = loadSeries(**series);
      ASSERT_TRUE(loaded.isOk()) << loaded.status().message();
      EXPECT_EQ(loaded->info.name, "hand_vel");
    }
    ++files;
  }
  EXPECT_GT(files, 0);
}

} // namespace
