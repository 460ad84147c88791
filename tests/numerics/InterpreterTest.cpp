//===- InterpreterTest.cpp - Values known beforehand, and bad input -------===//
#include "ir/reference/Interpreter.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace betz::reference {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A module with the given `@main` and an empty `@prepare`.
class InterpreterTest : public testing::Test {
protected:
  void parse(const std::string &text) {
    auto parsed = ir::parseModule(*context, text, "test");
    ASSERT_TRUE(parsed.isOk()) << parsed.status().message();
    module = std::move(*parsed);
  }

  /// Output "y" of `@main`.
  Tensor run(const TensorMap &inputs) {
    auto outputs = runMain(*module, {}, inputs);
    EXPECT_TRUE(outputs.isOk()) << outputs.status().message();
    return outputs.isOk() ? outputs->at("y") : Tensor();
  }

  std::string runError(const TensorMap &inputs) {
    auto outputs = runMain(*module, {}, inputs);
    EXPECT_FALSE(outputs.isOk());
    return outputs.status().message();
  }

  std::unique_ptr<mlir::MLIRContext> context = ir::makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// A `@main` of one op from x: f32[3, columns].
std::string unary(const std::string &op, int columns) {
  std::string type = "tensor<3x" + std::to_string(columns) + "xf32>";
  return "func.func @main(%x: " + type + " {betz.input = \"x\"}) -> (" + type +
         " {betz.output = \"y\"}) {\n  %y = " + op + " : (" + type + ") -> " +
         type + "\n  return %y : " + type + "\n}";
}

void expectNear(const std::vector<double> &got,
                const std::vector<double> &expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-14) << "element " << i;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TEST_F(InterpreterTest, Gelu) {
  parse(unary("betz.gelu %x", 2));
  Tensor y = run({{"x", {{3, 2}, {1, -1, 0, -0.0, 1e-310, kInfinity}, {}}}});
  expectNear({y.real.begin(), y.real.begin() + 5},
             {0.8413447460685429, -0.15865525393145705, 0, 0, 5e-311});
  EXPECT_TRUE(std::signbit(y.real[3]));
  EXPECT_EQ(y.real[4], 5e-311);
  EXPECT_EQ(y.real[5], kInfinity);
}

TEST_F(InterpreterTest, RotaryTurnsPairsByPosition) {
  // Two heads of one pair; a period of 4 makes quarter turns.
  parse(unary("betz.rotary %x {heads = 2 : i64, offset = 0.0 : f64, step = 1.0 "
              ": f64, period_min = 4.0 : f64, period_max = 8.0 : f64}",
              4));
  Tensor y = run({{"x", {{3, 4}, {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, {}}}});
  expectNear(y.real, {1, 2, 3, 4, -2, 1, -4, 3, -1, -2, -3, -4});
}

TEST_F(InterpreterTest, RotaryPeriodsRiseToTheLongest) {
  // Pairs (0, 2) with period 4 and (1, 3) with period 8.
  parse(unary("betz.rotary %x {heads = 1 : i64, offset = 1.0 : f64, step = 0.5 "
              ": f64, period_min = 4.0 : f64, period_max = 8.0 : f64}",
              4));
  Tensor y = run({{"x", {{3, 4}, {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0}, {}}}});
  const double half = std::numbers::sqrt2 / 2;
  const double c = std::cos(std::numbers::pi / 8);
  const double s = std::sin(std::numbers::pi / 8);
  const double c3 = std::cos(3 * std::numbers::pi / 8);
  const double s3 = std::sin(3 * std::numbers::pi / 8);
  expectNear(y.real, {half, c, half, s, 0, half, 1, half, -half, c3, half, s3});
}

TEST_F(InterpreterTest, NormsOfKnownRows) {
  const char *text = R"(
func.func @main(%x: tensor<1x4xf32> {betz.input = "x"},
                %g: tensor<4xf32> {betz.input = "g"},
                %s: tensor<4xf32> {betz.input = "s"})
    -> (tensor<1x4xf32> {betz.output = "y"}) {
  %y = betz.norm KIND %x, %g, %s {eps = 0.75 : f64}
      : (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
})";
  TensorMap inputs = {{"x", {{1, 4}, {1, 2, 3, 4}, {}}},
                      {"g", {{4}, {1, 1, 2, 1}, {}}},
                      {"s", {{4}, {0, 0, 0, 10}, {}}}};
  std::string layer = text, rms = text;
  layer.replace(layer.find("KIND"), 4, "layer");
  rms.replace(rms.find("KIND"), 4, "rms");
  const double deviation = std::sqrt(1.25 + 0.75);
  parse(layer);
  expectNear(run(inputs).real, {-1.5 / deviation, -0.5 / deviation,
                                1 / deviation, 10 + 1.5 / deviation});
  const double size = std::sqrt(7.5 + 0.75);
  parse(rms);
  expectNear(run(inputs).real, {1 / size, 2 / size, 6 / size, 10 + 4 / size});
}

TEST_F(InterpreterTest, ReachBounds) {
  parse(R"(
func.func @main() -> (tensor<2x2xi32> {betz.output = "y"},
                      tensor<1x2xi32> {betz.output = "none"},
                      tensor<1x2xi32> {betz.output = "all"}) {
  %y = betz.reach_bounds {span = 4.0 : f64, reach = 1.0 : f64}
      : () -> tensor<2x2xi32>
  %none = betz.reach_bounds {span = 2.0 : f64, reach = 0.25 : f64}
      : () -> tensor<1x2xi32>
  %all = betz.reach_bounds {span = 2.0 : f64, reach = 1.0e300 : f64}
      : () -> tensor<1x2xi32>
  return %y, %none, %all
      : tensor<2x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>
})");
  auto outputs = runMain(*module, {}, {});
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  // A distance of exactly the reach is within it.
  EXPECT_EQ(outputs->at("y").integer, (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_GT(outputs->at("none").integer[0], outputs->at("none").integer[1]);
  EXPECT_EQ(outputs->at("all").integer,
            (std::vector<int32_t>{INT32_MIN, INT32_MAX}));
}

constexpr const char *kDenseAttention = R"(
func.func @main(%q: tensor<2x2xf32> {betz.input = "q"},
                %k: tensor<?x3x1xf32, #betz.rows<"batch">> {betz.input = "k"},
                %v: tensor<?x3x1xf32, #betz.rows<"batch">> {betz.input = "v"})
    -> (tensor<?x2x2xf32, #betz.rows<"batch">> {betz.output = "y"}) {
  %y = betz.attention %q, %k, %v
      {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.5 : f64 CAUSAL}
      : (tensor<2x2xf32>, tensor<?x3x1xf32, #betz.rows<"batch">>,
         tensor<?x3x1xf32, #betz.rows<"batch">>)
      -> tensor<?x2x2xf32, #betz.rows<"batch">>
  return %y : tensor<?x2x2xf32, #betz.rows<"batch">>
})";

TEST_F(InterpreterTest, AttentionSharesQueriesAndKeyHeads) {
  std::string text = kDenseAttention;
  parse(text.replace(text.find("CAUSAL"), 6, ""));
  // exp(0.5 q k) is 1, 2 or 4.
  const double one = 2 * std::log(2.0);
  Tensor y = run({{"q", {{2, 2}, {0, one, one, 0}, {}}},
                  {"k", {{2, 3, 1}, {0, 1, 2, 2, 2, 0}, {}}},
                  {"v", {{2, 3, 1}, {7, 14, 28, 9, 18, 27}, {}}}});
  EXPECT_EQ(y.shape, (std::vector<int64_t>{2, 2, 2}));
  const double mean = 49.0 / 3, sharp = (7 + 2 * 14 + 4 * 28) / 7.0;
  const double mean2 = 18, sharp2 = (4 * 9 + 4 * 18 + 27) / 9.0;
  expectNear(y.real, {mean, sharp, sharp, mean, mean2, sharp2, sharp2, mean2});
}

TEST_F(InterpreterTest, CausalQueriesEndWithTheKeys) {
  std::string text = kDenseAttention;
  parse(text.replace(text.find("CAUSAL"), 6, ", causal"));
  // Query 0 sees keys 0 and 1, query 1 all: a later NaN does not reach it.
  Tensor y = run({{"q", {{2, 2}, {0, 0, 0, 0}, {}}},
                  {"k", {{1, 3, 1}, {0, 1, kNaN}, {}}},
                  {"v", {{1, 3, 1}, {7, 15, kNaN}, {}}}});
  expectNear({y.real[0], y.real[1]}, {11, 11});
  EXPECT_TRUE(std::isnan(y.real[2]) && std::isnan(y.real[3]));
}

TEST_F(InterpreterTest, QueriesThatSeeNothingGiveZeros) {
  parse(R"(
func.func @main(%q: tensor<2x1xf32> {betz.input = "q"},
                %k: tensor<?x1xf32, #betz.rows<"events">> {betz.input = "k"},
                %s: tensor<?xi32, #betz.rows<"batch" + 1>> {betz.input = "s"},
                %t: tensor<?xi32, #betz.rows<"events">> {betz.input = "t"},
                %b: tensor<2x2xi32> {betz.input = "b"})
    -> (tensor<?x2x1xf32, #betz.rows<"batch">> {betz.output = "y"}) {
  %y = betz.attention %q, %k, %k splits %s bounds %t, %b
      {heads = 1 : i64, kv_heads = 1 : i64, scale = 0.5 : f64}
      : (tensor<2x1xf32>, tensor<?x1xf32, #betz.rows<"events">>,
         tensor<?x1xf32, #betz.rows<"events">>,
         tensor<?xi32, #betz.rows<"batch" + 1>>,
         tensor<?xi32, #betz.rows<"events">>, tensor<2x2xi32>)
      -> tensor<?x2x1xf32, #betz.rows<"batch">>
  return %y : tensor<?x2x1xf32, #betz.rows<"batch">>
})");
  TensorMap inputs = {{"q", {{2, 1}, {0, kNaN}, {}}},
                      {"k", {{3, 1}, {4, 6, kNaN}, {}}},
                      {"s", {{4}, {}, {0, 2, 2, 3}}},
                      {"t", {{3}, {}, {1, 2, 8}}},
                      // Up to and with both ends; then nothing at all.
                      {"b", {{2, 2}, {}, {1, 2, 1, 0}}}};
  EXPECT_EQ(run(inputs).real, (std::vector<double>{5, 0, 0, 0, 0, 0}));
  inputs["s"] = {{1}, {}, {0}};
  inputs["k"] = {{0, 1}, {}, {}};
  inputs["t"] = {{0}, {}, {}};
  EXPECT_EQ(run(inputs).shape, (std::vector<int64_t>{0, 2, 1}));
}

TEST_F(InterpreterTest, PackedWeightsGiveTheSameBits) {
  parse(R"(
func.func @main(%x: tensor<2x3xf32> {betz.input = "x"},
                %w: tensor<5x3xf32> {betz.input = "w"})
    -> (tensor<2x5xf32> {betz.output = "y"},
        tensor<2x5xf32> {betz.output = "packed"},
        tensor<2x3x4xf32> {betz.output = "panels"}) {
  %y = betz.matmul %x, %w : (tensor<2x3xf32>, tensor<5x3xf32>) -> tensor<2x5xf32>
  %p = betz.pack_panels %w {panel = 4 : i64}
      : (tensor<5x3xf32>) -> tensor<2x3x4xf32>
  %z = betz.matmul %x, %p {columns = 5 : i64}
      : (tensor<2x3xf32>, tensor<2x3x4xf32>) -> tensor<2x5xf32>
  return %y, %z, %p : tensor<2x5xf32>, tensor<2x5xf32>, tensor<2x3x4xf32>
})");
  Tensor w{{5, 3}, {}, {}};
  for (int n = 0; n < 5; ++n)
    for (int k = 0; k < 3; ++k)
      w.real.push_back(10 * (n + 1) + k);
  auto outputs = runMain(*module, {},
                         {{"x", {{2, 3}, {1, 0, 0, 1, 2, -1}, {}}}, {"w", w}});
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  EXPECT_EQ(outputs->at("y").real,
            (std::vector<double>{10, 20, 30, 40, 50, 20, 40, 60, 80, 100}));
  EXPECT_EQ(outputs->at("packed").real, outputs->at("y").real);
  EXPECT_EQ(
      outputs->at("panels").real,
      (std::vector<double>{10, 20, 30, 40, 11, 21, 31, 41, 12, 22, 32, 42,
                           50, 0,  0,  0,  51, 0,  0,  0,  52, 0,  0,  0}));
}

TEST_F(InterpreterTest, KernelsRunTheirRegions) {
  parse(R"(
func.func @main(%x: tensor<?x2xf32, #betz.rows<"events">> {betz.input = "x"},
                %w: tensor<2x2xf32> {betz.input = "w"})
    -> (tensor<?x2xf32, #betz.rows<"events">> {betz.output = "y"},
        tensor<?x2xf32, #betz.rows<"events">> {betz.output = "product"}) {
  %s, %p = betz.kernel matmul "m" (%x, %w)
      : (tensor<?x2xf32, #betz.rows<"events">>, tensor<2x2xf32>)
      -> (tensor<?x2xf32, #betz.rows<"events">>,
          tensor<?x2xf32, #betz.rows<"events">>) {
  ^bb0(%a: tensor<?x2xf32, #betz.rows<"events">>, %b: tensor<2x2xf32>):
    %m = betz.matmul %a, %b
        : (tensor<?x2xf32, #betz.rows<"events">>, tensor<2x2xf32>)
        -> tensor<?x2xf32, #betz.rows<"events">>
    %r = betz.add %m, %a
        : (tensor<?x2xf32, #betz.rows<"events">>,
           tensor<?x2xf32, #betz.rows<"events">>)
        -> tensor<?x2xf32, #betz.rows<"events">>
    betz.yield %r, %m : tensor<?x2xf32, #betz.rows<"events">>,
                        tensor<?x2xf32, #betz.rows<"events">>
  }
  return %s, %p : tensor<?x2xf32, #betz.rows<"events">>,
                  tensor<?x2xf32, #betz.rows<"events">>
})");
  auto outputs = runMain(
      *module, {},
      {{"x", {{1, 2}, {1, 10}, {}}}, {"w", {{2, 2}, {1, 1, 2, 0}, {}}}});
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  EXPECT_EQ(outputs->at("product").real, (std::vector<double>{11, 2}));
  EXPECT_EQ(outputs->at("y").real, (std::vector<double>{12, 12}));
}

TEST_F(InterpreterTest, EvaluatesOneOp) {
  parse(R"(
func.func @main(%x: tensor<6xi32> {betz.input = "x"})
    -> (tensor<2xi32> {betz.output = "y"}) {
  %y = betz.slice %x {offset = 3 : i64} : (tensor<6xi32>) -> tensor<2xi32>
  return %y : tensor<2xi32>
})");
  mlir::Operation *slice = &ir::getMain(*module).getBody().front().front();
  Tensor x{{6}, {}, {10, 11, 12, 13, 14, 15}};
  auto results = evaluate(slice, {&x});
  ASSERT_TRUE(results.isOk()) << results.status().message();
  EXPECT_EQ(results->front().integer, (std::vector<int32_t>{13, 14}));
  EXPECT_FALSE(evaluate(slice, {}).isOk());
  Tensor real{{6}, {1, 2, 3, 4, 5, 6}, {}};
  EXPECT_EQ(evaluate(slice, {&real}).status().message(),
            "betz.slice: 'x' is real [6], expected i32 [6]");
  Tensor torn{{6}, {}, {1, 2}};
  EXPECT_FALSE(evaluate(slice, {&torn}).isOk());
}

//===----------------------------------------------------------------------===//
// Bad input
//===----------------------------------------------------------------------===//

constexpr const char *kRagged = R"(
!events = tensor<?xi32, #betz.rows<"events">>
!splits = tensor<?xi32, #betz.rows<"batch" + 1>>
!batch = tensor<?xi32, #betz.rows<"batch">>
!rows = tensor<?x2xf32, #betz.rows<"events">>
module {
func.func @prepare(%w: tensor<4x2xf32> {betz.weight = "table"},
                   %u: tensor<2xf32> {betz.weight = "gain"})
    -> (tensor<4x2xf32> {betz.derived = "table"}) {
  %t = betz.mul %w, %u : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %t : tensor<4x2xf32>
}
func.func @main(%t: tensor<4x2xf32> {betz.derived = "table"},
                %clock: !events {betz.input = "time_bin"},
                %s: !splits {betz.input = "row_splits", betz.alias = "offsets"},
                %start: !batch {betz.input = "start", betz.default = 100 : i32})
    -> (!rows {betz.output = "y"}) {
  %time = betz.segment_sub %clock, %start, %s
      : (!events, !batch, !splits) -> !events
  %y = betz.gather_sum (%time) in (%t) : (!events, tensor<4x2xf32>) -> !rows
  return %y : !rows
}
})";

class RaggedTest : public InterpreterTest {
protected:
  void SetUp() override { parse(kRagged); }

  std::string raggedError(const TensorMap &inputs) {
    auto outputs = runMain(*module, derived, inputs);
    EXPECT_FALSE(outputs.isOk());
    EXPECT_EQ(outputs.status().getCode(), StatusCode::InvalidArgument);
    return outputs.status().message();
  }
  std::string errorFor(std::vector<int32_t> times,
                       std::vector<int32_t> splits) {
    auto events = int64_t(times.size()), ends = int64_t(splits.size());
    return raggedError({{"time_bin", {{events}, {}, std::move(times)}},
                        {"row_splits", {{ends}, {}, std::move(splits)}}});
  }

  TensorMap derived = {{"table", {{4, 2}, {0, 1, 10, 11, 20, 21, 30, 31}, {}}}};
};

TEST_F(RaggedTest, AliasesAndDefaults) {
  TensorMap inputs = {{"time_bin", {{3}, {}, {103, 100, 101}}},
                      {"offsets", {{3}, {}, {0, 1, 3}}},
                      {"unrelated", {{1}, {5}, {}}}};
  auto outputs = runMain(*module, derived, inputs);
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  EXPECT_EQ(outputs->at("y").real, (std::vector<double>{30, 31, 0, 1, 10, 11}));
  inputs["start"] = {{2}, {}, {102, 98}};
  outputs = runMain(*module, derived, inputs);
  ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
  EXPECT_EQ(outputs->at("y").real,
            (std::vector<double>{10, 11, 20, 21, 30, 31}));
}

TEST_F(RaggedTest, PrepareListsAllThatIsWrong) {
  auto results = runPrepare(*module, {{"table", {{4, 3}, {}, {}}}});
  ASSERT_FALSE(results.isOk());
  EXPECT_EQ(results.status().message(),
            "@prepare: weight 'table' is [4, 3], expected f32 [4, 2]; weight "
            "'gain' is missing, expected f32 [2]");
  results =
      runPrepare(*module, {{"table", {{4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, {}}},
                           {"gain", {{2}, {1, 10}, {}}}});
  ASSERT_TRUE(results.isOk()) << results.status().message();
  EXPECT_EQ(results->at("table").real,
            (std::vector<double>{1, 20, 3, 40, 5, 60, 7, 80}));
}

TEST_F(RaggedTest, MainListsAllThatIsWrong) {
  derived.clear();
  EXPECT_EQ(raggedError({{"time_bin", {{1, 1}, {}, {0}}}}),
            "@main: input 'time_bin' is integer [1, 1], expected i32 [events]; "
            "derived 'table' is missing, expected f32 [4, 2]; input "
            "'row_splits' is missing, expected i32 [batch + 1]; input 'start' "
            "is missing, expected i32 [batch]");
}

TEST_F(RaggedTest, SymbolsMustAgree) {
  EXPECT_EQ(raggedError({{"time_bin", {{1}, {}, {100}}},
                         {"row_splits", {{2}, {}, {0, 1}}},
                         {"start", {{3}, {}, {0, 0, 0}}}}),
            "@main: input 'start' is integer [3], expected i32 [batch] with "
            "batch = 1 as in input 'row_splits'");
  EXPECT_EQ(raggedError({{"time_bin", {{1}, {}, {100}}},
                         {"row_splits", {{0}, {}, {}}},
                         {"start", {{0}, {}, {}}}}),
            "@main: input 'row_splits' has 0 rows, expected i32 [batch + 1]");
}

TEST_F(RaggedTest, RowSplitsAreChecked) {
  EXPECT_EQ(errorFor({100, 101}, {0, 2, 1, 2}),
            "@main: betz.segment_sub: 'row_splits'[2] is 1, not 2 or more");
  EXPECT_EQ(errorFor({100, 101}, {0, 3}),
            "@main: betz.segment_sub: 'row_splits'[1] is 3, not 2, the number "
            "of rows");
  EXPECT_EQ(errorFor({100, 101}, {1, 2}),
            "@main: betz.segment_sub: 'row_splits'[0] is 1, not 0");
  EXPECT_EQ(errorFor({100}, {0}),
            "@main: betz.segment_sub: 'row_splits'[0] is 0, not 1, the number "
            "of rows");
}

TEST_F(RaggedTest, IndicesAreChecked) {
  EXPECT_EQ(errorFor({100, 104}, {0, 2}),
            "@main: betz.gather_sum: the result of betz.segment_sub[1] is 4, "
            "but 'table' has 4 rows");
  EXPECT_EQ(errorFor({99}, {0, 1}),
            "@main: betz.gather_sum: the result of betz.segment_sub[0] is -1, "
            "but 'table' has 4 rows");
  EXPECT_EQ(errorFor({INT32_MIN}, {0, 1}),
            "@main: betz.segment_sub: 'time_bin'[0] is -2147483748 after its "
            "base: not an i32");
}

TEST_F(InterpreterTest, ModulesWithoutTheirFunctions) {
  parse("func.func private @main(tensor<1xf32>)");
  EXPECT_EQ(runError({}), "the module has no @main of one block");
  EXPECT_FALSE(runPrepare(*module, {}).isOk());
  parse(R"(func.func @main(%x: tensor<1xf32>) { return })");
  EXPECT_EQ(runError({}), "@main: argument 0 has no name");
  parse(R"(
func.func @main(%x: tensor<1x?xf32> {betz.input = "x"})
    -> (tensor<1x?xf32> {betz.output = "y"}) {
  return %x : tensor<1x?xf32>
})");
  EXPECT_EQ(runError({{"x", {{1, 1}, {1}, {}}}}),
            "@main: input 'x' is of type f32 [1, ?]: only the first dimension "
            "may follow a symbol");
}

TEST_F(InterpreterTest, OpsWithoutAMeaning) {
  parse(R"(
func.func @main(%x: tensor<1xf32> {betz.input = "x"})
    -> (tensor<1xf32> {betz.output = "y"}) {
  %y = func.call @main(%x) : (tensor<1xf32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
})");
  EXPECT_EQ(runError({{"x", {{1}, {1}, {}}}}),
            "@main: func.call: the interpreter has no meaning for 'func.call'");
}

} // namespace
} // namespace betz::reference
