//===- RandomModelTest.cpp - Random decoders, phase by phase --------------===//
//
// Other decoders, weights and batches at each run; a failure prints the seed
// that brings it back: BETZ_TEST_SEED=... random_model_test.
//
//===----------------------------------------------------------------------===//
#include "codegen/Compiler.h"
#include "ir/reference/Interpreter.h"
#include "tests/numerics/CpuRunner.h"
#include "tests/numerics/DecoderCases.h"
#include "tests/numerics/OpCases.h"

#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace betz {
namespace {

/// What DESIGN asks of each rewrite.
constexpr double kPassTolerance = 1e-10;
/// f32 through a whole model, as `--tol` in DESIGN section 9.
constexpr double kCpuTolerance = 2e-5;
/// A value of the behaviour head is a sum of terms of about this size; where
/// all values of a batch are far below, what cancelled sets the error.
constexpr double kUsualMagnitude = 0.2;

uint64_t freshSeed() {
  static const uint64_t seed = [] {
    const char *asked = std::getenv("BETZ_TEST_SEED");
    return asked ? std::strtoull(asked, nullptr, 10) : std::random_device()();
  }();
  return seed;
}

Result<reference::TensorMap> interpret(mlir::ModuleOp module,
                                       const reference::TensorMap &weights,
                                       const reference::TensorMap &inputs) {
  BETZ_ASSIGN_OR_RETURN(reference::TensorMap derived,
                        reference::runPrepare(module, weights));
  return reference::runMain(module, derived, inputs);
}

/// Windows with no events, one, few and several key blocks.
std::vector<int32_t> randomLengths(Random &random) {
  std::vector<int32_t> lengths = {0,  1,  int32_t(2 + random() % 62),
                                  64, 65, int32_t(random() % 200)};
  std::shuffle(lengths.begin(), lengths.end(), random);
  return lengths;
}

class RandomModelTest : public testing::TestWithParam<int> {};

TEST_P(RandomModelTest, EveryPhaseAndTheCpuAgree) {
  Random random(freshSeed() + uint64_t(GetParam()) * 1000003);
  ModelConfig config = randomConfig(random);
  SCOPED_TRACE(
      fmt::format("BETZ_TEST_SEED={}: {}", freshSeed(), describe(config)));
  auto context = ir::makeContext();
  auto module = buildDecoder(*context, config);
  ASSERT_TRUE(module.isOk()) << module.status().message();
  reference::TensorMap weights = randomWeights(**module, random);
  reference::TensorMap batch =
      randomBatch(config, randomLengths(random), random);
  auto expected = interpret(**module, weights, batch);
  ASSERT_TRUE(expected.isOk()) << expected.status().message();

  CompileOptions options;
  options.batches = {2, 8};
  options.maxEvents = 256;
  for (DType precision : {DType::F32, DType::BF16}) {
    CompileOptions gpu = options;
    gpu.targets = {"cuda:sm_90a"};
    gpu.precision = precision;
    mlir::OwningOpRef<mlir::ModuleOp> lowering = (*module)->clone();
    Status lowered = lowerModule(*lowering, ir::Phase::Program, gpu);
    ASSERT_TRUE(lowered.isOk()) << lowered.message();
    auto outputs = interpret(*lowering, weights, batch);
    ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
    EXPECT_EQ(compareTensors(*expected, *outputs, kPassTolerance), "")
        << toString(precision);
  }
  for (ir::Phase phase : {ir::Phase::Kernels, ir::Phase::Program}) {
    Status lowered = lowerModule(**module, phase, options);
    ASSERT_TRUE(lowered.isOk()) << lowered.message();
    auto outputs = interpret(**module, weights, batch);
    ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
    EXPECT_EQ(compareTensors(*expected, *outputs, kPassTolerance), "")
        << ir::toString(phase).str();
  }

  auto program = compileModule(**module, weights, options);
  ASSERT_TRUE(program.isOk()) << program.status().message();
  for (const std::string &level : runnableLevels(**program)) {
    auto runner = CpuRunner::open(*program, level);
    ASSERT_TRUE(runner.isOk()) << runner.status().message();
    auto outputs = runner->run(batch, {7, random()});
    ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
    for (const auto &[name, tensor] : *expected) {
      double largest = 0;
      for (double value : tensor.real)
        largest = std::max(largest, std::abs(value));
      double tolerance =
          kCpuTolerance * std::max(1.0, kUsualMagnitude / largest);
      EXPECT_EQ(compareTensors(tensor, outputs->at(name), tolerance), "")
          << name << " at " << level;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fresh, RandomModelTest, testing::Range(0, 12));

} // namespace
} // namespace betz
