#include "runtime/io/Synth.h"
#include "runtime/base/File.h"
#include "runtime/io/Hdf5.h"
#include "runtime/io/Windows.h"
#include "tests/runtime/io/OddFiles.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <gmock/gmock.h>
#include <numeric>
#include <sys/resource.h>

using namespace betz;
using namespace betz::test;
using testing::IsEmpty;

namespace {

Recording synthesize(const std::filesystem::path &path, SynthSpec spec) {
  Status status = synthesizeSession(spec, path);
  EXPECT_TRUE(status.isOk()) << status.message();
  Result<Recording> recording = Recording::open(path);
  EXPECT_TRUE(recording.isOk()) << recording.status().message();
  return std::move(*recording);
}

TEST(Synth, TheSeedDecidesEveryByte) {
  TemporaryFolder folder;
  must(synthesizeSession({7, 5, 3}, folder / "a.nwb"));
  must(synthesizeSession({7, 5, 3}, folder / "b.nwb"));
  must(synthesizeSession({8, 5, 3}, folder / "c.nwb"));
  std::string bytes = *readTextFile(folder / "a.nwb");
  EXPECT_EQ(bytes, *readTextFile(folder / "b.nwb"));
  EXPECT_NE(bytes, *readTextFile(folder / "c.nwb"));
}

TEST(Synth, HasTheLayoutOfATrainingFile) {
  TemporaryFolder folder;
  Recording recording = synthesize(folder / "a.nwb", {3, 50, 20});
  EXPECT_THAT(recording.warnings, IsEmpty());
  EXPECT_EQ(recording.nwbVersion, "2.4.0");
  EXPECT_EQ(recording.units.count(), 20);
  EXPECT_EQ(recording.units.ids[0], 1011);
  EXPECT_EQ(recording.units.ids[10], 2011);
  EXPECT_EQ(recording.units.observed, recording.trials.times);
  auto count = [&](const char *split) {
    return std::count(recording.trials.split.begin(),
                      recording.trials.split.end(), split);
  };
  EXPECT_EQ(count("train"), 30);
  EXPECT_EQ(count("val"), 10);
  EXPECT_EQ(count("test"), 10);
  EXPECT_EQ(recording.trials.columns.size(), 5u);
  for (int64_t row = 0; row < 20; ++row)
    for (double spike : recording.units.spikes(row))
      ASSERT_TRUE(recording.trials.at(spike));
  Result<Series> velocity = loadSeries(**recording.chooseSeries(""));
  ASSERT_TRUE(velocity.isOk());
  EXPECT_EQ(velocity->info.name, "hand_vel");
  EXPECT_NEAR(velocity->medianStep(), 0.001, 1e-9);
  Result<Segmentation> found = findSegments(recording, &*velocity);
  ASSERT_TRUE(found.isOk());
  EXPECT_EQ(found->segments.size(), 50u);
}

TEST(Synth, VelocityIsTheSlopeOfPosition) {
  TemporaryFolder folder;
  Recording recording = synthesize(folder / "a.nwb", {11, 4, 2});
  Result<Series> velocity = loadSeries(**recording.chooseSeries("hand_vel"));
  Result<Series> position = loadSeries(**recording.chooseSeries("hand_pos"));
  ASSERT_TRUE(velocity.isOk() && position.isOk());
  double fastest = 0;
  for (size_t row = 1; row + 1 < velocity->time.size(); ++row) {
    double step = velocity->time[row + 1] - velocity->time[row - 1];
    if (step > 0.0021)
      continue;
    for (size_t column = 0; column < 2; ++column) {
      double slope = (position->values[2 * row + 2 + column] -
                      position->values[2 * row - 2 + column]) /
                     step;
      // Second-order error of a central difference over 2 ms.
      ASSERT_NEAR(slope, velocity->values[2 * row + column], 0.1);
    }
    fastest = std::max(fastest, std::hypot(velocity->values[2 * row],
                                           velocity->values[2 * row + 1]));
  }
  EXPECT_GT(fastest, 300);
  EXPECT_LT(fastest, 700);
}

TEST(Synth, UnitsPreferADirection) {
  TemporaryFolder folder;
  Recording recording = synthesize(folder / "a.nwb", {5, 200, 40});
  const Trials &trials = recording.trials;
  auto column = [&](const char *name) -> const std::vector<double> & {
    for (const TrialColumn &c : trials.columns)
      if (c.name == name)
        return c.numbers;
    ADD_FAILURE() << name;
    return trials.columns[0].numbers;
  };
  const std::vector<double> &onset = column("move_onset_time");
  const std::vector<double> &direction = column("direction");
  // The best direction of even trials is the better one in odd trials.
  double best = 0, opposite = 0;
  for (int64_t unit = 0; unit < recording.units.count(); ++unit) {
    double sums[2][8] = {}, seen[2][8] = {};
    std::span<const double> spikes = recording.units.spikes(unit);
    for (size_t trial = 0; trial < onset.size(); ++trial) {
      auto from =
          std::lower_bound(spikes.begin(), spikes.end(), onset[trial] - 0.1);
      auto to = std::lower_bound(from, spikes.end(), onset[trial] + 0.35);
      sums[trial % 2][size_t(direction[trial])] += double(to - from);
      seen[trial % 2][size_t(direction[trial])] += 1;
    }
    size_t top = 0;
    for (size_t d = 0; d < 8; ++d)
      if (sums[0][d] / seen[0][d] > sums[0][top] / seen[0][top])
        top = d;
    best += sums[1][top] / seen[1][top];
    opposite += sums[1][(top + 4) % 8] / seen[1][(top + 4) % 8];
  }
  EXPECT_GT(best, 2 * opposite);
}

TEST(Synth, SizesOutOfRange) {
  TemporaryFolder folder;
  for (SynthSpec spec :
       {SynthSpec{1, 0, 1}, SynthSpec{1, 1, 0},
        SynthSpec{1, 1, kMaxSynthUnits + 1}, SynthSpec{1, -1, 1}})
    EXPECT_FALSE(synthesizeSession(spec, folder / "x.nwb").isOk());
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
  Recording smallest = synthesize(folder / "a.nwb", {1, 1, 1});
  EXPECT_EQ(smallest.trials.count(), 1);
}

/// The size of MC_Maze: 2295 trials × 182 units, 600 ms at a stride of 50 ms.
TEST(Scale, AFullSessionIsIndexedInSecondsAndStreamedInAGigabyte) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "times and memory mean nothing under AddressSanitizer";
#endif
#endif
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  TemporaryFolder folder;
  Clock::time_point start = Clock::now();
  Recording recording = synthesize(folder / "full.nwb", {1, 2295, 182});
  std::printf("synthesized and opened in %.2f s\n", since(start));
  start = Clock::now();
  Result<Series> velocity = loadSeries(**recording.chooseSeries(""));
  ASSERT_TRUE(velocity.isOk());
  Result<Segmentation> found = findSegments(recording, &*velocity);
  ASSERT_TRUE(found.isOk());
  Result<WindowIndex> index =
      WindowIndex::build(found->segments, {5, 120, 10, 8, false});
  ASSERT_TRUE(index.isOk());
  std::vector<int32_t> rows(182);
  std::iota(rows.begin(), rows.end(), 0);
  WindowReader reader(*index, recording.units, rows, &*velocity);
  double indexed = since(start);
  EXPECT_GT(index->size(), 100000);
  EXPECT_LE(indexed, 10);
  start = Clock::now();
  WindowBatch batch;
  std::vector<int64_t> numbers;
  int64_t events = 0;
  for (int64_t i = 0; i < index->size(); i += 256) {
    numbers.resize(size_t(std::min<int64_t>(256, index->size() - i)));
    std::iota(numbers.begin(), numbers.end(), i);
    ASSERT_TRUE(reader.read(numbers, batch).isOk());
    events += batch.rowSplits.back();
    ASSERT_FALSE(std::isnan(batch.target[0]));
  }
  double streamed = since(start);
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%lld windows indexed in %.2f s, %lld events streamed in %.2f s, "
              "%ld MB at most\n",
              static_cast<long long>(index->size()), indexed,
              static_cast<long long>(events), streamed, usage.ru_maxrss / 1024);
  EXPECT_LE(usage.ru_maxrss, 1024 * 1024);
}

} // namespace
