#include "tests/numerics/OpCases.h"

#include "tests/numerics/CaseBuilder.h"

#include <fmt/format.h>
#include <numeric>

namespace betz {
namespace {

//===----------------------------------------------------------------------===//
// Ragged input
//===----------------------------------------------------------------------===//

/// Windows of `lengths` events.
struct Ragged {
  explicit Ragged(CaseBuilder &b, const std::vector<int32_t> &lengths)
      : batch{"batch", int64_t(lengths.size())},
        events{"events", std::accumulate(lengths.begin(), lengths.end(), 0)} {
    std::vector<int32_t> ends{0};
    for (int32_t length : lengths)
      ends.push_back(ends.back() + length);
    splits =
        b.integerInput("row_splits", {"batch", batch.size, 1}, std::move(ends));
  }

  Rows batch, events;
  Value splits;
};

OpCase segmentSubCase(CaseBuilder &b, const std::vector<int32_t> &lengths) {
  Ragged ragged(b, lengths);
  Value values = b.integerInput("values", ragged.events,
                                b.uniform(ragged.events.size, -1000, 1000));
  Value base = b.integerInput("base", ragged.batch,
                              b.uniform(ragged.batch.size, -500, 500));
  return b.finish(
      {b.op("segment_sub %values, %base, %row_splits",
            {values, base, ragged.splits}, integers(ragged.events))});
}

OpCase gatherSumCase(CaseBuilder &b, const std::vector<int32_t> &tableRows,
                     int64_t elements, int64_t columns) {
  std::vector<Value> operands;
  std::vector<std::string> indices, tables;
  for (size_t i = 0; i < tableRows.size(); ++i) {
    indices.push_back(fmt::format("%index{}", i));
    std::vector<int32_t> values = b.uniform(elements, 0, tableRows[i] - 1);
    // The last row and the first are read for sure.
    if (elements > 1) {
      values.front() = tableRows[i] - 1;
      values.back() = 0;
    }
    operands.push_back(b.integerInput(indices.back().substr(1),
                                      {"events", elements}, std::move(values)));
  }
  for (size_t i = 0; i < tableRows.size(); ++i) {
    tables.push_back(fmt::format("%table{}", i));
    operands.push_back(
        b.weight(tables.back().substr(1), {tableRows[i], columns}));
  }
  return b.finish(
      {b.op(fmt::format("gather_sum ({}) in ({})", fmt::join(indices, ", "),
                        fmt::join(tables, ", ")),
            operands, floats({"events", elements}, {columns}))});
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

struct NormShape {
  Rows rows = {"batch", 6};
  std::vector<int64_t> inner = {64};
  std::string kind = "layer";
  bool shift = true;
  Fill fill = Fill::Normal;
};

OpCase normCase(CaseBuilder &b, const NormShape &s) {
  std::vector<Value> operands = {b.input("x", s.rows, s.inner, s.fill),
                                 b.weight("gain", {s.inner.back()})};
  if (s.shift)
    operands.push_back(b.weight("shift", {s.inner.back()}));
  return b.finish(
      {b.op(fmt::format("norm {} %x, %gain{} {{eps = 1.0e-5 : f64}}", s.kind,
                        s.shift ? ", %shift" : ""),
            operands, floats(s.rows, s.inner))});
}

OpCase normScaleCase(CaseBuilder &b, const NormShape &s) {
  std::vector<int64_t> inner = s.inner;
  inner.back() = 1;
  Value x = b.input("x", s.rows, s.inner, s.fill);
  return b.finish(
      {b.op(fmt::format("norm_scale {} %x {{eps = 1.0e-5 : f64}}", s.kind), {x},
            floats(s.rows, inner))});
}

/// Of a gathered sum only the factor of each row is wanted.
OpCase gatherScaleCase(CaseBuilder &b, const std::string &kind, int64_t events,
                       int64_t columns) {
  const Rows rows{"events", events};
  Value i = b.integerInput("i", rows, b.uniform(events, 0, 6));
  Value j = b.integerInput("j", rows, b.uniform(events, 0, 2));
  Value sum =
      b.op("gather_sum (%i, %j) in (%t, %u)",
           {i, j, b.weight("t", {7, columns}), b.weight("u", {3, columns})},
           floats(rows, {columns}));
  return b.finish({b.op(
      fmt::format("norm_scale {} {} {{eps = 1.0e-5 : f64}}", kind, sum.name),
      {sum}, floats(rows, {1}))});
}

OpCase scaleRowsCase(CaseBuilder &b, const Rows &rows, Fill fill) {
  Value x = b.input("x", rows, {5, 19}, fill);
  Value scale = b.input("scale", rows, {5, 1});
  return b.finish({b.op("scale_rows %x, %scale", {x, scale}, x.type)});
}

struct MatmulShape {
  Rows rows = {"batch", 7};
  std::vector<int64_t> inner;
  int64_t columns;
  /// Packs the weight if positive.
  int64_t panel = 0;
  Fill fill = Fill::Normal;
};

OpCase matmulCase(CaseBuilder &b, const MatmulShape &s) {
  Value x = b.input("x", s.rows, s.inner, s.fill);
  const int64_t depth = s.inner.back();
  std::vector<int64_t> inner = s.inner;
  inner.back() = s.columns;
  std::string type = floats(s.rows, inner);
  if (s.panel == 0)
    return b.finish({b.op("matmul %x, %weight",
                          {x, b.weight("weight", {s.columns, depth})}, type)});
  Value weight = b.rawWeight("weight", {s.columns, depth});
  Value packed = b.prepared(
      "packed",
      fmt::format("pack_panels %weight {{panel = {} : i64}}", s.panel),
      {weight},
      floats({"", (s.columns + s.panel - 1) / s.panel}, {depth, s.panel}));
  return b.finish(
      {b.op(fmt::format("matmul %x, %packed {{columns = {} : i64}}", s.columns),
            {x, packed}, type)});
}

/// A product of constant shape, added to each element of a batch.
OpCase constantRowsCase(CaseBuilder &b) {
  Value x = b.input("x", {"", 13}, {20});
  Value product = b.op("matmul %x, %weight", {x, b.weight("weight", {18, 20})},
                       floats({"", 13}, {18}));
  Value y = b.input("y", {"batch", 3}, {13, 18});
  return b.finish({b.op("add %y, " + product.name, {y, product}, y.type)});
}

struct ScaledMatmulShape {
  Rows rows = {"batch", 9};
  std::vector<int64_t> inner = {37};
  int64_t columns = 19;
  std::string kind = "rms";
  /// The rows' factors: measured on what the matmul reads, or an operand.
  bool own = true;
  Fill fill = Fill::Normal;
};

/// gelu(scale * (x W^T) + bias), as passes leave a norm before a matmul.
OpCase scaledMatmulCase(CaseBuilder &b, const ScaledMatmulShape &s) {
  std::vector<int64_t> inner = s.inner, one = s.inner;
  inner.back() = s.columns;
  one.back() = 1;
  std::string type = floats(s.rows, inner);
  Value x = b.input("x", s.rows, s.inner, s.fill);
  Value scale =
      s.own
          ? b.op(fmt::format("norm_scale {} %x {{eps = 1.0e-5 : f64}}", s.kind),
                 {x}, floats(s.rows, one))
          : b.input("scale", s.rows, one);
  Value y = b.op("matmul %x, %weight",
                 {x, b.weight("weight", {s.columns, s.inner.back()})}, type);
  y = b.op(fmt::format("scale_rows {}, {}", y.name, scale.name), {y, scale},
           type);
  y = b.op(fmt::format("add {}, %bias", y.name),
           {y, b.weight("bias", {s.columns})}, type);
  return b.finish({b.op("gelu " + y.name, {y}, type)});
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Where NaN stands.
enum class Poison { None, EarlyKeys, LastKey, Query, UnseenBlocks };

struct AttentionShape {
  /// Ragged keys: of each window; dense keys: `keys` for each of `batch`.
  std::vector<int32_t> lengths = {};
  int64_t batch = 0, keys = 0;
  int64_t queries = 24;
  int64_t heads = 4, kvHeads = 4, headSize = 16;
  double scale = 0.25;
  bool batchedQuery = false, causal = false;
  /// Narrows by time if positive; keys lie in a span of 120.
  double reach = 0;
  /// Blocks of a random map, if positive, and its columns. Of its rows the last
  /// is zero if there are several; so is the second column for UnseenBlocks.
  int64_t mapBlock = 0, mapColumns = 0;
  Poison poison = Poison::None;
};

constexpr double kSpan = 120;

std::string attentionAttributes(const AttentionShape &s) {
  return fmt::format(
      "{{heads = {} : i64, kv_heads = {} : i64, "
      "scale = {:.17e} : f64{}{}}}",
      s.heads, s.kvHeads, s.scale, s.causal ? ", causal" : "",
      s.mapBlock ? fmt::format(", map_block = {} : i64", s.mapBlock) : "");
}

Value attentionQuery(CaseBuilder &b, const AttentionShape &s,
                     const Rows &batch) {
  const int64_t columns = s.heads * s.headSize;
  Value q = s.batchedQuery ? b.input("q", batch, {s.queries, columns})
                           : b.input("q", {"", s.queries}, {columns});
  if (s.poison == Poison::Query)
    b.tensor(q).real[columns / 2] = std::numeric_limits<double>::quiet_NaN();
  return q;
}

/// Makes NaN of the keys and values of the first quarter of the span.
void poisonEarlyKeys(CaseBuilder &b, const Value &k, const Value &v,
                     const Value &time) {
  const std::vector<int32_t> &times = b.tensor(time).integer;
  for (const Value &value : {k, v}) {
    reference::Tensor &tensor = b.tensor(value);
    for (size_t e = 0; e < times.size(); ++e)
      if (times[e] < kSpan / 4)
        std::fill_n(&tensor.real[e * tensor.columns()], tensor.columns(),
                    std::numeric_limits<double>::quiet_NaN());
  }
}

Value blockMap(CaseBuilder &b, const AttentionShape &s) {
  const int64_t rows = (s.queries + s.mapBlock - 1) / s.mapBlock;
  std::vector<int32_t> map = b.uniform(rows * s.mapColumns, -1, 1);
  if (rows > 1)
    std::fill(map.end() - s.mapColumns, map.end(), 0);
  if (s.poison == Poison::UnseenBlocks)
    for (int64_t row = 0; row < rows; ++row)
      map[size_t(row * s.mapColumns + 1)] = 0;
  return b.integerInput("map", {"", rows}, std::move(map), {s.mapColumns});
}

/// Makes NaN of the keys that the map's second column, or none, stands for;
/// a batch element's keys end where `ends` says.
void poisonUnseenBlocks(CaseBuilder &b, const AttentionShape &s,
                        const Value &value, const std::vector<int32_t> &ends) {
  reference::Tensor &tensor = b.tensor(value);
  for (size_t i = 1; i < ends.size(); ++i)
    for (int32_t row = ends[i - 1]; row < ends[i]; ++row)
      if (int64_t column = (row - ends[i - 1]) / s.mapBlock;
          column == 1 || column >= s.mapColumns)
        std::fill_n(&tensor.real[size_t(row * tensor.columns())],
                    tensor.columns(), std::numeric_limits<double>::quiet_NaN());
}

OpCase raggedAttentionCase(CaseBuilder &b, const AttentionShape &s) {
  Ragged ragged(b, s.lengths);
  const int64_t keyColumns = s.kvHeads * s.headSize;
  std::vector<Value> operands = {attentionQuery(b, s, ragged.batch),
                                 b.input("k", ragged.events, {keyColumns}),
                                 b.input("v", ragged.events, {keyColumns}),
                                 ragged.splits};
  std::string syntax = "attention %q, %k, %v splits %row_splits";
  if (s.reach > 0) {
    operands.push_back(
        b.integerInput("time", ragged.events,
                       b.uniform(ragged.events.size, 0, int32_t(kSpan) - 1)));
    operands.push_back(b.prepared(
        "bounds",
        fmt::format("reach_bounds {{span = {:e} : f64, reach = {:e} : f64}}",
                    kSpan, s.reach),
        {}, integers({"", s.queries}, {2})));
    syntax += " bounds %time, %bounds";
  }
  if (s.poison == Poison::EarlyKeys)
    poisonEarlyKeys(b, operands[1], operands[2], operands[4]);
  if (s.poison == Poison::UnseenBlocks)
    for (const Value &value : {operands[1], operands[2]})
      poisonUnseenBlocks(b, s, value, b.tensor(ragged.splits).integer);
  if (s.mapBlock > 0) {
    operands.push_back(blockMap(b, s));
    syntax += " blocks %map";
  }
  return b.finish(
      {b.op(syntax + " " + attentionAttributes(s), operands,
            floats(ragged.batch, {s.queries, s.heads * s.headSize}))});
}

OpCase attentionCase(CaseBuilder &b, const AttentionShape &s) {
  if (s.keys == 0)
    return raggedAttentionCase(b, s);
  const Rows batch{"batch", s.batch};
  const int64_t keyColumns = s.kvHeads * s.headSize;
  std::vector<Value> operands = {attentionQuery(b, s, batch),
                                 b.input("k", batch, {s.keys, keyColumns}),
                                 b.input("v", batch, {s.keys, keyColumns})};
  if (s.poison == Poison::LastKey)
    for (const Value &value : {operands[1], operands[2]}) {
      std::vector<double> &real = b.tensor(value).real;
      std::fill(real.end() - keyColumns, real.end(),
                std::numeric_limits<double>::quiet_NaN());
    }
  std::string syntax = "attention %q, %k, %v ";
  if (s.mapBlock > 0) {
    std::vector<int32_t> ends{0};
    for (int64_t i = 0; i < s.batch; ++i)
      ends.push_back(ends.back() + int32_t(s.keys));
    if (s.poison == Poison::UnseenBlocks)
      for (const Value &value : {operands[1], operands[2]})
        poisonUnseenBlocks(b, s, value, ends);
    operands.push_back(blockMap(b, s));
    syntax += "blocks %map ";
  }
  return b.finish({b.op(syntax + attentionAttributes(s), operands,
                        floats(batch, {s.queries, s.heads * s.headSize}))});
}

struct RotaryShape {
  int64_t rows = 11;
  int64_t heads, half;
  int32_t latest = 600;
  /// Positions are indices along a dimension of this size if it is positive.
  int64_t sequence = 0;
};

OpCase rotaryCase(CaseBuilder &b, const RotaryShape &s) {
  const bool byIndex = s.sequence > 0;
  const Rows rows{byIndex ? "batch" : "events", s.rows};
  std::vector<int64_t> inner{s.heads * s.half * 2};
  if (byIndex)
    inner.insert(inner.begin(), s.sequence);
  std::vector<Value> operands = {b.input("x", rows, inner)};
  if (!byIndex)
    operands.push_back(
        b.integerInput("position", rows, b.uniform(s.rows, -10, s.latest)));
  return b.finish(
      {b.op(fmt::format("rotary %x{} {{heads = {} : i64, offset = 0.5 : f64, "
                        "step = 5.0 : f64, period_min = 10.0 : f64, "
                        "period_max = 4000.0 : f64}}",
                        byIndex ? "" : ", %position", s.heads),
            operands, floats(rows, inner))});
}

//===----------------------------------------------------------------------===//
// Elementwise and views
//===----------------------------------------------------------------------===//

struct BinaryShape {
  std::string op;
  int64_t batch = 3;
  /// Leading dimensions that rhs lacks.
  size_t repeated = 0;
  Fill fill = Fill::Normal;
};

OpCase binaryCase(CaseBuilder &b, const BinaryShape &s) {
  const Rows rows{"batch", s.batch};
  const std::vector<int64_t> inner = {5, 17};
  Value lhs = b.input("lhs", rows, inner, s.fill);
  Value rhs =
      s.repeated == 0
          ? b.input("rhs", rows, inner)
          : b.weight("rhs", {inner.begin() + (s.repeated - 1), inner.end()});
  return b.finish(
      {b.op(s.op + " %lhs, %rhs", {lhs, rhs}, floats(rows, inner))});
}

/// x + x * x: a value beside itself, and one that two ops read.
OpCase itselfCase(CaseBuilder &b) {
  Value x = b.input("x", {"events", 9}, {21});
  Value square = b.op("mul %x, %x", {x, x}, x.type);
  return b.finish({b.op("add %x, " + square.name, {x, square}, x.type),
                   b.op("add %x, %x", {x, x}, x.type)});
}

OpCase geluCase(CaseBuilder &b, int64_t rows, Fill fill) {
  std::string type = floats({"events", rows}, {37});
  Value x = b.input("x", {"events", rows}, {37}, fill);
  return b.finish({b.op("gelu %x", {x}, type)});
}

/// To bf16 and back, where only the cast itself is bf16.
OpCase castCase(CaseBuilder &b, int64_t rows, Fill fill) {
  std::string type = floats({"events", rows}, {37});
  std::string narrow = type;
  narrow.replace(narrow.find("xf32"), 4, "xbf16");
  Value x = b.input("x", {"events", rows}, {37}, fill);
  Value y = b.op("cast %x", {x}, narrow);
  return b.finish({b.op("cast " + y.name, {y}, type)});
}

OpCase squareSumsCase(CaseBuilder &b, int64_t rows, Fill fill) {
  Value x = b.input("x", {"events", rows}, {36}, fill);
  return b.finish({b.op("square_sums %x {group = 4 : i64}", {x},
                        floats({"events", rows}, {9}))});
}

/// With the sums that square_sums would give, so never negative.
OpCase scaleFromSquaresCase(CaseBuilder &b) {
  const Rows rows{"batch", 5};
  Value x = b.input("x", rows, {3, 12}, Fill::Normal);
  Value sums =
      b.op("square_sums %x {group = 3 : i64}", {x}, floats(rows, {3, 4}));
  return b.finish({b.op("scale_from_squares " + sums.name +
                            " {columns = 12 : i64, eps = 1.0e-5 : f64}",
                        {sums}, floats(rows, {3, 1}))});
}

OpCase siluCase(CaseBuilder &b, int64_t rows, Fill fill) {
  std::string type = floats({"events", rows}, {37});
  Value x = b.input("x", {"events", rows}, {37}, fill);
  return b.finish({b.op("silu %x", {x}, type)});
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// What one op of @prepare makes of weights of these shapes, added to an input.
OpCase weightCase(CaseBuilder &b, const std::string &op,
                  const std::string &attributes,
                  const std::vector<std::vector<int64_t>> &shapes,
                  const std::vector<int64_t> &result) {
  std::vector<Value> operands;
  std::vector<std::string> names;
  for (size_t i = 0; i < shapes.size(); ++i) {
    operands.push_back(b.rawWeight(fmt::format("w{}", i), shapes[i]));
    names.push_back(operands.back().name);
  }
  Value made = b.prepared(
      "made", fmt::format("{} {} {}", op, fmt::join(names, ", "), attributes),
      operands, floats({"", result[0]}, {result.begin() + 1, result.end()}));
  Value x = b.input("x", {"batch", 2}, result);
  return b.finish({b.op("add %x, %made", {x, made}, x.type)});
}

OpCase sliceCase(CaseBuilder &b, int64_t events) {
  const Rows rows{"events", events};
  Value x = b.input("x", rows, {24});
  Value first = b.op("slice %x {offset = 0 : i64}", {x}, floats(rows, {9}));
  Value last = b.op("slice %x {offset = 15 : i64}", {x}, floats(rows, {9}));
  return b.finish({b.op(fmt::format("mul {}, {}", first.name, last.name),
                        {first, last}, floats(rows, {9}))});
}

/// Some columns of a row are an output, all of them another.
OpCase sliceOutputCase(CaseBuilder &b) {
  const Rows rows{"events", 6};
  Value x = b.input("x", rows, {24});
  Value y = b.op("gelu %x", {x}, floats(rows, {24}));
  Value part = b.op(fmt::format("slice {} {{offset = 5 : i64}}", y.name), {y},
                    floats(rows, {10}));
  return b.finish({part, y});
}

OpCase reshapeCase(CaseBuilder &b, int64_t batch) {
  const Rows rows{"batch", batch};
  Value x = b.input("x", rows, {3, 8});
  Value flat = b.op("reshape %x", {x}, floats(rows, {24}));
  Value y = b.op("gelu " + flat.name, {flat}, floats(rows, {24}));
  return b.finish({b.op("reshape " + y.name, {y}, floats(rows, {2, 12, 1}))});
}

//===----------------------------------------------------------------------===//
// Several ops
//===----------------------------------------------------------------------===//

constexpr const char *kEps = "{eps = 1.0e-5 : f64}";

Value normOf(CaseBuilder &b, const Value &x, const std::string &gain,
             int64_t columns) {
  return b.op(fmt::format("norm rms {}, %{} {}", x.name, gain, kEps),
              {x, b.weight(gain, {columns})}, x.type);
}

Value matmulOf(CaseBuilder &b, const Value &x, const std::string &name,
               int64_t columns, int64_t depth, const std::string &type) {
  return b.op(fmt::format("matmul {}, %{}", x.name, name),
              {x, b.weight(name, {columns, depth})}, type);
}

Value addOf(CaseBuilder &b, const Value &x, const Value &y) {
  return b.op(fmt::format("add {}, {}", x.name, y.name), {x, y}, x.type);
}

OpCase mlpCase(CaseBuilder &b, int64_t batch, int64_t length, int64_t columns) {
  const Rows rows{"batch", batch};
  const int64_t hidden = 4 * columns;
  std::string wide = floats(rows, {length, hidden});
  Value x = b.input("x", rows, {length, columns});
  Value y = normOf(b, x, "gain", columns);
  y = matmulOf(b, y, "up", hidden, columns, wide);
  y = b.op("gelu " + y.name, {y}, wide);
  y = matmulOf(b, y, "down", columns, hidden, x.type);
  return b.finish({addOf(b, x, y)});
}

/// Events to latents, turned and narrowed by time.
OpCase crossAttentionCase(CaseBuilder &b, const std::vector<int32_t> &lengths) {
  constexpr int64_t kLatents = 11, kColumns = 24;
  const std::string turn = "{heads = 2 : i64, offset = 0.5 : f64, step = "
                           "5.0 : f64, period_min = 10.0 : f64, "
                           "period_max = 4000.0 : f64}";
  Ragged ragged(b, lengths);
  const int64_t count = ragged.events.size;
  std::string rows = floats(ragged.events, {kColumns});
  std::string states = floats(ragged.batch, {kLatents, kColumns});

  Value neuron =
      b.integerInput("neuron", ragged.events, b.uniform(count, 0, 12));
  Value value = b.integerInput("value", ragged.events, b.uniform(count, 0, 3));
  Value clock =
      b.integerInput("clock", ragged.events, b.uniform(count, 500, 619));
  Value start = b.integerInput("start", ragged.batch,
                               std::vector<int32_t>(ragged.batch.size, 500));
  Value time = b.op("segment_sub %clock, %start, %row_splits",
                    {clock, start, ragged.splits}, integers(ragged.events));
  Value tokens = b.op("gather_sum (%neuron, %value) in (%neurons, %values)",
                      {neuron, value, b.weight("neurons", {13, kColumns}),
                       b.weight("values", {4, kColumns})},
                      rows);
  tokens = normOf(b, tokens, "gain_kv", kColumns);
  Value kv = matmulOf(b, tokens, "kv", 2 * kColumns, kColumns,
                      floats(ragged.events, {2 * kColumns}));
  Value k =
      b.op(fmt::format("slice {} {{offset = 0 : i64}}", kv.name), {kv}, rows);
  Value v =
      b.op(fmt::format("slice {} {{offset = {} : i64}}", kv.name, kColumns),
           {kv}, rows);
  k = b.op(fmt::format("rotary {}, {} {}", k.name, time.name, turn), {k, time},
           rows);
  Value latents = b.weight("latents", {kLatents, kColumns});
  Value q = normOf(b, latents, "gain_q", kColumns);
  q = matmulOf(b, q, "q", kColumns, kColumns, latents.type);
  q = b.op(fmt::format("rotary {} {}", q.name, turn), {q}, q.type);
  Value bounds = b.op("reach_bounds {span = 120.0 : f64, reach = 25.0 : f64}",
                      {}, integers({"", kLatents}, {2}));
  Value a = b.op(fmt::format("attention {}, {}, {} splits %row_splits bounds "
                             "{}, {} {{heads = 2 : i64, kv_heads = 2 : i64, "
                             "scale = 0.28 : f64}}",
                             q.name, k.name, v.name, time.name, bounds.name),
                 {q, k, v, ragged.splits, time, bounds}, states);
  a = matmulOf(b, a, "out", kColumns, kColumns, states);
  return b.finish({addOf(b, a, latents)});
}

/// One learned query an output attends to dense states.
OpCase headCase(CaseBuilder &b, int64_t batch, int64_t outputs) {
  constexpr int64_t kLatents = 10, kColumns = 32;
  const Rows rows{"batch", batch};
  std::string states = floats(rows, {kLatents, kColumns});
  Value x =
      normOf(b, b.input("x", rows, {kLatents, kColumns}), "gain", kColumns);
  Value kv = matmulOf(b, x, "kv", 2 * kColumns, kColumns,
                      floats(rows, {kLatents, 2 * kColumns}));
  Value k =
      b.op(fmt::format("slice {} {{offset = 0 : i64}}", kv.name), {kv}, states);
  Value v = b.op(fmt::format("slice {} {{offset = 32 : i64}}", kv.name), {kv},
                 states);
  Value query = b.weight("query", {outputs, kColumns});
  Value q = matmulOf(b, query, "q", kColumns, kColumns, query.type);
  Value a = b.op(fmt::format("attention {}, {}, {} {{heads = 4 : i64, kv_heads "
                             "= 4 : i64, scale = 0.35 : f64}}",
                             q.name, k.name, v.name),
                 {q, k, v}, floats(rows, {outputs, kColumns}));
  Value y = matmulOf(b, a, "out", 1, kColumns, floats(rows, {outputs, 1}));
  return b.finish({b.op("reshape " + y.name, {y}, floats(rows, {outputs}))});
}

template <typename Build>
OpCase makeCase(const char *name, double tolerance, uint64_t seed,
                Build build) {
  CaseBuilder builder(seed ^ std::hash<std::string_view>()(name));
  OpCase result = build(builder);
  result.name = name;
  result.cpuTolerance = tolerance;
  return result;
}

} // namespace

std::vector<OpCase> allOpCases(uint64_t seed) {
  std::vector<OpCase> cases;
#define BETZ_OP_CASE(name, tolerance, ...)                                     \
  cases.push_back(makeCase(#name, tolerance, seed,                             \
                           [](CaseBuilder &b) { return __VA_ARGS__; }));
#include "tests/numerics/OpCases.def"
#undef BETZ_OP_CASE
  return cases;
}

} // namespace betz
