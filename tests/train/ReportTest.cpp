#include "train/protocol/Report.h"
#include "runtime/io/Synth.h"
#include "tests/train/SmallRecordings.h"

#include <gmock/gmock.h>

using namespace betz;
using namespace betz::test;
using namespace betz::train;
using testing::HasSubstr;

namespace {

ProtocolReport describe(const Dataset &dataset) {
  Result<ProtocolReport> report = describeProtocol(dataset);
  EXPECT_TRUE(report.isOk()) << report.status().message();
  return std::move(*report);
}

double testR2(const ProtocolReport &report, const std::string &name,
              size_t session = 0) {
  for (const BaselineScore &score : report.sessions[session].scores)
    if (score.name == name)
      return score.testR2;
  ADD_FAILURE() << "no score " << name;
  return 0;
}

} // namespace

TEST(ProtocolReport, CountsAndScores) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(40, 20, 51);
  const ProtocolReport report =
      describe(openDataset({made.write(folder / "a.nwb")}));
  const SessionReport &session = report.sessions[0];
  EXPECT_THAT(session.pieces, testing::ElementsAre(24, 8, 8));
  EXPECT_EQ(session.samples[0] + session.samples[1] + session.samples[2],
            int64_t(made.time.size()));
  EXPECT_EQ(session.units, 20);
  EXPECT_EQ(session.targetVariance.size(), 2u);
  EXPECT_GT(session.restShare, 0);
  EXPECT_LT(session.restShare, 0.3);
  EXPECT_NEAR(testR2(report, "zero"), 0, 0.3);
  EXPECT_LT(testR2(report, "mean"), 1e-9);
  EXPECT_LT(testR2(report, "clock only"), 0.1);
  EXPECT_GT(testR2(report, "ridge"), 0.55);
  EXPECT_LT(testR2(report, "ridge, rotated"), 0.1);
  const std::string text = toText(report);
  EXPECT_THAT(text, HasSubstr("15 bins of 20 ms (300 ms)"));
  EXPECT_THAT(text, HasSubstr("trials train 24, val 8, test 8"));
  const Json json = toJson(report);
  EXPECT_EQ(json["sessions"][0]["trials"]["train"], 24);
  EXPECT_DOUBLE_EQ(json["sessions"][0]["test_r2"]["ridge"]["all"],
                   testR2(report, "ridge"));
}

TEST(ProtocolReport, WithoutBehaviourSaysSo) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(10, 5, 52);
  made.time.clear();
  const ProtocolReport report =
      describe(openDataset({made.write(folder / "a.nwb")}));
  EXPECT_TRUE(report.sessions[0].scores.empty());
  EXPECT_THAT(toText(report), HasSubstr("no behaviour"));
}

TEST(ProtocolReport, SynthesizedSession) {
  TemporaryFolder folder;
  ASSERT_TRUE(synthesizeSession({.seed = 3, .trials = 30, .units = 32},
                                folder / "s.nwb")
                  .isOk());
  const ProtocolReport report = describe(openDataset({folder / "s.nwb"}));
  EXPECT_DOUBLE_EQ(report.spec.binMs, 20);
  EXPECT_THAT(report.sessions[0].pieces, testing::ElementsAre(18, 6, 6));
  EXPECT_GT(testR2(report, "ridge"), 0.6);
}

/// The reference scores are those of an independent ridge without a search
/// for alpha; with one, short recordings gain.
TEST(ProtocolReport, RealRecordingsScoreWhatOthersFound) {
  BETZ_NEED_SHARED(folder, "data");
  struct Reference {
    const char *file;
    double ridge;
    double gain;
  };
  for (const Reference &want :
       {Reference{"monkey_reach_20ms", 0.824, 0.01},
        Reference{"m1_continuous_50ms", 0.780, 0.01},
        Reference{"mihi_20140303_100ms", 0.817, 0.03},
        Reference{"chewie_20131003_50ms", 0.673, 0.08}}) {
    const ProtocolReport report =
        describe(openDataset({folder / fmt::format("{}.nwb", want.file)}));
    EXPECT_GT(testR2(report, "ridge"), want.ridge - 0.01) << want.file;
    EXPECT_LT(testR2(report, "ridge"), want.ridge + want.gain) << want.file;
    EXPECT_LT(testR2(report, "ridge, rotated"), 0.05) << want.file;
  }
}
