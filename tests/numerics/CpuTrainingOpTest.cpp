//===- CpuTrainingOpTest.cpp - Gradients and updates as generated CPU code ===//
//
// Against the interpreter, at odd sizes: every level that the machine runs,
// into poisoned memory, whole and with the tasks in random pieces, which must
// give the same bits.
//
//===----------------------------------------------------------------------===//
#include "codegen/Compiler.h"
#include "ir/reference/Interpreter.h"
#include "tests/numerics/CaseBuilder.h"
#include "tests/numerics/CpuRunner.h"
#include "tests/numerics/OpCases.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace betz {
namespace {

uint64_t freshSeed() {
  static const uint64_t seed = std::random_device()();
  return seed;
}

void expectAgreement(const OpCase &opCase, double tolerance = 2e-5) {
  SCOPED_TRACE(opCase.moduleText);
  auto context = ir::makeContext();
  auto module = ir::parseModule(*context, opCase.moduleText, "case");
  ASSERT_TRUE(module.isOk()) << module.status().message();
  auto derived = reference::runPrepare(**module, opCase.weights);
  ASSERT_TRUE(derived.isOk()) << derived.status().message();
  auto expected = reference::runMain(**module, *derived, opCase.inputs);
  ASSERT_TRUE(expected.isOk()) << expected.status().message();

  CompileOptions options;
  options.batches = {64};
  options.maxEvents = 1024;
  auto program = compileModule(**module, opCase.weights, options);
  ASSERT_TRUE(program.isOk()) << program.status().message();
  for (const std::string &level : runnableLevels(**program)) {
    auto runner = CpuRunner::open(*program, level);
    ASSERT_TRUE(runner.isOk()) << runner.status().message();
    auto whole = runner->run(opCase.inputs, TaskCut{});
    ASSERT_TRUE(whole.isOk()) << whole.status().message();
    EXPECT_EQ(compareTensors(*expected, *whole, tolerance), "")
        << level << ", seed " << freshSeed();
    auto pieces = runner->run(opCase.inputs, TaskCut{1, freshSeed()});
    ASSERT_TRUE(pieces.isOk()) << pieces.status().message();
    EXPECT_EQ(compareTensors(*whole, *pieces, 0), "")
        << level << ", seed " << freshSeed();
  }
}

/// A program's steps have extents; this gives one to a case without.
void addExtent(CaseBuilder &b) { b.input("unread", {"batch", 2}, {1}); }

Value addTo(CaseBuilder &b, const Value &x, const Rows &rows,
            const std::vector<int64_t> &inner) {
  Value y = b.input("addend", rows, inner);
  return b.op(fmt::format("add {}, %addend", x.name), {x, y}, x.type);
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

TEST(CpuTraining, ContractRows) {
  const int64_t sizes[][3] = {{0, 3, 5},     {1, 1, 1},    {7, 17, 33},
                              {129, 50, 70}, {300, 64, 3}, {257, 390, 260}};
  for (auto [rows, left, right] : sizes) {
    CaseBuilder b(freshSeed());
    Value a = b.input("a", {"events", rows}, {left});
    Value x = b.input("x", {"events", rows}, {right});
    Value y = b.op("contract_rows %a, %x", {a, x}, floats({"", left}, {right}));
    expectAgreement(b.finish({addTo(b, y, {"", left}, {right})}));
  }
}

TEST(CpuTraining, ContractRowsOfSlices) {
  CaseBuilder b(freshSeed());
  const Rows rows{"batch", 3};
  Value a = b.input("a", rows, {5, 40}), x = b.input("x", rows, {5, 30});
  Value part = b.op("slice %a {offset = 11 : i64}", {a}, floats(rows, {5, 23}));
  Value y = b.op(fmt::format("contract_rows {}, %x", part.name), {part, x},
                 floats({"", 23}, {30}));
  expectAgreement(b.finish({y}));
}

TEST(CpuTraining, ColumnSum) {
  const int64_t sizes[][2] = {{0, 3}, {1, 1}, {300, 7}, {521, 131}, {40, 128}};
  for (auto [rows, columns] : sizes) {
    CaseBuilder b(freshSeed());
    Value x = b.input("x", {"events", rows}, {columns});
    Value y = b.op("column_sum %x", {x}, floats({"", columns}, {}));
    expectAgreement(b.finish({addTo(b, y, {"", columns}, {})}));
  }
}

TEST(CpuTraining, ScatterSum) {
  const int64_t sizes[][3] = {
      {0, 5, 3}, {1, 1, 1}, {200, 9, 37}, {90, 130, 64}};
  for (auto [rows, table, columns] : sizes) {
    CaseBuilder b(freshSeed());
    Value x = b.input("x", {"events", rows}, {columns});
    Value index = b.integerInput("index", {"events", rows},
                                 b.uniform(rows, 0, int32_t(table) - 1));
    expectAgreement(b.finish({b.op("scatter_sum %index, %x", {index, x},
                                   floats({"", table}, {columns}))}));
  }
}

TEST(CpuTraining, SquareSum) {
  const int64_t sizes[][2] = {{0, 3}, {3, 5}, {2, 9001}, {11, 64}};
  for (auto [rows, columns] : sizes) {
    CaseBuilder b(freshSeed());
    Value x = b.input("x", {"batch", rows}, {columns});
    expectAgreement(
        b.finish({b.op("square_sum %x", {x}, floats({"", 1}, {}))}));
  }
}

//===----------------------------------------------------------------------===//
// Elementwise, rows, columns
//===----------------------------------------------------------------------===//

TEST(CpuTraining, Elementwise) {
  for (Fill fill : {Fill::Normal, Fill::Edge, Fill::Large, Fill::NonFinite}) {
    for (const char *op : {"sub", "gelu_grad", "silu_grad"}) {
      CaseBuilder b(freshSeed());
      const Rows rows{"batch", 5};
      Value x = b.input("x", rows, {3, 21}, fill);
      Value y = b.input("y", rows, {3, 21});
      Value plain = b.op(fmt::format("{} %x, %y", op), {x, y}, x.type);
      // The second operand is the one that the kernel before it computes.
      Value twice = b.op("add %y, %y", {y, y}, y.type);
      Value swapped =
          b.op(fmt::format("{} %x, {}", op, twice.name), {x, twice}, x.type);
      expectAgreement(b.finish({plain, swapped}));
    }
    for (const char *op : {"sigmoid", "tanh"}) {
      CaseBuilder b(freshSeed());
      Value x = b.input("x", {"batch", 5}, {37}, fill);
      expectAgreement(b.finish({b.op(fmt::format("{} %x", op), {x}, x.type)}));
    }
  }
}

TEST(CpuTraining, Dropout) {
  for (double rate : {0.0, 0.1, 0.9}) {
    CaseBuilder b(freshSeed());
    Value x = b.input("x", {"batch", 7}, {5, 37});
    Value seed =
        b.integerInput("seed", {"", 2}, b.uniform(2, -1 << 30, 1 << 30));
    Value doubled = b.op("add %x, %x", {x, x}, x.type);
    expectAgreement(b.finish(
        {b.op(fmt::format("dropout {}, %seed {{rate = {:e} : f64, site = 7 : "
                          "i64}}",
                          doubled.name, rate),
              {doubled, seed}, x.type)}));
  }
}

TEST(CpuTraining, NormGrad) {
  for (const char *kind : {"layer", "rms"})
    for (int64_t columns : {1, 7, 64, 131}) {
      CaseBuilder b(freshSeed());
      Value x = b.input("x", {"events", 37}, {columns});
      Value dy = b.input("dy", {"events", 37}, {columns});
      Value gain = b.input("gain", {"", columns}, {});
      Value dx = b.op(fmt::format("norm_grad {} %x, %gain, %dy {{eps = 1.0e-5 "
                                  ": f64}}",
                                  kind),
                      {x, gain, dy}, x.type);
      expectAgreement(b.finish({addTo(b, dx, {"events", 37}, {columns})}),
                      1e-4);
    }
}

TEST(CpuTraining, HeadDots) {
  for (int64_t heads : {1, 3}) {
    CaseBuilder b(freshSeed());
    const Rows rows{"batch", 3};
    Value x = b.input("x", rows, {5, heads * 13});
    Value y = b.input("y", rows, {5, heads * 13});
    expectAgreement(b.finish(
        {b.op(fmt::format("head_dots %x, %y {{heads = {} : i64}}", heads),
              {x, y}, floats(rows, {5, heads}))}));
  }
}

TEST(CpuTraining, JoinColumns) {
  CaseBuilder b(freshSeed());
  const Rows rows{"events", 33};
  Value x = b.input("x", rows, {5}), y = b.input("y", rows, {19});
  expectAgreement(
      b.finish({b.op("join_columns %x, %y {offsets = array<i64: 2, 9>}", {x, y},
                     floats(rows, {30}))}));
}

/// More parts than a launch has operands.
TEST(CpuTraining, JoinsManyVectors) {
  CaseBuilder b(freshSeed());
  addExtent(b);
  std::string syntax = "join_columns ", offsets;
  std::vector<Value> parts;
  int64_t at = 0;
  for (int i = 0; i < 130; ++i) {
    const int64_t size = b.uniform(1, 90);
    parts.push_back(b.input(fmt::format("p{}", i), {"", size}, {}));
    syntax += (i ? ", " : "") + parts.back().name;
    offsets += fmt::format("{}{}", i ? ", " : "", at);
    at += size + b.uniform(0, 9);
  }
  expectAgreement(b.finish(
      {b.op(fmt::format("{} {{offsets = array<i64: {}>}}", syntax, offsets),
            parts, floats({"", at}, {}))}));
}

/// Weights that change with the step, read as they lie and transposed.
TEST(CpuTraining, StepWeights) {
  CaseBuilder b(freshSeed());
  const Rows rows{"events", 19};
  constexpr int64_t kColumns = 37, kDepth = 21, kStart = 64;
  Value flat = b.input("flat", {"", kStart + kColumns * kDepth}, {});
  Value part = b.op(fmt::format("slice %flat {{offset = {} : i64}}", kStart),
                    {flat}, floats({"", kColumns * kDepth}, {}));
  Value w =
      b.op("reshape " + part.name, {part}, floats({"", kColumns}, {kDepth}));
  Value x = b.input("x", rows, {kDepth}), dy = b.input("dy", rows, {kColumns});
  Value y = b.op("matmul %x, " + w.name, {x, w}, floats(rows, {kColumns}));
  Value turned =
      b.op("transpose " + w.name, {w}, floats({"", kDepth}, {kColumns}));
  Value dx =
      b.op("matmul %dy, " + turned.name, {dy, turned}, floats(rows, {kDepth}));
  expectAgreement(b.finish({y, dx}));
}

TEST(CpuTraining, Transpose) {
  CaseBuilder b(freshSeed());
  addExtent(b);
  Value x = b.input("x", {"", 37}, {21});
  expectAgreement(
      b.finish({b.op("transpose %x", {x}, floats({"", 21}, {37}))}));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

struct Attention {
  std::vector<int32_t> lengths = {}; // of ragged keys
  int64_t keys = 0;                  // dense keys of each of three elements
  int64_t queries = 24, heads = 4, kvHeads = 2, headSize = 13;
  bool batchedQuery = true, causal = false, bounds = false;
  int64_t mapColumns = 0;
};

void checkAttention(const Attention &s) {
  CaseBuilder b(freshSeed());
  const Rows batch{"batch", s.keys > 0 ? 3 : int64_t(s.lengths.size())};
  const int64_t wide = s.heads * s.headSize, narrow = s.kvHeads * s.headSize;
  auto keyed = [&](const char *name) {
    if (s.keys > 0)
      return b.input(name, batch, {s.keys, narrow});
    const int64_t events =
        std::accumulate(s.lengths.begin(), s.lengths.end(), int64_t(0));
    return b.input(name, {"events", events}, {narrow});
  };
  Value q = s.batchedQuery ? b.input("q", batch, {s.queries, wide})
                           : b.input("q", {"", s.queries}, {wide});
  Value k = keyed("k"), v = keyed("v");
  std::vector<Value> rest;
  std::string syntax;
  if (s.keys == 0) {
    std::vector<int32_t> splits{0};
    for (int32_t length : s.lengths)
      splits.push_back(splits.back() + length);
    const int64_t events = splits.back();
    rest.push_back(b.integerInput("row_splits", {"batch", batch.size, 1},
                                  std::move(splits)));
    syntax += " splits %row_splits";
    if (s.bounds) {
      rest.push_back(
          b.integerInput("time", {"events", events}, b.uniform(events, 0, 99)));
      std::vector<int32_t> bounds = b.uniform(s.queries * 2, 0, 99);
      rest.push_back(
          b.integerInput("bounds", {"", s.queries}, std::move(bounds), {2}));
      syntax += " bounds %time, %bounds";
    }
  }
  std::string attributes =
      fmt::format("heads = {} : i64, kv_heads = {} : i64, scale = 0.3 : f64",
                  s.heads, s.kvHeads);
  if (s.causal)
    attributes += ", causal";
  if (s.mapColumns > 0) {
    const int64_t rows = (s.queries + 63) / 64;
    rest.push_back(b.integerInput("map", {"", rows},
                                  b.uniform(rows * s.mapColumns, 0, 1),
                                  {s.mapColumns}));
    syntax += " blocks %map";
    attributes += ", map_block = 64 : i64";
  }
  auto op = [&](const std::string &name, std::vector<Value> operands,
                const std::string &type) {
    std::string names;
    for (const Value &operand : operands)
      names += (names.empty() ? " " : ", ") + operand.name;
    operands.insert(operands.end(), rest.begin(), rest.end());
    return b.op(fmt::format("{}{}{} {{{}}}", name, names, syntax, attributes),
                operands, type);
  };
  const std::string rows = floats(batch, {s.queries, wide});
  Value dout = b.input("dout", batch, {s.queries, wide});
  Value out = op("attention", {q, k, v}, rows);
  Value lse = op("attention_lse", {q, k}, floats(batch, {s.queries, s.heads}));
  Value delta = b.op(fmt::format("head_dots {}, %dout {{heads = {} : i64}}",
                                 out.name, s.heads),
                     {out, dout}, floats(batch, {s.queries, s.heads}));
  Value dq = op("attention_grad_q", {q, k, v, dout, lse, delta}, rows);
  const int64_t events =
      std::accumulate(s.lengths.begin(), s.lengths.end(), int64_t(0));
  Value dkv = op("attention_grad_kv", {q, k, v, dout, lse, delta},
                 s.keys > 0 ? floats(batch, {s.keys, 2 * narrow})
                            : floats({"events", events}, {2 * narrow}));
  expectAgreement(b.finish({lse, dq, dkv}));
}

TEST(CpuTraining, RaggedAttention) {
  checkAttention({.lengths = {3, 0, 70, 129, 1, 0}});
  checkAttention({.lengths = {}});
  checkAttention({.lengths = {0, 0}});
  checkAttention({.lengths = {64, 65, 5}, .queries = 130, .headSize = 64});
  checkAttention(
      {.lengths = {9, 33}, .queries = 1, .kvHeads = 4, .batchedQuery = false});
}

TEST(CpuTraining, AttentionByTime) {
  checkAttention(
      {.lengths = {3, 0, 70, 129, 1}, .queries = 70, .bounds = true});
  checkAttention({.lengths = {300, 20},
                  .kvHeads = 4,
                  .headSize = 32,
                  .batchedQuery = false,
                  .bounds = true});
}

TEST(CpuTraining, DenseAttention) {
  checkAttention({.keys = 24});
  checkAttention({.keys = 77, .queries = 65, .headSize = 48});
  checkAttention({.keys = 77, .queries = 77, .causal = true});
  checkAttention({.keys = 150, .queries = 20, .causal = true});
  checkAttention({.keys = 20, .queries = 150, .causal = true});
}

TEST(CpuTraining, MappedAttention) {
  checkAttention({.keys = 150, .queries = 140, .mapColumns = 2});
  checkAttention(
      {.lengths = {100, 0, 31, 200}, .queries = 70, .mapColumns = 3});
}

TEST(CpuTraining, WideHeads) {
  checkAttention(
      {.lengths = {20, 40}, .heads = 1, .kvHeads = 1, .headSize = 200});
}

//===----------------------------------------------------------------------===//
// Losses and the update
//===----------------------------------------------------------------------===//

TEST(CpuTraining, Mse) {
  for (int64_t rows : {0, 1, 60}) {
    CaseBuilder b(freshSeed());
    Value x = b.input("x", {"batch", rows}, {3});
    Value target = b.input("target", {"batch", rows}, {3});
    Value dloss = b.input("dloss", {"", 1}, {});
    expectAgreement(b.finish(
        {b.op("mse_loss %x, %target", {x, target}, floats({"", 1}, {})),
         b.op("mse_grad %x, %target, %dloss", {x, target, dloss}, x.type)}));
  }
}

TEST(CpuTraining, CrossEntropy) {
  for (int64_t rows : {0, 1, 50})
    for (int32_t least : {-1, 0}) {
      CaseBuilder b(freshSeed());
      Value x = b.input("x", {"batch", rows}, {3, 11});
      std::vector<int32_t> labels = b.uniform(rows * 3, least, 10);
      if (rows == 1)
        std::ranges::fill(labels, least);
      Value label = b.integerInput("label", {"batch", rows}, labels, {3});
      Value dloss = b.input("dloss", {"", 1}, {});
      expectAgreement(b.finish(
          {b.op("cross_entropy %x, %label", {x, label}, floats({"", 1}, {})),
           b.op("cross_entropy_grad %x, %label, %dloss", {x, label, dloss},
                x.type)}));
    }
}

/// Outputs of the names of inputs are states: updated in place.
TEST(CpuTraining, Adamw) {
  for (double clip : {0.0, 0.5})
    for (const char *suffix : {"", "_next"}) {
      constexpr int64_t kSize = 40001;
      const std::string type = fmt::format("tensor<{}xf32>", kSize);
      OpCase opCase;
      std::mt19937_64 random(freshSeed());
      auto add = [&](const std::string &name, int64_t size, auto draw) {
        reference::Tensor &tensor = opCase.inputs[name];
        tensor.shape = {size};
        for (int64_t i = 0; i < size; ++i)
          tensor.real.push_back(float(draw()));
      };
      std::normal_distribution<float> normal;
      add("weights", kSize, [&] { return normal(random); });
      add("moment1", kSize, [&] { return 0.1f * normal(random); });
      add("moment2", kSize, [&] { return std::abs(normal(random)); });
      add("grad", kSize, [&] { return normal(random); });
      opCase.inputs["unread"] = {{1}, {0}, {}};
      opCase.inputs["schedule"] = {{4}, {1e-3f, 1.5f, 20.0f, 0.5f}, {}};
      auto argument = [&](const char *name, const std::string &type) {
        return fmt::format("%{}: {} {{betz.input = \"{}\"}}", name, type, name);
      };
      auto result = [&](const char *name) {
        return fmt::format("{} {{betz.output = \"{}{}\"}}", type, name, suffix);
      };
      opCase.moduleText = fmt::format(
          R"(module attributes {{betz.phase = "model", betz.symbols = ["batch"]}} {{
  func.func @prepare() {{ return }}
  func.func @main({0}, {1}, {2}, {3}, {4},
      %unread: tensor<?xf32, #betz.rows<"batch">> {{betz.input = "unread"}})
      -> ({5}, {6}, {7}) {{
    %s = betz.square_sum %grad : ({8}) -> tensor<1xf32>
    %w, %m, %v = betz.adamw %weights, %moment1, %moment2, %grad, %s, %schedule
        {{beta1 = 0.9 : f64, beta2 = 0.99 : f64, eps = 1.0e-8 : f64,
         weight_decay = 0.1 : f64, clip = {9:e} : f64}}
        : ({8}, {8}, {8}, {8}, tensor<1xf32>, tensor<4xf32>) -> ({8}, {8}, {8})
    return %w, %m, %v : {8}, {8}, {8}
  }}
}})",
          argument("weights", type), argument("moment1", type),
          argument("moment2", type), argument("grad", type),
          argument("schedule", "tensor<4xf32>"), result("weights"),
          result("moment1"), result("moment2"), type, clip);
      expectAgreement(opCase);
    }
}

} // namespace
} // namespace betz
