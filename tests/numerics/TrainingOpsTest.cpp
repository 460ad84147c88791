//===- TrainingOpsTest.cpp - Values known beforehand, and bad input -------===//
//
// Of the ops that only training needs. Gradient ops are held to finite
// differences in GradientRuleTest.cpp.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/Interpreter.h"
#include "tests/numerics/CaseBuilder.h"
#include "tests/numerics/OpCases.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace betz {
namespace {

using reference::Tensor;
using reference::TensorMap;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class TrainingOpsTest : public testing::Test {
protected:
  Result<TensorMap> run(const std::vector<Value> &outputs) {
    OpCase opCase = b.finish(outputs);
    auto context = ir::makeContext();
    BETZ_ASSIGN_OR_RETURN(auto module,
                          ir::parseModule(*context, opCase.moduleText, "case"));
    return reference::runMain(*module, {}, opCase.inputs);
  }

  /// Output "out0".
  Tensor value(const Value &output) {
    auto outputs = run({output});
    EXPECT_TRUE(outputs.isOk()) << outputs.status().message();
    return outputs.isOk() ? outputs->at("out0") : Tensor();
  }

  std::string error(const Value &output) {
    auto outputs = run({output});
    EXPECT_FALSE(outputs.isOk());
    return outputs.status().message();
  }

  Value reals(const std::string &name, const Rows &rows,
              const std::vector<int64_t> &inner, std::vector<double> values) {
    Value input = b.input(name, rows, inner);
    b.tensor(input).real = std::move(values);
    return input;
  }

  CaseBuilder b{1};
};

const std::string kScalar = "tensor<1xf32>";

void expectNear(const std::vector<double> &got,
                const std::vector<double> &expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-14) << "element " << i;
}

TEST_F(TrainingOpsTest, ContractRows) {
  Value x = reals("a", {"batch", 2}, {2}, {1, 2, 3, 4});
  Value y = reals("b", {"batch", 2}, {3}, {1, 0, -1, 2, 5, 1});
  expectNear(
      value(b.op("contract_rows %a, %b", {x, y}, "tensor<2x3xf32>")).real,
      {7, 15, 2, 10, 20, 2});
}

TEST_F(TrainingOpsTest, SumsOfNoRowsAreZero) {
  const Rows none{"batch", 0};
  Value x = reals("x", none, {2}, {});
  Value i = b.integerInput("i", none, {});
  auto outputs = run({b.op("contract_rows %x, %x", {x, x}, "tensor<2x2xf32>"),
                      b.op("column_sum %x", {x}, "tensor<2xf32>"),
                      b.op("scatter_sum %i, %x", {i, x}, "tensor<3x2xf32>"),
                      b.op("square_sum %x", {x}, kScalar),
                      b.op("mse_loss %x, %x", {x, x}, kScalar),
                      b.op("cross_entropy %x, %i", {x, i}, kScalar)});
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  for (const auto &[name, tensor] : *outputs) {
    EXPECT_FALSE(tensor.real.empty()) << name;
    for (double element : tensor.real)
      EXPECT_EQ(element, 0) << name;
  }
}

TEST_F(TrainingOpsTest, ScatterSum) {
  Value i = b.integerInput("i", {"batch", 2}, {2, 0, 2, 2}, {2});
  Value x = reals("x", {"batch", 2}, {2, 1}, {1, 2, 4, 8});
  expectNear(value(b.op("scatter_sum %i, %x", {i, x}, "tensor<4x1xf32>")).real,
             {2, 0, 13, 0});
}

TEST_F(TrainingOpsTest, ScatterSumNamesAnIndexOutOfRange) {
  Value i = b.integerInput("i", {"batch", 2}, {0, 4});
  Value x = b.input("x", {"batch", 2}, {1});
  EXPECT_EQ(error(b.op("scatter_sum %i, %x", {i, x}, "tensor<4x1xf32>")),
            "@main: betz.scatter_sum: 'i'[1] is 4, but the result has 4 rows");
}

TEST_F(TrainingOpsTest, DropoutIsOfSeedSiteAndIndex) {
  Value x = reals("x", {"batch", 4}, {3}, std::vector<double>(12, 7));
  Value seed = b.integerInput("seed", {"", 2}, {17, -4});
  auto dropout = [&](int site) {
    return b.op("dropout %x, %seed {rate = 0.3 : f64, site = " +
                    std::to_string(site) + " : i64}",
                {x, seed}, x.type);
  };
  auto outputs = run({dropout(2), dropout(3)});
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  expectNear(outputs->at("out0").real,
             {0, 10, 10, 0, 10, 10, 0, 0, 10, 10, 0, 10});
  expectNear(outputs->at("out1").real,
             {0, 10, 0, 10, 0, 10, 10, 10, 0, 0, 0, 10});
}

