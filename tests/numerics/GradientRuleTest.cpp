//===- GradientRuleTest.cpp - Each rule against finite differences --------===//
#include "ir/reference/Interpreter.h"
#include "passes/Passes.h"
#include "tests/numerics/CaseBuilder.h"
#include "tests/numerics/OpCases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace betz {
namespace {

using reference::TensorMap;

/// Central differences of f64 values of about one lose five digits to
/// cancellation, and about as many to the third derivative.
constexpr double kStep = 1e-5;
constexpr double kTolerance = 2e-8;

struct RuleCase {
  const char *name;
  OpCase (*build)(CaseBuilder &);
};

/// The case whose loss is a mean squared error of `y`.
OpCase scored(CaseBuilder &b, const Value &y, const Rows &rows,
              const std::vector<int64_t> &inner) {
  Value target = b.input("target", rows, inner);
  return b.finish({b.op("mse_loss %" + y.name.substr(1) + ", %target",
                        {y, target}, "tensor<1xf32>")});
}

const Rows kBatch{"batch", 3};
const Rows kEvents{"events", 7};

OpCase binary(CaseBuilder &b, const char *op, const std::vector<int64_t> &inner,
              const std::vector<int64_t> &rhs) {
  Value x = b.input("x", kBatch, inner);
  Value y = rhs.size() > inner.size() ? b.input("y", kBatch, inner)
                                      : b.weight("y", rhs);
  return scored(
      b, b.op(std::string(op) + " %x, %y", {x, y}, floats(kBatch, inner)),
      kBatch, inner);
}

/// An op whose result has the type of its operand x.
OpCase unary(CaseBuilder &b, const std::string &syntax, const Rows &rows,
             const std::vector<int64_t> &inner,
             const std::vector<Value> &others = {}) {
  std::vector<Value> operands{b.input("x", rows, inner)};
  operands.insert(operands.end(), others.begin(), others.end());
  return scored(b, b.op(syntax, operands, floats(rows, inner)), rows, inner);
}

OpCase norm(CaseBuilder &b, const char *kind, bool shift) {
  std::vector<Value> linear{b.weight("g", {6})};
  if (shift)
    linear.push_back(b.weight("s", {6}));
  return unary(b,
               fmt::format("norm {} %x, %g{} {{eps = 0.01 : f64}}", kind,
                           shift ? ", %s" : ""),
               kBatch, {2, 6}, linear);
}

OpCase matmul(CaseBuilder &b) {
  Value x = b.input("x", kBatch, {2, 5}), w = b.weight("w", {4, 5});
  return scored(b, b.op("matmul %x, %w", {x, w}, floats(kBatch, {2, 4})),
                kBatch, {2, 4});
}

OpCase gather(CaseBuilder &b, const Rows &rows,
              const std::vector<int64_t> &inner) {
  const int64_t count = rows.size * (inner.empty() ? 1 : inner[0]);
  Value i = b.integerInput("i", rows, b.uniform(count, 0, 3), inner);
  Value j = b.integerInput("j", rows, b.uniform(count, 0, 1), inner);
  Value t = b.weight("t", {4, 3}), u = b.weight("u", {2, 3});
  std::vector<int64_t> columns = inner;
  columns.push_back(3);
  return scored(b,
                b.op("gather_sum (%i, %j) in (%t, %u)", {i, j, t, u},
                     floats(rows, columns)),
                rows, columns);
}

OpCase rotary(CaseBuilder &b, bool byPosition) {
  const std::string attributes =
      " {heads = 2 : i64, offset = 0.5 : f64, step = 5.0 : f64, period_min = "
      "10.0 : f64, period_max = 400.0 : f64}";
  if (!byPosition)
    return unary(b, "rotary %x" + attributes, kBatch, {3, 8});
  Value position = b.integerInput("p", kEvents, b.uniform(7, 0, 100));
  return unary(b, "rotary %x, %p" + attributes, kEvents, {8}, {position});
}

constexpr const char *kGrouped =
    "heads = 4 : i64, kv_heads = 2 : i64, scale = 0.6 : f64";

OpCase denseAttention(CaseBuilder &b, int64_t queries, int64_t keys,
                      bool shared, const std::string &attributes = "") {
  Value q =
      shared ? b.weight("q", {queries, 8}) : b.input("q", kBatch, {queries, 8});
  Value k = b.input("k", kBatch, {keys, 4}),
        v = b.input("v", kBatch, {keys, 4});
  return scored(
      b,
      b.op(fmt::format("attention %q, %k, %v {{{}{}}}", kGrouped, attributes),
           {q, k, v}, floats(kBatch, {queries, 8})),
      kBatch, {queries, 8});
}

/// The middle batch element has no events.
OpCase raggedAttention(CaseBuilder &b, bool timed) {
  Value q = b.weight("q", {3, 8});
  Value k = b.input("k", kEvents, {4}), v = b.input("v", kEvents, {4});
  Value s = b.integerInput("s", {"batch", 3, 1}, {0, 5, 5, 7});
  std::vector<Value> operands{q, k, v, s};
  std::string syntax = "attention %q, %k, %v splits %s ";
  if (timed) {
    operands.push_back(b.integerInput("time", kEvents, {0, 1, 2, 5, 6, 2, 3}));
    // The last query sees nothing.
    operands.push_back(
        b.integerInput("bounds", {"", 3}, {0, 2, 1, 5, 8, 9}, {2}));
    syntax += "bounds %time, %bounds ";
  }
  return scored(b,
                b.op(fmt::format("{}{{{}}}", syntax, kGrouped), operands,
                     floats(kBatch, {3, 8})),
                kBatch, {3, 8});
}

OpCase mappedAttention(CaseBuilder &b) {
  const Rows one{"batch", 1};
  Value q = b.input("q", one, {66, 4}), k = b.input("k", one, {130, 2});
  Value v = b.input("v", one, {130, 2});
  Value map = b.integerInput("map", {"", 2}, {1, 0, 1, 0, 1, 0}, {3});
  return scored(b,
                b.op("attention %q, %k, %v blocks %map {heads = 2 : i64, "
                     "kv_heads = 1 : i64, scale = 0.6 : f64, map_block = 64 : "
                     "i64}",
                     {q, k, v, map}, floats(one, {66, 4})),
                one, {66, 4});
}

/// Keys and values of one tensor, as a decoder's projections give them, and
/// columns that nothing reads.
OpCase slicedAttention(CaseBuilder &b) {
  Value qkv = b.input("qkv", kBatch, {5, 14});
  auto slice = [&](int64_t offset) {
    return b.op(fmt::format("slice %qkv {{offset = {} : i64}}", offset), {qkv},
                floats(kBatch, {5, 4}));
  };
  Value q = slice(0), k = slice(4), v = slice(9);
  return scored(b,
                b.op(fmt::format("attention {}, {}, {} {{heads = 2 : i64, "
                                 "kv_heads = 2 : i64, scale = 0.6 : f64}}",
                                 q.name, k.name, v.name),
                     {q, k, v}, floats(kBatch, {5, 4})),
                kBatch, {5, 4});
}

OpCase overlappingSlices(CaseBuilder &b) {
  Value x = b.input("x", kBatch, {6});
  auto slice = [&](int64_t offset) {
    return b.op(fmt::format("slice %x {{offset = {} : i64}}", offset), {x},
                floats(kBatch, {4}));
  };
  Value first = slice(0), last = slice(2);
  return scored(b,
                b.op(fmt::format("mul {}, {}", first.name, last.name),
                     {first, last}, floats(kBatch, {4})),
                kBatch, {4});
}

OpCase joinedColumns(CaseBuilder &b) {
  Value x = b.input("x", kBatch, {2, 3}), y = b.input("y", kBatch, {2, 4});
  return scored(b,
                b.op("join_columns %x, %y {offsets = array<i64: 1, 5>}", {x, y},
                     floats(kBatch, {2, 10})),
                kBatch, {2, 10});
}

/// A product with a weight that other weights make up.
OpCase madeWeight(CaseBuilder &b, const std::string &syntax,
                  const std::vector<std::vector<int64_t>> &shapes, int64_t rows,
                  int64_t columns) {
  std::vector<Value> parts;
  for (const std::vector<int64_t> &shape : shapes)
    parts.push_back(b.weight(fmt::format("w{}", parts.size()), shape));
  Value made = b.op(syntax, parts, floats({"", rows}, {columns}));
  Value x = b.input("x", kBatch, {columns});
  return scored(
      b, b.op("matmul %x, " + made.name, {x, made}, floats(kBatch, {rows})),
      kBatch, {rows});
}

OpCase scaledRows(CaseBuilder &b) {
  Value x = b.input("x", kBatch, {2, 4}), s = b.input("s", kBatch, {2, 1});
  return scored(b, b.op("scale_rows %x, %s", {x, s}, floats(kBatch, {2, 4})),
                kBatch, {2, 4});
}

OpCase reshaped(CaseBuilder &b) {
  Value x = b.input("x", kBatch, {2, 6});
  return scored(b, b.op("reshape %x", {x}, floats(kBatch, {3, 4})), kBatch,
                {3, 4});
}

/// Values are not rounded here, so that a cast is the identity.
OpCase casts(CaseBuilder &b) {
  Value x = b.input("x", kBatch, {4}), w = b.weight("w", {3, 4});
  const std::string narrow = "tensor<?x3xbf16, #betz.rows<\"batch\">>";
  Value xn = b.op("cast %x", {x}, "tensor<?x4xbf16, #betz.rows<\"batch\">>");
  Value wn = b.op("cast %w", {w}, "tensor<3x4xbf16>");
  Value y = b.op("matmul " + xn.name + ", " + wn.name, {xn, wn}, narrow);
  Value z = b.op("mul " + y.name + ", " + y.name, {y, y}, narrow);
  return scored(b, b.op("cast " + z.name, {z}, floats(kBatch, {3})), kBatch,
                {3});
}

OpCase crossEntropy(CaseBuilder &b) {
  Value logits = b.input("logits", kBatch, {2, 5});
  Value label = b.integerInput("label", kBatch, {4, -1, 0, 2, -1, 2}, {2});
  return b.finish({b.op("cross_entropy %logits, %label", {logits, label},
                        "tensor<1xf32>")});
}

/// The total of two losses, one of them weighted.
OpCase twoLosses(CaseBuilder &b) {
  Value x = b.input("x", kBatch, {5}), t = b.input("t", kBatch, {5});
  Value label = b.integerInput("label", kBatch, {4, 0, 2});
  const std::string scalar = "tensor<1xf32>";
  Value first = b.op("mse_loss %x, %t", {x, t}, scalar);
  Value second = b.op("cross_entropy %x, %label", {x, label}, scalar);
  Value factor = b.op("fill {value = 0.25 : f64}", {}, scalar);
  Value part =
      b.op("mul " + second.name + ", " + factor.name, {second, factor}, scalar);
  return b.finish(
      {b.op("add " + first.name + ", " + part.name, {first, part}, scalar)});
}

const RuleCase kCases[] = {
    {"add", [](auto &b) { return binary(b, "add", {2, 4}, {1, 2, 4}); }},
    {"add_vector", [](auto &b) { return binary(b, "add", {2, 4}, {4}); }},
    {"add_matrix", [](auto &b) { return binary(b, "add", {2, 4}, {2, 4}); }},
    {"sub", [](auto &b) { return binary(b, "sub", {2, 4}, {1, 2, 4}); }},
    {"sub_vector", [](auto &b) { return binary(b, "sub", {2, 4}, {4}); }},
    {"sub_matrix", [](auto &b) { return binary(b, "sub", {2, 4}, {2, 4}); }},
    {"mul", [](auto &b) { return binary(b, "mul", {2, 4}, {1, 2, 4}); }},
    {"mul_vector", [](auto &b) { return binary(b, "mul", {2, 4}, {4}); }},
    {"mul_matrix", [](auto &b) { return binary(b, "mul", {2, 4}, {2, 4}); }},
    {"sigmoid", [](auto &b) { return unary(b, "sigmoid %x", kBatch, {5}); }},
    {"tanh", [](auto &b) { return unary(b, "tanh %x", kBatch, {5}); }},
    {"gelu", [](auto &b) { return unary(b, "gelu %x", kBatch, {5}); }},
    {"silu", [](auto &b) { return unary(b, "silu %x", kBatch, {5}); }},
    {"dropout",
     [](auto &b) {
       return unary(b, "dropout %x, %seed {rate = 0.3 : f64, site = 2 : i64}",
                    kBatch, {9}, {b.integerInput("seed", {"", 2}, {17, -4})});
     }},
    {"norm_layer", [](auto &b) { return norm(b, "layer", true); }},
    {"norm_layer_no_shift", [](auto &b) { return norm(b, "layer", false); }},
    {"norm_rms", [](auto &b) { return norm(b, "rms", false); }},
    {"scale_rows", scaledRows},
    {"matmul", matmul},
    {"gather_sum", [](auto &b) { return gather(b, kEvents, {}); }},
    {"gather_sum_grid", [](auto &b) { return gather(b, kBatch, {4}); }},
    {"rotary", [](auto &b) { return rotary(b, true); }},
    {"rotary_by_index", [](auto &b) { return rotary(b, false); }},
    {"attention", [](auto &b) { return denseAttention(b, 4, 5, false); }},
    {"attention_shared", [](auto &b) { return denseAttention(b, 4, 5, true); }},
    {"attention_causal",
     [](auto &b) { return denseAttention(b, 4, 5, false, ", causal"); }},
    // The first two queries see nothing.
    {"attention_causal_short",
     [](auto &b) { return denseAttention(b, 5, 3, false, ", causal"); }},
    {"attention_ragged", [](auto &b) { return raggedAttention(b, false); }},
    {"attention_bounds", [](auto &b) { return raggedAttention(b, true); }},
    {"attention_block_map", mappedAttention},
    {"attention_of_slices", slicedAttention},
    {"transpose",
     [](auto &b) { return madeWeight(b, "transpose %w0", {{4, 3}}, 3, 4); }},
    {"subtract_mean",
     [](auto &b) {
       return madeWeight(b, "subtract_mean %w0 {dim = 0 : i64}", {{3, 4}}, 3,
                         4);
     }},
    {"concat",
     [](auto &b) {
       return madeWeight(b, "concat %w0, %w1", {{2, 4}, {1, 4}}, 3, 4);
     }},
    {"join_columns", joinedColumns},
    {"slice_overlapping", overlappingSlices},
    {"reshape", reshaped},
    {"cast", casts},
    {"cross_entropy", crossEntropy},
    {"two_losses", twoLosses},
};

Result<TensorMap> interpret(mlir::ModuleOp module, const TensorMap &weights,
                            const TensorMap &inputs) {
  BETZ_ASSIGN_OR_RETURN(TensorMap derived,
                        reference::runPrepare(module, weights));
  return reference::runMain(module, derived, inputs);
}

class GradientRuleTest : public testing::TestWithParam<RuleCase> {};

TEST_P(GradientRuleTest, AgreesWithFiniteDifferences) {
  CaseBuilder builder(7);
  OpCase opCase = GetParam().build(builder);
  auto context = ir::makeContext();
  auto parsed = ir::parseModule(*context, opCase.moduleText, "case");
  ASSERT_TRUE(parsed.isOk()) << parsed.status().message() << "\n"
                             << opCase.moduleText;
  mlir::OwningOpRef<mlir::ModuleOp> forward = (*parsed)->clone();
  mlir::PassManager manager(context.get());
  manager.addPass(passes::createAutodiffPass({"out0"}));
  ASSERT_TRUE(mlir::succeeded(manager.run(**parsed)));
  auto gradients = interpret(**parsed, opCase.weights, opCase.inputs);
  ASSERT_TRUE(gradients.isOk()) << gradients.status().message();

  auto loss = [&] {
    auto outputs = interpret(*forward, opCase.weights, opCase.inputs);
    EXPECT_TRUE(outputs.isOk()) << outputs.status().message();
    return outputs->at("out0").real[0];
  };
  EXPECT_EQ(gradients->at("out0").real[0], loss());
  for (TensorMap *tensors : {&opCase.weights, &opCase.inputs})
    for (auto &[name, tensor] : *tensors) {
      if (tensor.real.empty())
        continue;
      reference::Tensor expected = tensor;
      for (size_t i = 0; i < tensor.real.size(); ++i) {
        const double value = tensor.real[i];
        tensor.real[i] = value + kStep;
        const double above = loss();
        tensor.real[i] = value - kStep;
        expected.real[i] = (above - loss()) / (2 * kStep);
        tensor.real[i] = value;
      }
      ASSERT_TRUE(gradients->contains("grad." + name)) << name;
      EXPECT_EQ(
          compareTensors(expected, gradients->at("grad." + name), kTolerance),
          "")
          << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Rules, GradientRuleTest, testing::ValuesIn(kCases),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace betz
