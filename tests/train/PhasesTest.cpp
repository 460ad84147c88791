#include "train/data/Phases.h"
#include "runtime/io/Synth.h"
#include "tests/train/SmallRecordings.h"

#include <gmock/gmock.h>

using namespace betz;
using namespace betz::test;
using namespace betz::train;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

double centre(const Dataset &dataset, const Sample &sample) {
  const Interval &trial = dataset.session(0).trials.times[size_t(
      dataset.session(0).pieces[size_t(sample.piece)].trial)];
  return trial.start + (double(dataset.binInPiece(sample)) + 0.5) * kSmallBin;
}

double column(const Dataset &dataset, const Sample &sample, const char *name) {
  const Session &session = dataset.session(0);
  for (const TrialColumn &column : session.trials.columns)
    if (column.name == name)
      return column.numbers[size_t(session.pieces[size_t(sample.piece)].trial)];
  return NAN;
}

} // namespace

TEST(Phases, FollowTheTrialsEvents) {
  TemporaryFolder folder;
  ASSERT_TRUE(
      synthesizeSession({.seed = 5, .trials = 10, .units = 4}, folder / "s.nwb")
          .isOk());
  Dataset dataset = openDataset({folder / "s.nwb"});
  const Phases phases = phasesOf(dataset, Split::Train);
  EXPECT_THAT(phases.names,
              ElementsAre("before go", "go to onset", "after onset"));
  std::span<const Sample> samples = dataset.samples(Split::Train);
  const RowMask aligned =
      alignedRows(dataset, Split::Train, "move_onset_time", -250, 450);
  int64_t inside = 0;
  for (size_t row = 0; row < samples.size(); ++row) {
    const double time = centre(dataset, samples[row]);
    const double onset = column(dataset, samples[row], "move_onset_time");
    EXPECT_EQ(phases.rows[0][row],
              time < column(dataset, samples[row], "go_cue_time"));
    EXPECT_EQ(phases.rows[2][row], time >= onset);
    EXPECT_EQ(phases.rows[0][row] + phases.rows[1][row] + phases.rows[2][row],
              1);
    EXPECT_EQ(aligned[row], time >= onset - 0.25 && time < onset + 0.45);
    inside += aligned[row];
  }
  EXPECT_NEAR(double(inside), 6 * 0.7 / kSmallBin, 6);
}

TEST(Phases, WithoutEventsAreThirds) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(10, 3, 71);
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  const Phases phases = phasesOf(dataset, Split::Val);
  EXPECT_THAT(phases.names,
              ElementsAre("first third", "middle third", "last third"));
  std::span<const Sample> samples = dataset.samples(Split::Val);
  for (size_t row = 0; row < samples.size(); ++row) {
    const Interval &trial = made.trials[size_t(samples[row].piece)];
    const double part =
        (centre(dataset, samples[row]) - trial.start) / trial.seconds();
    EXPECT_EQ(phases.rows[0][row], part < 1.0 / 3);
    EXPECT_EQ(phases.rows[2][row], part >= 2.0 / 3);
  }
  const RowMask none =
      alignedRows(dataset, Split::Val, "move_onset_time", -1e9, 1e9);
  EXPECT_EQ(std::count(none.begin(), none.end(), true), 0);
  const RowMask first = alignedRows(dataset, Split::Val, "start_time", 0, 100);
  EXPECT_EQ(std::count(first.begin(), first.end(), true), 2 * 5);
}

TEST(Phases, BlocksHaveNone) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(40, 3, 72);
  made.trials.clear();
  made.observed = {{made.time.front() - 0.01, made.time.back() + 0.01}};
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  EXPECT_THAT(phasesOf(dataset, Split::Train).names, IsEmpty());
}