TEST_F(TrainingOpsTest, CrossEntropyLeavesNegativeLabelsOut) {
  Value logits =
      reals("x", {"batch", 3}, {2}, {0, 0, std::log(3), 0, 1e6, -1e6});
  Value label = b.integerInput("label", {"batch", 3}, {1, 0, -1});
  expectNear(
      value(b.op("cross_entropy %x, %label", {logits, label}, kScalar)).real,
      {(std::log(2) + std::log(4.0 / 3)) / 2});
}

TEST_F(TrainingOpsTest, CrossEntropyNamesALabelThatIsNoClass) {
  Value logits = b.input("x", {"batch", 2}, {2});
  Value label = b.integerInput("label", {"batch", 2}, {1, 2});
  EXPECT_EQ(error(b.op("cross_entropy %x, %label", {logits, label}, kScalar)),
            "@main: betz.cross_entropy: 'label'[1] is 2, but there are 2 "
            "classes");
}

TEST_F(TrainingOpsTest, LogSumExpOfNoKeyIsInfinite) {
  Value q = reals("q", {"batch", 2}, {1, 1}, {1, 1});
  Value k = reals("k", {"events", 2}, {1}, {0, std::log(3)});
  Value splits = b.integerInput("s", {"batch", 2, 1}, {0, 0, 2});
  Tensor lse = value(b.op("attention_lse %q, %k splits %s {heads = 1 : i64, "
                          "kv_heads = 1 : i64, scale = 1.0 : f64}",
                          {q, k, splits}, floats({"batch", 2}, {1, 1})));
  EXPECT_EQ(lse.real[0], kInfinity);
  EXPECT_NEAR(lse.real[1], std::log(4), 1e-14);
}

TEST_F(TrainingOpsTest, ElementwiseOps) {
  Value x = reals("x", {"batch", 2}, {2}, {0, 1, -1, 40});
  auto outputs =
      run({b.op("sigmoid %x", {x}, x.type), b.op("tanh %x", {x}, x.type),
           b.op("sub %x, %x", {x, x}, x.type)});
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  expectNear(outputs->at("out0").real,
             {0.5, 0.7310585786300049, 0.2689414213699951, 1});
  expectNear(outputs->at("out1").real,
             {0, 0.7615941559557649, -0.7615941559557649, 1});
  expectNear(outputs->at("out2").real, {0, 0, 0, 0});
}

/// One step by hand, with a gradient of norm 5 clipped to 1.
TEST_F(TrainingOpsTest, AdamwClipsDecaysAndMoves) {
  const Rows two{"", 2};
  Value w = reals("w", two, {}, {1, -2}), m = reals("m", two, {}, {0, 0});
  Value v = reals("v", two, {}, {0, 0}), g = reals("g", two, {}, {6, 8});
  Value squares = reals("squares", {"", 1}, {}, {100});
  Value schedule = reals("schedule", {"", 4}, {}, {0.1, 2, 4, 0.5});
  OpCase opCase = b.finish({w});
  auto context = ir::makeContext();
  auto module = ir::parseModule(*context, R"(
    func.func @main(%w: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>,
                    %g: tensor<2xf32>, %s: tensor<1xf32>, %c: tensor<4xf32>) {
      %0:3 = betz.adamw %w, %m, %v, %g, %s, %c {beta1 = 0.5 : f64,
          beta2 = 0.75 : f64, eps = 1.0e-8 : f64, weight_decay = 0.2 : f64,
          clip = 1.0 : f64}
          : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
             tensor<1xf32>, tensor<4xf32>)
          -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
      return
    })",
                                "adamw");
  ASSERT_TRUE(module.isOk()) << module.status().message();
  auto tensor = [&](const Value &input) {
    return &opCase.inputs.at(input.name.substr(1));
  };
  auto results =
      reference::evaluate(&ir::getMain(**module).getBody().front().front(),
                          {tensor(w), tensor(m), tensor(v), tensor(g),
                           tensor(squares), tensor(schedule)});
  ASSERT_TRUE(results.isOk()) << results.status().message();
  // g becomes (0.6, 0.8), but for the 1e-6 beside the norm.
  const double factor = 1 / (5 + 1e-6);
  const double g0 = 3 * factor, g1 = 4 * factor;
  expectNear((*results)[1].real, {g0 / 2, g1 / 2});
  expectNear((*results)[2].real, {g0 * g0 / 4, g1 * g1 / 4});
  expectNear((*results)[0].real,
             {0.98 - 0.1 * g0 / (g0 + 1e-8), -1.96 - 0.1 * g1 / (g1 + 1e-8)});
}

} // namespace
} // namespace betz
