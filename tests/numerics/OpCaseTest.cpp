//===- OpCaseTest.cpp - The op-case table on the interpreter --------------===//
//
// Against a second, independent evaluation, and after each phase of the passes.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/Interpreter.h"
#include "passes/Passes.h"
#include "tests/numerics/NaiveOps.h"
#include "tests/numerics/OpCases.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

namespace betz {

/// What GoogleTest prints for a parameter.
void PrintTo(const OpCase &opCase, std::ostream *stream) {
  *stream << opCase.name;
}

namespace {

/// Both sides compute in f64 or better; sharp softmaxes and means of 1000 cost
/// three digits of sixteen.
constexpr double kNaiveTolerance = 1e-12;
/// What DESIGN asks of each rewrite.
constexpr double kPassTolerance = 1e-10;

uint64_t freshSeed() {
  static const uint64_t seed = std::random_device()();
  return seed;
}

Result<reference::TensorMap> interpret(mlir::ModuleOp module,
                                       const OpCase &opCase) {
  BETZ_ASSIGN_OR_RETURN(reference::TensorMap derived,
                        reference::runPrepare(module, opCase.weights));
  return reference::runMain(module, derived, opCase.inputs);
}

/// What passes are told of the CPU, and of a GPU in f32 and bf16.
std::vector<passes::PipelineOptions> everyLowering() {
  passes::PipelineOptions cpu, gpu;
  gpu.panel = 0;
  gpu.normsApart = true;
  passes::PipelineOptions narrow = gpu;
  narrow.narrow = true;
  return {cpu, gpu, narrow};
}

class OpCaseTest : public testing::TestWithParam<OpCase> {
protected:
  void SetUp() override {
    auto parsed =
        ir::parseModule(*context, GetParam().moduleText, GetParam().name);
    ASSERT_TRUE(parsed.isOk()) << parsed.status().message() << "\n"
                               << GetParam().moduleText;
    module = std::move(*parsed);
  }

  void expectSameAfter(ir::Phase phase) {
    auto before = interpret(*module, GetParam());
    ASSERT_TRUE(before.isOk()) << before.status().message();
    size_t symbols =
        (*module)->getAttrOfType<mlir::ArrayAttr>(ir::kSymbolsAttr).size();
    for (passes::PipelineOptions options : everyLowering()) {
      options.buckets = {std::vector<int64_t>(symbols, 1024)};
      mlir::OwningOpRef<mlir::ModuleOp> lowering = module->clone();
      Status lowered = passes::lowerTo(phase, *lowering, options);
      ASSERT_TRUE(lowered.isOk()) << lowered.message();
      auto after = interpret(*lowering, GetParam());
      ASSERT_TRUE(after.isOk()) << after.status().message();
      EXPECT_EQ(compareTensors(*before, *after, kPassTolerance), "")
          << "seed " << freshSeed() << "\n"
          << ir::printModule(*lowering);
    }
  }

  std::unique_ptr<mlir::MLIRContext> context = ir::makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_P(OpCaseTest, InterpreterAgreesWithDefinition) {
  reference::TensorMap expected =
      runNaively(*module, GetParam().weights, GetParam().inputs);
  auto got = interpret(*module, GetParam());
  ASSERT_TRUE(got.isOk()) << got.status().message();
  EXPECT_EQ(got->size(), expected.size());
  EXPECT_EQ(compareTensors(expected, *got, kNaiveTolerance), "")
      << "seed " << freshSeed() << "\n"
      << GetParam().moduleText;
}

TEST_P(OpCaseTest, IsALegalModel) {
  Status status = passes::verifyPhase(*module);
  EXPECT_TRUE(status.isOk()) << status.message();
}

TEST_P(OpCaseTest, KernelsComputeTheSame) {
  expectSameAfter(ir::Phase::Kernels);
}

TEST_P(OpCaseTest, ProgramComputesTheSame) {
  expectSameAfter(ir::Phase::Program);
}

INSTANTIATE_TEST_SUITE_P(Table, OpCaseTest,
                         testing::ValuesIn(allOpCases(freshSeed())),
                         [](const testing::TestParamInfo<OpCase> &info) {
                           return info.param.name;
                         });

TEST(OpCaseTable, NamesAreDistinctAndSeedsReproduce) {
  std::vector<OpCase> first = allOpCases(7), again = allOpCases(7);
  std::vector<OpCase> other = allOpCases(8);
  std::set<std::string> names;
  ASSERT_EQ(first.size(), again.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(names.insert(first[i].name).second) << first[i].name;
    EXPECT_EQ(compareTensors(first[i].inputs, again[i].inputs, 0), "");
    EXPECT_EQ(compareTensors(first[i].weights, again[i].weights, 0), "");
    EXPECT_EQ(first[i].moduleText, other[i].moduleText);
  }
  EXPECT_NE(compareTensors(first[3].weights, other[3].weights, 0), "");
}

TEST(CompareTensors, SaysWhereTensorsDiffer) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  reference::Tensor tensor{{3}, {100, 0, kInf}, {}};
  reference::Tensor close{{3}, {100, 0.9e-4, kInf}, {}};
  reference::Tensor far{{3}, {100, 1.1e-4, kInf}, {}};
  EXPECT_EQ(compareTensors(tensor, close, 1e-6), "");
  EXPECT_NE(compareTensors(tensor, far, 1e-6).find("element 1"),
            std::string::npos);
  EXPECT_NE(compareTensors(tensor, {{3}, {100, kNaN, kInf}, {}}, 1), "");
  EXPECT_NE(compareTensors(tensor, {{3}, {100, 0, -kInf}, {}}, 1), "");
  EXPECT_NE(compareTensors({{1}, {kNaN}, {}}, {{1}, {0}, {}}, 1), "");
  EXPECT_EQ(compareTensors({{1}, {kNaN}, {}}, {{1}, {kNaN}, {}}, 0), "");
  EXPECT_NE(compareTensors(tensor, {{1, 3}, tensor.real, {}}, 1), "");
  EXPECT_NE(compareTensors({{1}, {}, {4}}, {{1}, {}, {5}}, 1), "");
}

} // namespace
} // namespace betz
