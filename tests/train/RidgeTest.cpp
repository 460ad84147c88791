#include "train/baselines/Ridge.h"
#include "tests/train/SmallRecordings.h"
#include "train/baselines/LaggedCounts.h"

#include <gmock/gmock.h>
#include <random>

using namespace betz;
using namespace betz::test;
using namespace betz::train;
using testing::HasSubstr;

namespace {

/// The sums by their definition.
LinearSums sumDirectly(const Session &session, std::span<const int64_t> bins,
                       int32_t lags, int32_t binsPerLag) {
  LaggedCounts counts(session, lags, binsPerLag);
  LinearSums sums(counts.columns(), session.columns());
  sums.add(counts.read(bins), behaviorRows(session, bins));
  return sums;
}

void expectSameSums(const Session &session, std::span<const int64_t> bins,
                    int32_t lags, int32_t binsPerLag) {
  const LinearSums want = sumDirectly(session, bins, lags, binsPerLag);
  const LinearSums got = sumLaggedCounts(session, bins, lags, binsPerLag);
  const Eigen::MatrixXd difference =
      (want.gram - got.gram).triangularView<Eigen::Lower>();
  // Counts are whole numbers, so both sums are exact.
  EXPECT_EQ(difference.cwiseAbs().maxCoeff(), 0);
  EXPECT_LT((want.cross - got.cross).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_EQ(want.features, got.features);
  EXPECT_EQ(want.rows, got.rows);
}

} // namespace

TEST(LaggedCounts, AreTheSpikesOfABin) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(5, 4, 31);
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  const Session &session = dataset.session(0);
  const int64_t bin = 4;
  const Eigen::MatrixXd counts =
      LaggedCounts(session, 3, 2).read(std::span(&bin, 1));
  for (int64_t lag = 0; lag < 3; ++lag)
    for (int64_t unit = 0; unit < 4; ++unit) {
      const double stop =
          made.trials[0].start + double(bin + 1 - 2 * lag) * kSmallBin;
      const double start = std::max(stop - 2 * kSmallBin, made.trials[0].start);
      int64_t spikes = 0;
      for (double time : made.spikes[size_t(unit)])
        spikes += time >= start && time < stop;
      EXPECT_EQ(counts(0, lag * 4 + unit), double(spikes));
    }
}

TEST(Ridge, SumsByMovingBlocksAreTheDirectSums) {
  TemporaryFolder folder;
  Dataset dataset = openDataset(
      {makeTrials(12, 5, std::random_device{}()).write(folder / "a.nwb")});
  const Session &session = dataset.session(0);
  std::vector<int64_t> bins = sampleBins(dataset, 0, Split::Train);
  expectSameSums(session, bins, 6, 1);
  expectSameSums(session, bins, 5, 3);
  // Holes, as NaN rows and strides leave them.
  std::mt19937 random(3);
  std::erase_if(bins, [&](int64_t) { return random() % 4 == 0; });
  expectSameSums(session, bins, 6, 1);
  expectSameSums(session, bins, 7, 2);
  // Long runs with few holes go by blocks, as the first two do.
  bins = sampleBins(dataset, 0, Split::Train);
  bins.erase(bins.begin() + 30);
  expectSameSums(session, bins, 4, 1);
}

TEST(Ridge, FindsTheCode) {
  TemporaryFolder folder;
  Dataset dataset =
      openDataset({makeTrials(60, 30, 33).write(folder / "a.nwb")});
  Result<RidgeDecoder> ridge = RidgeDecoder::fit(dataset);
  ASSERT_TRUE(ridge.isOk()) << ridge.status().message();
  const Table target = behaviorOf(dataset, Split::Test);
  const double r2 =
      score(*ridge->predict(dataset, Split::Test), target).meanR2();
  EXPECT_GT(r2, 0.75);
  EXPECT_GT(ridge->choice(0).valR2, 0.75);
  // Several bins average the noise of one.
  EXPECT_GT(ridge->choice(0).lags, 1);
}

TEST(Ridge, LongHistoriesAreSummedToFifteenLags) {
  TemporaryFolder folder;
  DataSpec spec;
  spec.binMs = 5;
  spec.historyBins = 120;
  spec.strideBins = 10;
  Dataset dataset =
      openDataset({makeTrials(20, 6, 34).write(folder / "a.nwb")}, spec);
  Result<RidgeDecoder> ridge = RidgeDecoder::fit(dataset);
  ASSERT_TRUE(ridge.isOk()) << ridge.status().message();
  EXPECT_EQ(ridge->choice(0).binsPerLag, 10); // whole strides
  EXPECT_LE(ridge->choice(0).lags, 12);
}

TEST(Ridge, SessionsAreFittedApart) {
  TemporaryFolder folder;
  const std::string a = makeTrials(30, 12, 35).write(folder / "a.nwb");
  const std::string b = makeTrials(30, 15, 36).write(folder / "b.nwb");
  Dataset both = openDataset({a, b}), second = openDataset({b});
  Result<RidgeDecoder> ofBoth = RidgeDecoder::fit(both);
  Result<RidgeDecoder> ofSecond = RidgeDecoder::fit(second);
  ASSERT_TRUE(ofBoth.isOk() && ofSecond.isOk());
  const Table all = *ofBoth->predict(both, Split::Val);
  const Table part = *ofSecond->predict(second, Split::Val);
  ASSERT_EQ(all.rows, int64_t(both.samples(Split::Val).size()));
  const std::vector<double> tail(
      all.values.end() - std::ptrdiff_t(part.values.size()), all.values.end());
  EXPECT_EQ(tail, part.values);
}

TEST(Ridge, NeedsBehaviour) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(10, 3, 37);
  made.time.clear();
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  EXPECT_THAT(RidgeDecoder::fit(dataset).status().message(),
              HasSubstr("no behaviour to fit"));
}
