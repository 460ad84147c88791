//===- CpuOpCaseTest.cpp - The op-case table as generated CPU code --------===//
#include "codegen/Compiler.h"
#include "ir/reference/Interpreter.h"
#include "tests/numerics/CaseBuilder.h"
#include "tests/numerics/CpuRunner.h"
#include "tests/numerics/OpCases.h"

#include <bit>
#include <cmath>
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
    // The CPU computes in f32.
    {"cast", "the CPU generates no code for elements of type bf16"},
    {"cast_nonfinite", "the CPU generates no code for elements of type bf16"},
    {"cast_nothing", "the CPU generates no code for elements of type bf16"},
    // What GPU kernels hand to each other.
    {"square_sums", "betz.square_sums at this place"},
    {"square_sums_nonfinite", "betz.square_sums at this place"},
    {"square_sums_nothing", "betz.square_sums at this place"},
    {"scale_from_squares", "betz.square_sums at this place"},
};

CompileOptions smallBuckets() {
  CompileOptions options;
  options.batches = {1, 64};
  options.maxEvents = 1024;
  return options;
}

/// Values that one run of each level gave, by the level's name.
using ByLevel = std::map<std::string, reference::TensorMap>;

/// Of each element; the sign and payload of a NaN mean nothing.
std::vector<uint64_t> bitsOf(const reference::Tensor &tensor) {
  std::vector<uint64_t> bits;
  for (double value : tensor.real)
    bits.push_back(std::isnan(value) ? ~uint64_t(0)
                                     : std::bit_cast<uint64_t>(value));
  bits.insert(bits.end(), tensor.integer.begin(), tensor.integer.end());
  return bits;
}

/// Eight lanes or sixteen, the order of every sum is the same.
void expectWideBitsEqual(const ByLevel &outputs) {
  if (!outputs.count("avx512") || !outputs.count("avx2"))
    return;
  for (const auto &[name, tensor] : outputs.at("avx2"))
    EXPECT_EQ(bitsOf(tensor), bitsOf(outputs.at("avx512").at(name)))
        << name << ", seed " << freshSeed();
}

void expectAgreement(const OpCase &opCase) {
  auto context = ir::makeContext();
  auto module = ir::parseModule(*context, opCase.moduleText, opCase.name);
  ASSERT_TRUE(module.isOk()) << module.status().message();
  auto derived = reference::runPrepare(**module, opCase.weights);
  ASSERT_TRUE(derived.isOk()) << derived.status().message();
  auto expected = reference::runMain(**module, *derived, opCase.inputs);
  ASSERT_TRUE(expected.isOk()) << expected.status().message();

  auto program = compileModule(**module, opCase.weights, smallBuckets());
  if (auto refused = kRefused.find(opCase.name); refused != kRefused.end()) {
    ASSERT_FALSE(program.isOk()) << "compiles now: take it off the list";
    EXPECT_EQ(program.status().getCode(), StatusCode::InvalidArgument);
    EXPECT_NE(program.status().message().find(refused->second),
              std::string::npos)
        << program.status().message();
    return;
  }
  ASSERT_TRUE(program.isOk()) << program.status().message();
  ByLevel outputs;
  for (const std::string &level : runnableLevels(**program)) {
    auto runner = CpuRunner::open(*program, level);
    ASSERT_TRUE(runner.isOk()) << runner.status().message();
    for (TaskCut cut : {TaskCut{}, TaskCut{1, freshSeed()}}) {
      auto got = runner->run(opCase.inputs, cut);
      ASSERT_TRUE(got.isOk()) << got.status().message();
      EXPECT_EQ(compareTensors(*expected, *got, opCase.cpuTolerance), "")
          << level << ", pieces of " << cut.largest << ", seed " << freshSeed();
      outputs[level] = std::move(*got);
    }
  }
  expectWideBitsEqual(outputs);
}

class CpuOpCaseTest : public testing::TestWithParam<OpCase> {};

TEST_P(CpuOpCaseTest, AgreesWithTheInterpreter) { expectAgreement(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Table, CpuOpCaseTest,
                         testing::ValuesIn(allOpCases(freshSeed())),
                         [](const testing::TestParamInfo<OpCase> &info) {
                           return info.param.name;
                         });

/// Normalised rows of which six do not fit a kernel's scratch memory; too slow
/// for the definitions of NaiveOps, so no row of the table.
TEST(CpuWideRows, AgreeWithTheInterpreter) {
  constexpr int64_t kColumns = 12000;
  const Rows rows{"batch", 7};
  CaseBuilder b(freshSeed());
  Value x = b.input("x", rows, {kColumns});
  Value n = b.op("norm rms %x, %gain {eps = 1.0e-5 : f64}",
                 {x, b.weight("gain", {kColumns})}, x.type);
  Value y = b.op("matmul " + n.name + ", %w", {n, b.weight("w", {5, kColumns})},
                 floats(rows, {5}));
  OpCase opCase = b.finish({y});
  opCase.name = "wide_rows";
  opCase.cpuTolerance = 2e-5;
  expectAgreement(opCase);
}

TEST(CpuOpCaseTable, RefusedRowsExist) {
  std::set<std::string> names;
  for (const OpCase &opCase : allOpCases())
    names.insert(opCase.name);
  for (const auto &[name, message] : kRefused)
    EXPECT_TRUE(names.count(name)) << name;
}

} // namespace
} // namespace betz
