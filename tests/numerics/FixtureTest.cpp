//===- FixtureTest.cpp - Whole decoders against their definition ----------===//
//
// The fixtures' results are PyTorch's in f64; see DESIGN section 5.
//
//===----------------------------------------------------------------------===//
#include "frontend/Frontend.h"
#include "ir/reference/Interpreter.h"
#include "passes/Passes.h"
#include "tests/numerics/Fixtures.h"
#include "tests/numerics/OpCases.h"
#include "tests/runtime/io/TestFiles.h"

namespace betz {
namespace {

/// Both sides are f64 and differ in the order of their sums only.
constexpr double kTolerance = 1e-10;

Result<reference::TensorMap> interpret(mlir::ModuleOp module,
                                       const reference::TensorMap &weights,
                                       const reference::TensorMap &inputs) {
  BETZ_ASSIGN_OR_RETURN(reference::TensorMap derived,
                        reference::runPrepare(module, weights));
  return reference::runMain(module, derived, inputs);
}

class FixtureTest : public testing::TestWithParam<const char *> {};

TEST_P(FixtureTest, EveryPhaseGivesTheFixturesResults) {
  std::string stem = std::string("fixtures/") + GetParam();
  BETZ_NEED_SHARED(weightsPath, (stem + ".weights.safetensors"));
  BETZ_NEED_SHARED(casesPath, (stem + ".cases.safetensors"));
  auto weightsFile = SafetensorsFile::open(weightsPath);
  auto casesFile = SafetensorsFile::open(casesPath);
  ASSERT_TRUE(weightsFile.isOk()) << weightsFile.status().message();
  ASSERT_TRUE(casesFile.isOk()) << casesFile.status().message();
  auto weights = readTensors(*weightsFile);
  auto cases = readTensors(*casesFile);
  ASSERT_TRUE(weights.isOk()) << weights.status().message();
  ASSERT_TRUE(cases.isOk()) << cases.status().message();

  auto context = ir::makeContext();
  auto model = readModelMetadata(weightsFile->metadata(), weightsPath);
  ASSERT_TRUE(model.isOk()) << model.status().message();
  auto module = buildDecoder(*context, *model, {"behavior", "latents_out"});
  ASSERT_TRUE(module.isOk()) << module.status().message();
  reference::TensorMap expected = {{"behavior", cases->at("behavior")},
                                   {"latents_out", cases->at("latents_out")}};

  auto expectSame = [&](mlir::ModuleOp lowered, const char *what) {
    auto outputs = interpret(lowered, *weights, *cases);
    ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
    EXPECT_EQ(compareTensors(expected, *outputs, kTolerance), "")
        << what << ", " << ir::toString(ir::getPhase(lowered)).str();
  };
  mlir::OwningOpRef<mlir::ModuleOp> narrow = (*module)->clone();
  passes::PipelineOptions options;
  options.buckets = {{8, 4096}};
  for (ir::Phase phase :
       {ir::Phase::Model, ir::Phase::Kernels, ir::Phase::Program}) {
    Status lowered = passes::lowerTo(phase, **module, options);
    ASSERT_TRUE(lowered.isOk()) << lowered.message();
    expectSame(**module, "cpu");
  }
  // As for a GPU. Values of bf16 tensors are not rounded here.
  options.panel = 0;
  options.narrow = options.normsApart = true;
  Status lowered = passes::lowerTo(ir::Phase::Program, *narrow, options);
  ASSERT_TRUE(lowered.isOk()) << lowered.message();
  expectSame(*narrow, "gpu");
}

INSTANTIATE_TEST_SUITE_P(Shared, FixtureTest, testing::ValuesIn(kFixtures),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace betz
