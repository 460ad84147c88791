#include "train/protocol/Lint.h"
#include "tests/train/SmallRecordings.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace betz;
using namespace betz::test;
using namespace betz::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

class Lint : public testing::Test {
protected:
  Lint() { makeTrials(20, 6, 61).write(folder / "a.nwb"); }

  std::filesystem::path writeText(const std::string &lines) {
    const std::filesystem::path path = folder / "p.toml";
    std::ofstream(path) << lines;
    return path;
  }
  LintReport lint(const std::string &lines,
                  const std::string &recording = "a.nwb") {
    Result<ProtocolDescription> protocol = ProtocolDescription::read(
        writeText(fmt::format("recordings = [\"{}\"]\n{}", recording, lines)));
    EXPECT_TRUE(protocol.isOk()) << protocol.status().message();
    Result<LintReport> report = lintProtocol(*protocol);
    EXPECT_TRUE(report.isOk()) << report.status().message();
    return std::move(*report);
  }
  std::string readError(const std::string &lines) {
    return ProtocolDescription::read(writeText(lines)).status().message();
  }

  TemporaryFolder folder;
};

std::vector<std::string> rules(const LintReport &report) {
  std::vector<std::string> out;
  for (const Fault &fault : report.faults)
    out.push_back(fault.rule);
  return out;
}

} // namespace

TEST_F(Lint, TheRightProtocolPasses) {
  EXPECT_THAT(rules(lint("")), IsEmpty());
  EXPECT_THAT(rules(lint("smoothing = \"causal\"\nsmoothing_ms = 50\n"
                         "padding = \"none\"\nsplit = \"trial\"\n"
                         "scale = \"train\"\nbehavior_rows = \"time\"")),
              IsEmpty());
}

TEST_F(Lint, FutureData) {
  const LintReport middle = lint("target = \"middle\"");
  EXPECT_THAT(rules(middle), ElementsAre("future-data"));
  EXPECT_EQ(middle.faults[0].value, 140); // 7 of 15 bins of 20 ms
  EXPECT_EQ(lint("target = \"first\"").faults[0].value, 280);
  const LintReport smooth =
      lint("smoothing = \"symmetric\"\nsmoothing_ms = 50");
  EXPECT_THAT(rules(smooth), ElementsAre("future-data"));
  EXPECT_EQ(smooth.faults[0].value, 150);
}

TEST_F(Lint, WindowsSplitAtRandomOverlap) {
  const LintReport report = lint("split = \"window\"");
  EXPECT_THAT(rules(report), ElementsAre("overlapping-splits"));
  // 29 bins on either side, three in five of them train.
  EXPECT_GT(report.faults[0].value, 0.99);
  // Windows that lie apart share nothing, however they are split.
  EXPECT_THAT(rules(lint("split = \"window\"\nhistory_bins = 5\n"
                         "stride_bins = 5\npadding = \"none\"")),
              IsEmpty());
}

TEST_F(Lint, WindowsThatBeginInTheTrialBeforeOverlap) {
  // With gaps between trials no window can reach the trial before.
  EXPECT_THAT(rules(lint("windows_cross_trials = true")), IsEmpty());
  SmallRecording made = makeTrials(20, 6, 62);
  made.observed = {{made.trials.front().start, made.trials.back().stop}};
  for (size_t trial = 0; trial + 1 < made.trials.size(); ++trial)
    made.trials[trial].stop = made.trials[trial + 1].start;
  made.write(folder / "b.nwb");
  const LintReport report = lint("windows_cross_trials = true", "b.nwb");
  EXPECT_THAT(rules(report), ElementsAre("overlapping-splits"));
  EXPECT_LT(report.faults[0].value, 0.5);
}

TEST_F(Lint, RowsByNumberSlipAtGaps) {
  const LintReport report = lint("behavior_rows = \"number\"");
  EXPECT_THAT(rules(report), ElementsAre("gap-blind-behavior"));
  EXPECT_NEAR(report.faults[0].value, 19 * 0.5, 1e-6); // 19 gaps
  EXPECT_THAT(report.faults[0].message, HasSubstr("9.500 s off"));
}

TEST_F(Lint, InterpolationInventsBehaviour) {
  SmallRecording made = makeTrials(20, 6, 61);
  const double seconds = made.time.back() - made.time.front();
  const LintReport report = lint("behavior_rows = \"interpolated\"");
  EXPECT_THAT(rules(report), ElementsAre("gap-blind-behavior"));
  EXPECT_NEAR(report.faults[0].value, 19 * 0.5 / seconds, 1e-6);
}

TEST_F(Lint, HeldOutStatistics) {
  EXPECT_THAT(rules(lint("scale = \"all\"")),
              ElementsAre("held-out-statistics"));
}

TEST_F(Lint, TimeToldByPadding) {
  SmallRecording made = makeTrials(40, 6, 63);
  // Every reach goes the same way: the clock knows it all.
  for (size_t row = 0; row < made.time.size(); ++row) {
    const Interval *trial = nullptr;
    for (const Interval &one : made.trials)
      if (one.start < made.time[row] && made.time[row] < one.stop)
        trial = &one;
    made.velocity[2 * row] = made.time[row] - trial->start;
    made.velocity[2 * row + 1] = -made.velocity[2 * row];
  }
  made.write(folder / "b.nwb");
  const LintReport report = lint("", "b.nwb");
  EXPECT_THAT(rules(report), ElementsAre("time-from-padding"));
  EXPECT_GT(report.faults[0].value, 0.9);
  EXPECT_THAT(rules(lint("padding = \"none\"", "b.nwb")), IsEmpty());
  EXPECT_THAT(rules(lint("clock_r2_limit = 1", "b.nwb")), IsEmpty());
}

TEST_F(Lint, FaultsAddUp) {
  const LintReport report =
      lint("target = \"middle\"\nsplit = \"window\"\nscale = \"all\"");
  EXPECT_EQ(report.faults.size(), 3u);
  EXPECT_EQ(toJson(report)["ok"], false);
  EXPECT_EQ(toJson(report)["faults"].size(), 3u);
}

TEST_F(Lint, BadDescriptionsNameTheLine) {
  EXPECT_THAT(readError("bin_ms = 20"), HasSubstr("names no recording"));
  EXPECT_THAT(readError("recordings = [\"a.nwb\"]\nhistory_bin = 3"),
              HasSubstr("p.toml:2: history_bin: unknown key; did you mean "
                        "\"history_bins\"?"));
  EXPECT_THAT(readError("recordings = [\"a.nwb\"]\n\nsplit = \"trials\""),
              HasSubstr("p.toml:3: split: must be one of: trial, window"));
  EXPECT_THAT(readError("recordings = \"a.nwb\""),
              HasSubstr("must be an array of file names"));
  EXPECT_THAT(readError("bin_ms = \"x\"\n"), HasSubstr("must be a number"));
  EXPECT_THAT(readError("bin_ms == 3"), HasSubstr("not valid TOML"));
}
