#include "train/baselines/Kalman.h"
#include "tests/train/SmallRecordings.h"

#include <gmock/gmock.h>

using namespace betz;
using namespace betz::test;
using namespace betz::train;

namespace {

Eigen::MatrixXd one(double value) {
  return Eigen::MatrixXd::Constant(1, 1, value);
}

} // namespace

TEST(Kalman, OneStateOneUnitByHand) {
  KalmanModel model;
  model.transition = one(0.5);
  model.transitionNoise = one(1);
  model.observation = one(2);
  model.countNoise = one(4);
  model.countMean = Eigen::VectorXd::Constant(1, 3);
  model.firstMean = Eigen::VectorXd::Constant(1, 1);
  model.firstNoise = one(1);
  Eigen::MatrixXd counts(3, 1);
  counts << 7, 3, 4;
  const Eigen::MatrixXd states = filterPiece(model, counts, 0);
  // First: prior 1 with noise 1; gain 1·2 / (4 + 4) = 1/4; innovation
  // 7 - 3 - 2 = 2; state 1.5, noise 1/2.
  EXPECT_NEAR(states(0, 0), 1.5, 1e-12);
  // Then: prior 0.75, noise 1/8 + 1 = 9/8; gain 9/4 / (9/2 + 4) = 9/34;
  // innovation 0 - 1.5; noise 9/8 · (1 - 9/17) = 9/17.
  EXPECT_NEAR(states(1, 0), 0.75 - 1.5 * 9 / 34, 1e-12);
  const double prior = 0.5 * states(1, 0), noise = 0.25 * 9 / 17 + 1;
  const double gain = 2 * noise / (4 * noise + 4);
  EXPECT_NEAR(states(2, 0), prior + gain * (1 - 2 * prior), 1e-12);
}

TEST(Kalman, BlindBinsFollowTheModelAlone) {
  KalmanModel model;
  model.transition = one(0.5);
  model.transitionNoise = one(1);
  model.observation = one(2);
  model.countNoise = one(4);
  model.countMean = Eigen::VectorXd::Zero(1);
  model.firstMean = Eigen::VectorXd::Constant(1, 8);
  model.firstNoise = one(1);
  const Eigen::MatrixXd states =
      filterPiece(model, Eigen::MatrixXd::Constant(3, 1, 100), 2);
  EXPECT_EQ(states(0, 0), 8);
  EXPECT_EQ(states(1, 0), 4);
  EXPECT_GT(states(2, 0), 20);
}

TEST(Kalman, FollowsTheCode) {
  TemporaryFolder folder;
  Dataset dataset =
      openDataset({makeTrials(60, 30, 41).write(folder / "a.nwb")});
  Result<KalmanDecoder> kalman = KalmanDecoder::fit(dataset);
  ASSERT_TRUE(kalman.isOk()) << kalman.status().message();
  Result<Table> test = kalman->predict(dataset, Split::Test);
  ASSERT_TRUE(test.isOk());
  EXPECT_GT(score(*test, behaviorOf(dataset, Split::Test)).meanR2(), 0.65);
  // Spikes follow velocity at once here.
  EXPECT_EQ(kalman->choice(0).lag, 0);
}

TEST(Kalman, StrideAndMissingRowsPickTheSameStates) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(20, 8, 42);
  const std::string file = made.write(folder / "a.nwb");
  DataSpec sparse;
  sparse.strideBins = 3;
  Dataset every = openDataset({file}), third = openDataset({file}, sparse);
  Result<KalmanDecoder> kalman = KalmanDecoder::fit(every);
  ASSERT_TRUE(kalman.isOk());
  const Table all = *kalman->predict(every, Split::Val);
  const Table some = *kalman->predict(third, Split::Val);
  ASSERT_EQ(some.rows, int64_t(third.samples(Split::Val).size()));
  std::span<const Sample> samples = every.samples(Split::Val);
  for (int64_t row = 0; row < some.rows; ++row) {
    const int64_t bin = third.samples(Split::Val)[size_t(row)].bin;
    for (size_t i = 0; i < samples.size(); ++i)
      if (samples[i].bin == bin) {
        EXPECT_EQ(some.at(row, 0), all.at(int64_t(i), 0));
      }
  }
}

TEST(Kalman, TrialsShorterThanALag) {
  TemporaryFolder folder;
  SmallRecording made = makeTrials(30, 8, 43);
  for (size_t trial = 0; trial < made.trials.size(); trial += 3)
    made.trials[trial].stop = made.trials[trial].start + 2 * kSmallBin;
  Dataset dataset = openDataset({made.write(folder / "a.nwb")});
  Result<KalmanDecoder> kalman = KalmanDecoder::fit(dataset);
  ASSERT_TRUE(kalman.isOk()) << kalman.status().message();
  const Table val = *kalman->predict(dataset, Split::Val);
  ASSERT_EQ(val.rows, int64_t(dataset.samples(Split::Val).size()));
  EXPECT_EQ(score(val, behaviorOf(dataset, Split::Val)).meanR2(),
            kalman->choice(0).valR2);
  EXPECT_GT(kalman->choice(0).valR2, 0);
}
