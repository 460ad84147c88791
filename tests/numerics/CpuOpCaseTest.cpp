//===- CpuOpCaseTest.cpp - The op-case table as generated CPU code --------===//
#include "codegen/Compiler.h"
#include "ir/reference/Interpreter.h"
#include "tests/numerics/CpuRunner.h"
#include "tests/numerics/OpCases.h"

#include <gtest/gtest.h>
#include <random>

namespace betz {

/// What GoogleTest prints for a parameter.
void PrintTo(const OpCase &opCase, std::ostream *stream) {
  *stream << opCase.name;
}

namespace {

uint64_t freshSeed() {
  static const uint64_t seed = std::random_device()();
  return seed;
}

/// Rows that have no CPU code, and what the compiler says of them.
const std::map<std::string, std::string> kRefused = {
    // An output is dense memory; a slice of a row is not.
    {"slice_output", "output \"out0\" is a slice of a larger tensor"},
};

CompileOptions smallBuckets() {
  CompileOptions options;
  options.batches = {1, 64};
  options.maxEvents = 1024;
  return options;
}

class CpuOpCaseTest : public testing::TestWithParam<OpCase> {
protected:
  void SetUp() override {
    auto parsed =
        ir::parseModule(*context, GetParam().moduleText, GetParam().name);
    ASSERT_TRUE(parsed.isOk()) << parsed.status().message();
    module = std::move(*parsed);
  }

  std::unique_ptr<mlir::MLIRContext> context = ir::makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_P(CpuOpCaseTest, AgreesWithTheInterpreter) {
  const OpCase &opCase = GetParam();
  auto derived = reference::runPrepare(*module, opCase.weights);
  ASSERT_TRUE(derived.isOk()) << derived.status().message();
  auto expected = reference::runMain(*module, *derived, opCase.inputs);
  ASSERT_TRUE(expected.isOk()) << expected.status().message();

  auto program = compileModule(*module, opCase.weights, smallBuckets());
  if (auto refused = kRefused.find(opCase.name); refused != kRefused.end()) {
    ASSERT_FALSE(program.isOk()) << "compiles now: take it off the list";
    EXPECT_EQ(program.status().getCode(), StatusCode::InvalidArgument);
    EXPECT_EQ(program.status().message(), refused->second);
    return;
  }
  ASSERT_TRUE(program.isOk()) << program.status().message();
  for (const std::string &level : runnableLevels(**program)) {
    auto runner = CpuRunner::open(*program, level);
    ASSERT_TRUE(runner.isOk()) << runner.status().message();
    for (TaskCut cut : {TaskCut{}, TaskCut{1, freshSeed()}}) {
      auto got = runner->run(opCase.inputs, cut);
      ASSERT_TRUE(got.isOk()) << got.status().message();
      EXPECT_EQ(compareTensors(*expected, *got, opCase.cpuTolerance), "")
          << level << ", pieces of " << cut.largest << ", seed " << freshSeed();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, CpuOpCaseTest,
                         testing::ValuesIn(allOpCases(freshSeed())),
                         [](const testing::TestParamInfo<OpCase> &info) {
                           return info.param.name;
                         });

TEST(CpuOpCaseTable, RefusedRowsExist) {
  std::set<std::string> names;
  for (const OpCase &opCase : allOpCases())
    names.insert(opCase.name);
  for (const auto &[name, message] : kRefused)
    EXPECT_TRUE(names.count(name)) << name;
}

} // namespace
} // namespace betz
