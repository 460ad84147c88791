#include "train/score/Score.h"
#include "train/score/Controls.h"
#include "train/score/Random.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace betz::train;
using testing::ElementsAre;

namespace {

Table makeTable(int64_t columns, std::vector<double> values) {
  Table table;
  table.columns = columns;
  table.rows = int64_t(values.size()) / columns;
  table.values = std::move(values);
  return table;
}

} // namespace

TEST(Score, FollowsTheFormulas) {
  const Table target = makeTable(1, {1, 2, 3, 6});
  const Table prediction = makeTable(1, {1, 3, 2, 5});
  const Score result = score(prediction, target);
  // Mean 3: squared distances 4 + 1 + 0 + 9; squared errors 0 + 1 + 1 + 1.
  EXPECT_NEAR(result.r2[0], 1 - 3.0 / 14, 1e-12);
  EXPECT_NEAR(result.mse[0], 0.75, 1e-12);
  // Predictions about 2.75: -1.75 .25 -.75 2.25; products 3.5 -.25 0 6.75.
  EXPECT_NEAR(result.correlation[0], 10 / std::sqrt(14 * 8.75), 1e-12);
  EXPECT_EQ(result.rows, 4);
}

TEST(Score, MaskAndOutputs) {
  const Table target = makeTable(2, {1, 10, 2, 20, 3, 30, 100, 0});
  Table prediction = target;
  prediction.at(3, 0) = 0;
  prediction.at(0, 1) = 12;
  const Score result = score(prediction, target, {true, true, true, false});
  EXPECT_EQ(result.rows, 3);
  EXPECT_NEAR(result.r2[0], 1, 1e-12);
  EXPECT_NEAR(result.r2[1], 1 - 4.0 / 200, 1e-12);
  EXPECT_NEAR(result.meanR2(), 1 - 2.0 / 200, 1e-12);
}

TEST(Score, FarFromZeroKeepsItsDigits) {
  Table target = makeTable(1, {1, 2, 3, 6}),
        prediction = makeTable(1, {1, 3, 2, 5});
  for (Table *table : {&target, &prediction})
    for (double &value : table->values)
      value += 1e9;
  EXPECT_NEAR(score(prediction, target).r2[0], 1 - 3.0 / 14, 1e-6);
}

TEST(Score, StillTargetsHaveNoR2) {
  const Table still = makeTable(1, {2, 2, 2});
  EXPECT_TRUE(std::isnan(score(still, still).r2[0]));
  EXPECT_TRUE(std::isnan(score(still, still).correlation[0]));
}

TEST(Score, BootstrapIsSeededAndHoldsTheScore) {
  Table target(400, 1), prediction(400, 1);
  std::vector<int64_t> group;
  Random random(7);
  for (int64_t row = 0; row < 400; ++row) {
    target.at(row, 0) = random.uniform() - 0.5;
    prediction.at(row, 0) = target.at(row, 0) + 0.3 * (random.uniform() - 0.5);
    group.push_back(row / 10);
  }
  const double r2 = score(prediction, target).meanR2();
  const Confidence one = bootstrapR2(prediction, target, group, 1);
  const Confidence again = bootstrapR2(prediction, target, group, 1);
  EXPECT_EQ(one.low, again.low);
  EXPECT_EQ(one.high, again.high);
  EXPECT_NE(one.low, bootstrapR2(prediction, target, group, 2).low);
  EXPECT_LT(one.low, r2);
  EXPECT_GT(one.high, r2);
  EXPECT_LT(one.high - one.low, 0.06);
}

TEST(Score, BootstrapOfOneGroupIsTheScore) {
  const Table target = makeTable(1, {1, 2, 3, 6});
  const Table prediction = makeTable(1, {1, 3, 2, 5});
  const std::vector<int64_t> group(4, 0);
  const Confidence all = bootstrapR2(prediction, target, group, 1, 10);
  EXPECT_NEAR(all.low, 1 - 3.0 / 14, 1e-12);
  EXPECT_NEAR(all.high, 1 - 3.0 / 14, 1e-12);
}

TEST(Score, MovingIsATenthOfTheFastest) {
  Table velocity(100, 2);
  for (int64_t row = 0; row < 100; ++row) {
    velocity.at(row, 0) = 3.0 * double(row);
    velocity.at(row, 1) = 4.0 * double(row);
  }
  const double threshold = restThreshold(velocity);
  EXPECT_NEAR(threshold, 0.1 * 5 * 94, 1e-9);
  const RowMask moving = movingRows(velocity, threshold);
  EXPECT_FALSE(moving[9]);
  EXPECT_TRUE(moving[10]);
}

TEST(Controls, MeanAndClock) {
  const Table train = makeTable(1, {0, 4, 2, 8, 4, 12});
  const std::vector<int64_t> trainBin = {0, 1, 0, 1, 0, 1};
  const Table test = makeTable(1, {0, 0, 0});
  EXPECT_THAT(meanControl(train, test).values, ElementsAre(5, 5, 5));
  // Cell means 2 and 8, shrunk to 5 by one row in four; bin 9 is the last cell.
  EXPECT_THAT(
      clockControl(train, trainBin, test, std::vector<int64_t>{0, 1, 9}).values,
      ElementsAre(2.75, 7.25, 7.25));
  EXPECT_THAT(zeroControl(test).values, ElementsAre(0, 0, 0));
}

TEST(Controls, RotationMovesEveryRowFar) {
  Table predictions(100, 1);
  for (int64_t row = 0; row < 100; ++row)
    predictions.at(row, 0) = double(row);
  const Table rotated = rotatedControl(predictions, 3);
  const double offset = rotated.at(0, 0);
  EXPECT_GE(offset, 25);
  EXPECT_LT(offset, 75);
  for (int64_t row = 0; row < 100; ++row)
    EXPECT_EQ(rotated.at(row, 0), double((row + int64_t(offset)) % 100));
  EXPECT_EQ(rotatedControl(predictions, 3).values, rotated.values);
}
