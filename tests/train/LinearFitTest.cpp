#include "train/score/LinearFit.h"
#include "train/score/NlbVelocity.h"
#include "train/score/Random.h"

#include <gmock/gmock.h>
#include <limits>

using namespace betz;
using namespace betz::train;
using testing::HasSubstr;

TEST(LinearFit, OneFeatureIsTheClosedForm) {
  Eigen::MatrixXd x(4, 1), y(4, 1);
  x << 1, 2, 3, 6;
  y << 2, 3, 7, 8;
  LinearSums sums(1, 1);
  sums.add(x, y);
  Result<LinearMap> map = fitRidge(sums, 6);
  ASSERT_TRUE(map.isOk());
  // Means 3 and 5; Σ dx dy = 6 + 2 + 0 + 9 = 17; Σ dx² = 14.
  EXPECT_NEAR(map->weights(0, 0), 17.0 / (14 + 6), 1e-12);
  EXPECT_NEAR(map->intercept(0), 5 - 3 * 17.0 / 20, 1e-12);
  EXPECT_NEAR(apply(*map, x)(3, 0), 5 + 3 * 17.0 / 20, 1e-12);
}

TEST(LinearFit, DependentFeaturesNeedAlpha) {
  Eigen::MatrixXd x(3, 2), y(3, 1);
  x << 1, 1, 2, 2, 4, 4;
  y << 1, 2, 4;
  LinearSums sums(2, 1);
  sums.add(x, y);
  sums.gram(1, 1) -= 1e-9;
  EXPECT_THAT(fitRidge(sums, 0).status().message(),
              HasSubstr("take a larger alpha"));
  Result<LinearMap> map = fitRidge(sums, 1);
  ASSERT_TRUE(map.isOk());
  EXPECT_NEAR(map->weights(0, 0), map->weights(1, 0), 1e-8);
}

TEST(NlbVelocity, WindowsAreTheBenchmarks) {
  EXPECT_EQ(nlbWindow("mc_maze")->lagMs, 100);
  EXPECT_EQ(nlbWindow("mc_maze_small")->lagMs, 120);
  EXPECT_EQ(nlbWindow("area2_bump")->startMs, -100);
  EXPECT_EQ(nlbWindow("mc_rtt")->align, "start_time");
  EXPECT_FALSE(nlbWindow("dmfc_rsg"));
}

TEST(NlbVelocity, LinearRatesScoreOneAndNaNRowsAreDropped) {
  Random random(5);
  auto make = [&](Table &rates, Table &velocity) {
    for (int64_t row = 0; row < rates.rows; ++row) {
      for (int64_t unit = 0; unit < 3; ++unit)
        rates.at(row, unit) = 30 * random.uniform();
      velocity.at(row, 0) = 2 * rates.at(row, 0) - rates.at(row, 2) + 5;
      velocity.at(row, 1) = rates.at(row, 1);
    }
  };
  Table trainRates(100, 3), train(100, 2), evalRates(40, 3), eval(40, 2);
  make(trainRates, train);
  make(evalRates, eval);
  train.at(7, 0) = std::numeric_limits<double>::quiet_NaN();
  train.at(7, 1) = 1e9;
  Result<double> r2 = nlbVelocityR2(trainRates, train, evalRates, eval);
  ASSERT_TRUE(r2.isOk());
  EXPECT_NEAR(*r2, 1, 1e-6);
  EXPECT_THAT(nlbVelocityR2(Table(4, 3), Table(4, 2), evalRates, eval)
                  .status()
                  .message(),
              HasSubstr("4 train rows and 40 evaluation rows"));
}
