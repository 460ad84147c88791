//===- CpuTrainingTest.cpp - Training steps of decoders on the CPU --------===//
//
// The fixtures' gradients and their 20 AdamW steps are PyTorch's in f64; a
// session runs them in f32.
//
//===----------------------------------------------------------------------===//
#include "codegen/Compiler.h"
#include "runtime/session/OpenDevice.h"
#include "runtime/session/Session.h"
#include "tests/numerics/Fixtures.h"
#include "tests/numerics/OpCases.h"
#include "tests/numerics/TrainingFixtures.h"
#include "tests/runtime/io/TestFiles.h"

#include <cmath>

namespace betz {
namespace {

using passes::ParameterPlace;
using reference::Tensor;
using reference::TensorMap;

/// What the project promises of f32 gradients, and of 20 steps.
constexpr double kGradientTolerance = 2e-4, kStepTolerance = 1e-4;
/// The outputs after 20 steps do not reach it yet: AdamW's first steps move
/// each weight by the sign of its gradient, and of 100,000 some 25 are as small
/// as the rounding of f32.
constexpr double kOutputTolerance = 1e-3;
constexpr int kSteps = 20;

std::vector<float> toFloats(const Tensor &tensor) {
  return {tensor.real.begin(), tensor.real.end()};
}

/// A compiled step in a session, run on tensors by name.
class StepRunner {
public:
  static Result<std::unique_ptr<StepRunner>>
  open(const passes::TrainingModule &step, const TensorMap &cases,
       int threads) {
    CompileOptions options;
    options.targets = {"cpu"};
    options.batches = {cases.at("target").shape[0]};
    BETZ_ASSIGN_OR_RETURN(auto program,
                          compileModule(*step.module, {}, options));
    return open(std::move(program), threads);
  }

  static Result<std::unique_ptr<StepRunner>>
  open(std::shared_ptr<const Program> program, int threads) {
    auto runner = std::make_unique<StepRunner>();
    runner->shared = program;
    BETZ_ASSIGN_OR_RETURN(auto device, openDevice("cpu", {.threads = threads}));
    BETZ_ASSIGN_OR_RETURN(runner->session, Session::create(program, device));
    return runner;
  }

  const Program &program() const { return session->program(); }

  Status writeState(const char *name, const std::vector<float> &values) {
    return session->writeState(name, std::as_bytes(std::span(values)));
  }
  Result<Tensor> readState(const char *name, int64_t size) {
    std::vector<float> values(static_cast<size_t>(size));
    BETZ_RETURN_IF_ERROR(
        session->readState(name, std::as_writable_bytes(std::span(values))));
    return Tensor{{size}, {values.begin(), values.end()}, {}};
  }

  Result<TensorMap> run(const TensorMap &given) {
    std::vector<std::vector<float>> floats(program().inputs.size());
    std::vector<InputBinding> inputs;
    for (uint32_t i = 0; i < floats.size(); ++i) {
      const InputSpec &input = program().inputs[i];
      auto found = given.find(input.tensor.name);
      if (found == given.end() && !input.alias.empty())
        found = given.find(input.alias);
      if (found == given.end())
        continue; // it has a default
      const Tensor &tensor = found->second;
      const bool isFloat = input.tensor.dtype == DType::F32;
      floats[i] = toFloats(tensor);
      inputs.push_back({i, input.tensor.dtype,
                        isFloat ? static_cast<const void *>(floats[i].data())
                                : tensor.integer.data(),
                        tensor.shape});
    }
    const int64_t windows = given.at("target").shape[0];
    TensorMap results;
    std::vector<std::vector<float>> values;
    std::vector<OutputBinding> outputs;
    for (const TensorSpec &spec : program().outputs) {
      Tensor &tensor = results[spec.name];
      for (const Dim &dim : spec.shape)
        tensor.shape.push_back(dim.symbol < 0 ? dim.plus : windows);
      values.emplace_back(size_t(tensor.rows() * tensor.columns()), NAN);
      outputs.push_back({uint32_t(outputs.size()), DType::F32,
                         values.back().data(), tensor.shape});
    }
    BETZ_RETURN_IF_ERROR(session->run(inputs, outputs));
    for (size_t i = 0; i < values.size(); ++i)
      results[program().outputs[i].name].real.assign(values[i].begin(),
                                                     values[i].end());
    return results;
  }

