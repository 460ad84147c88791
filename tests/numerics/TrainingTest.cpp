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

/// A fixture's model, weights and batch.
struct Fixture {
  ModelDescription model;
  TensorMap weights, cases;
  /// Of the spike head, a window; 0 if the fixture has none.
  int64_t queries;
};

/// The queries of a `masked` fixture as dense rows, three longer than the
/// longest window needs: the rest are place 0 without a label. Returns their
/// length; 0 if the fixture has none.
int64_t padQueries(TensorMap &cases) {
  if (!cases.contains("query_offsets"))
    return 0;
  const std::vector<int32_t> ends = cases.at("query_offsets").integer;
  const int64_t windows = int64_t(ends.size()) - 1;
  int64_t length = 0;
  for (int64_t b = 0; b < windows; ++b)
    length = std::max<int64_t>(length, ends[b + 1] - ends[b] + 3);
  for (const char *name : {"query_neuron", "query_time", "query_value"}) {
    const std::vector<int32_t> flat = cases.at(name).integer;
    const bool isLabel = std::string(name) == "query_value";
    Tensor padded{{windows, length}, {}, {}};
    padded.integer.assign(size_t(windows * length), isLabel ? -1 : 0);
    for (int64_t b = 0; b < windows; ++b)
      std::copy(flat.begin() + ends[b], flat.begin() + ends[b + 1],
                padded.integer.begin() + b * length);
    cases[name] = std::move(padded);
  }
  return length;
}

Result<Fixture> readFixture(const std::string &weightsPath,
                            const std::string &casesPath) {
  Fixture fixture;
  BETZ_ASSIGN_OR_RETURN(auto weightsFile, SafetensorsFile::open(weightsPath));
  BETZ_ASSIGN_OR_RETURN(auto casesFile, SafetensorsFile::open(casesPath));
  BETZ_ASSIGN_OR_RETURN(fixture.weights, readTensors(weightsFile));
  BETZ_ASSIGN_OR_RETURN(fixture.cases, readTensors(casesFile));
  BETZ_ASSIGN_OR_RETURN(fixture.model,
                        readModelMetadata(weightsFile.metadata(), weightsPath));
  fixture.queries = padQueries(fixture.cases);
  return fixture;
}

Result<passes::TrainingModule> makeStep(mlir::MLIRContext &context,
                                        const Fixture &fixture,
                                        passes::TrainingOptions options) {
  BETZ_ASSIGN_OR_RETURN(
      auto module,
      buildDecoder(context, fixture.model, {"behavior"}, fixture.queries));
  options.losses = {{"behavior", "target"}};
  if (fixture.queries > 0)
    options.losses.push_back({"spike_logits", "query_value",
                              passes::TrainingLoss::Kind::CrossEntropy});
  return passes::makeTrainingModule(*module, options);
}

Tensor zeros(int64_t size) {
  return {{size}, std::vector<double>(size_t(size)), {}};
}

/// The named weights in their places, trained or frozen.
Tensor flatten(const passes::TrainingModule &step, const TensorMap &weights,
               bool frozen) {
  Tensor flat = zeros(frozen ? step.frozenSize : step.size);
  for (const ParameterPlace &place : step.parameters)
    if (place.frozen == frozen) {
      const std::vector<double> &values = weights.at(place.name).real;
      std::copy(values.begin(), values.end(), flat.real.begin() + place.offset);
    }
  return flat;
}

/// The trained parameters in a flat tensor, by name.
TensorMap unflatten(const passes::TrainingModule &step, const Tensor &flat,
                    const std::string &prefix) {
  TensorMap tensors;
  for (const ParameterPlace &place : step.parameters)
    if (!place.frozen) {
      Tensor tensor{place.shape, {}, {}};
      auto first = flat.real.begin() + place.offset;
      tensor.real.assign(first, first + tensor.rows() * tensor.columns());
      tensors[prefix + place.name] = std::move(tensor);
    }
  return tensors;
}

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
