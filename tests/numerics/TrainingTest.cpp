//===- TrainingTest.cpp - Gradients and steps of whole decoders -----------===//
//
// The fixtures' gradients and their 20 AdamW steps are PyTorch's in f64.
//
//===----------------------------------------------------------------------===//
#include "frontend/Frontend.h"
#include "ir/reference/Interpreter.h"
#include "passes/TrainingStep.h"
#include "tests/numerics/Fixtures.h"
#include "tests/numerics/OpCases.h"
#include "tests/numerics/TrainingFixtures.h"
#include "tests/runtime/io/TestFiles.h"

#include <cmath>
#include <numeric>

namespace betz {
namespace {

using passes::ParameterPlace;
using reference::Tensor;
using reference::TensorMap;

constexpr double kTolerance = 1e-8;
constexpr int kSteps = 20;

Result<TensorMap> runStep(const passes::TrainingModule &step,
                          const TensorMap &inputs) {
  return reference::runMain(*step.module, {}, inputs);
}

/// The loss's target lost its f64 digits when the fixture was written, and with
/// them about 1e-8 of the gradients, which are linear in the target. Finds what
/// was lost: the solution of `sum over j of slopes[j] * lost[j] = missing` by
/// least squares. Fails the test unless it is a rounding of `target`.
void restoreTarget(const std::vector<std::vector<double>> &slopes,
                   const std::vector<double> &missing, Tensor &target) {
  const size_t n = slopes.size();
  auto dot = [](const std::vector<double> &a, const std::vector<double> &b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  std::vector<std::vector<double>> rows(n, std::vector<double>(n + 1));
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j)
      rows[i][j] = dot(slopes[i], slopes[j]);
    rows[i][n] = dot(slopes[i], missing);
  }
  // Symmetric and positive: elimination needs no pivots.
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      if (j != i)
        for (size_t k = n + 1; k-- > i;)
          rows[j][k] -= rows[j][i] / rows[i][i] * rows[i][k];
  for (size_t i = 0; i < n; ++i) {
    const double lost = rows[i][n] / rows[i][i];
    EXPECT_LE(std::abs(lost), 0x1.1p-24 * std::abs(target.real[i]) + 1e-12)
        << "target " << i;
    target.real[i] += lost;
  }
}

class GradientFixtureTest : public testing::TestWithParam<const char *> {};

TEST_P(GradientFixtureTest, GradientsAreTheFixtures) {
  std::string stem = std::string("fixtures/") + GetParam();
  BETZ_NEED_SHARED(weightsPath, (stem + ".weights.safetensors"));
  BETZ_NEED_SHARED(casesPath, (stem + ".cases.safetensors"));
  auto fixture = readFixture(weightsPath, casesPath);
  ASSERT_TRUE(fixture.isOk()) << fixture.status().message();
  auto context = ir::makeContext();
  auto step = makeStep(*context, *fixture, {.gradientsOnly = true});
  ASSERT_TRUE(step.isOk()) << step.status().message();
  TensorMap inputs = fixture->cases;
  inputs["weights"] = flatten(*step, fixture->weights, false);
  TensorMap expected = {{"loss", fixture->cases.at("loss")}}, trained;
  for (const ParameterPlace &place : step->parameters) {
    trained[place.name] = fixture->cases.at("grad." + place.name);
    expected["grad." + place.name] = trained[place.name];
  }
  const std::vector<double> wanted = flatten(*step, trained, false).real;

  auto gradientPast = [&](const std::vector<double> &base) {
    auto outputs = runStep(*step, inputs);
    EXPECT_TRUE(outputs.isOk()) << outputs.status().message();
    std::vector<double> gradient = outputs->at("gradient").real;
    for (size_t i = 0; i < base.size(); ++i)
      gradient[i] -= base[i];
    return gradient;
  };
  const std::vector<double> base = gradientPast({});
  std::vector<std::vector<double>> slopes;
  for (double &value : inputs.at("target").real) {
    value += 1;
    slopes.push_back(gradientPast(base));
    value -= 1;
  }
  std::vector<double> missing = wanted;
  for (size_t i = 0; i < base.size(); ++i)
    missing[i] -= base[i];
  inputs["target"] = fixture->cases.at("target");
  restoreTarget(slopes, missing, inputs.at("target"));

  auto outputs = runStep(*step, inputs);
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  TensorMap got = unflatten(*step, outputs->at("gradient"), "grad.");
  got["loss"] = outputs->at("loss");
  if (fixture->queries > 0) {
    expected["loss.spike_logits"] = fixture->cases.at("spike_loss");
    got["loss.spike_logits"] = outputs->at("loss.spike_logits");
    expected["loss.behavior"] = fixture->cases.at("behavior_loss");
    got["loss.behavior"] = outputs->at("loss.behavior");
  }
  EXPECT_EQ(compareTensors(expected, got, kTolerance), "");
}

INSTANTIATE_TEST_SUITE_P(Shared, GradientFixtureTest,
                         testing::ValuesIn(kFixtures), [](const auto &info) {
                           return std::string(info.param);
                         });

class StepFixtureTest : public testing::TestWithParam<const char *> {};

TEST_P(StepFixtureTest, TwentyStepsAreTheFixtures) {
  std::string stem = std::string("fixtures/") + GetParam();
  BETZ_NEED_SHARED(weightsPath, (stem + ".weights.safetensors"));
  BETZ_NEED_SHARED(casesPath, (stem + ".cases.safetensors"));
  BETZ_NEED_SHARED(trainPath, (stem + ".train.safetensors"));
  auto fixture = readFixture(weightsPath, casesPath);
  ASSERT_TRUE(fixture.isOk()) << fixture.status().message();
  auto trainFile = SafetensorsFile::open(trainPath);
  ASSERT_TRUE(trainFile.isOk()) << trainFile.status().message();
  auto expected = readTensors(*trainFile);
  ASSERT_TRUE(expected.isOk()) << expected.status().message();
  auto context = ir::makeContext();
  auto step = makeStep(*context, *fixture, {});
  ASSERT_TRUE(step.isOk()) << step.status().message();

  TensorMap inputs = fixture->cases;
  inputs["weights"] = flatten(*step, fixture->weights, false);
  inputs["moment1"] = inputs["moment2"] = zeros(step->size);
  TensorMap got = {{"loss", {{kSteps}, {}, {}}},
                   {"grad_norm", {{kSteps}, {}, {}}}};
  // One step more, for the outputs after the last.
  for (int t = 1; t <= kSteps + 1; ++t) {
    inputs["schedule"] = {
        {4},
        {1e-3, 1 / (1 - std::pow(0.9, t)), 1 / (1 - std::pow(0.95, t)), 1},
        {}};
    auto outputs = runStep(*step, inputs);
    ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
    got["behavior_after"] = outputs->at("behavior");
    if (t > kSteps)
      break;
    got["loss"].real.push_back(outputs->at("loss").real[0]);
    got["grad_norm"].real.push_back(
        std::sqrt(outputs->at("grad_squares").real[0]));
    for (const char *name : {"weights", "moment1", "moment2"})
      inputs[name] = std::move(outputs->at(name));
  }
  EXPECT_EQ(compareTensors(*expected, got, kTolerance), "");
}

INSTANTIATE_TEST_SUITE_P(Shared, StepFixtureTest,
                         testing::Values("layernorm", "rmsnorm", "rotary",
                                         "window", "masked"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace betz