  std::shared_ptr<const Program> shared;
  std::unique_ptr<Session> session;
};

struct OpenFixture {
  std::unique_ptr<mlir::MLIRContext> context = ir::makeContext();
  Fixture fixture;
  passes::TrainingModule step;
};

Result<OpenFixture> openFixture(const std::string &weights,
                                const std::string &cases,
                                passes::TrainingOptions options) {
  OpenFixture open;
  BETZ_ASSIGN_OR_RETURN(open.fixture, readFixture(weights, cases));
  BETZ_ASSIGN_OR_RETURN(open.step,
                        makeStep(*open.context, open.fixture, options));
  return open;
}

class CpuGradientTest : public testing::TestWithParam<const char *> {};

TEST_P(CpuGradientTest, GradientsAreTheFixtures) {
  std::string stem = std::string("fixtures/") + GetParam();
  BETZ_NEED_SHARED(weightsPath, (stem + ".weights.safetensors"));
  BETZ_NEED_SHARED(casesPath, (stem + ".cases.safetensors"));
  auto open = openFixture(weightsPath, casesPath, {.gradientsOnly = true});
  ASSERT_TRUE(open.isOk()) << open.status().message();
  const TensorMap &cases = open->fixture.cases;
  const std::vector<float> weights =
      toFloats(flatten(open->step, open->fixture.weights, false));
  TensorMap expected = {{"loss", cases.at("loss")}};
  for (const ParameterPlace &place : open->step.parameters)
    expected["grad." + place.name] = cases.at("grad." + place.name);

  auto runner = StepRunner::open(open->step, cases, 1);
  ASSERT_TRUE(runner.isOk()) << runner.status().message();
  ASSERT_TRUE((*runner)->writeState("weights", weights).isOk());
  auto outputs = (*runner)->run(cases);
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  TensorMap got = unflatten(open->step, outputs->at("gradient"), "grad.");
  got["loss"] = outputs->at("loss");
  EXPECT_EQ(compareTensors(expected, got, kGradientTolerance), "");

  // At any number of threads the same bits.
  auto other = StepRunner::open((*runner)->shared, 3);
  ASSERT_TRUE(other.isOk()) << other.status().message();
  ASSERT_TRUE((*other)->writeState("weights", weights).isOk());
  auto again = (*other)->run(cases);
  ASSERT_TRUE(again.isOk()) << again.status().message();
  EXPECT_EQ(compareTensors(*outputs, *again, 0), "");
}

INSTANTIATE_TEST_SUITE_P(Shared, CpuGradientTest,
                         testing::Values("layernorm", "rmsnorm", "rotary",
                                         "window", "odd", "masked"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

class CpuStepTest : public testing::TestWithParam<const char *> {};

TEST_P(CpuStepTest, TwentyStepsAreTheFixtures) {
  std::string stem = std::string("fixtures/") + GetParam();
  BETZ_NEED_SHARED(weightsPath, (stem + ".weights.safetensors"));
  BETZ_NEED_SHARED(casesPath, (stem + ".cases.safetensors"));
  BETZ_NEED_SHARED(trainPath, (stem + ".train.safetensors"));
  auto open = openFixture(weightsPath, casesPath, {});
  ASSERT_TRUE(open.isOk()) << open.status().message();
  auto trainFile = SafetensorsFile::open(trainPath);
  ASSERT_TRUE(trainFile.isOk()) << trainFile.status().message();
  auto expected = readTensors(*trainFile);
  ASSERT_TRUE(expected.isOk()) << expected.status().message();

  TensorMap inputs = open->fixture.cases;
  auto opened = StepRunner::open(open->step, inputs, 2);
  ASSERT_TRUE(opened.isOk()) << opened.status().message();
  StepRunner &runner = **opened;
  ASSERT_EQ(runner.program().states.size(), 3u);
  inputs["schedule"] = {{4}, {0, 1, 1, 1}, {}};
  auto early = runner.run(inputs);
  ASSERT_FALSE(early.isOk());
  EXPECT_NE(early.status().message().find("has not been written"),
            std::string::npos);
  const std::vector<float> none(size_t(open->step.size));
  for (const char *moment : {"moment1", "moment2"})
    ASSERT_TRUE(runner.writeState(moment, none).isOk());
  Status written = runner.writeState(
      "weights", toFloats(flatten(open->step, open->fixture.weights, false)));
  ASSERT_TRUE(written.isOk()) << written.message();

  TensorMap got = {{"loss", {{kSteps}, {}, {}}},
                   {"grad_norm", {{kSteps}, {}, {}}}};
  // One step more, for the outputs after the last.
  for (int t = 1; t <= kSteps + 1; ++t) {
    inputs["schedule"] = {
        {4},
        {1e-3, 1 / (1 - std::pow(0.9, t)), 1 / (1 - std::pow(0.95, t)), 1},
        {}};
    auto outputs = runner.run(inputs);
    ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
    got["behavior_after"] = outputs->at("behavior");
    if (t > kSteps)
      break;
    got["loss"].real.push_back(outputs->at("loss").real[0]);
    got["grad_norm"].real.push_back(
        std::sqrt(outputs->at("grad_squares").real[0]));
  }
  auto compare = [&](const char *name, double tolerance) {
    EXPECT_EQ(compareTensors(expected->at(name), got.at(name), tolerance), "")
        << name;
  };
  compare("loss", kStepTolerance);
  compare("grad_norm", kStepTolerance);
  compare("behavior_after", kOutputTolerance);
  auto weights = runner.readState("weights", open->step.size);
  ASSERT_TRUE(weights.isOk()) << weights.status().message();
  EXPECT_NE(weights->real,
            flatten(open->step, open->fixture.weights, false).real);
}

INSTANTIATE_TEST_SUITE_P(Shared, CpuStepTest,
                         testing::Values("layernorm", "rmsnorm", "rotary",
                                         "window"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace betz
