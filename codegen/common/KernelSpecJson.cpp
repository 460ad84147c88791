//===- KernelSpecJson.cpp - KernelSpec to JSON and back -------------------===//
//
// One `fields` overload a structure lists its members once; the writer and the
// reader both walk that list.
//
//===----------------------------------------------------------------------===//
#include "codegen/common/KernelSpec.h"

#include <fmt/format.h>

namespace betz {
namespace {

template <typename V> void fields(V &v, Dim &d) {
  v("symbol", d.symbol);
  v("factor", d.factor);
  v("plus", d.plus);
}
template <typename V> void fields(V &v, OperandSpec &o) {
  v("dtype", o.dtype);
  v("rows", o.rows);
  v("columns", o.columns);
  v("row_stride", o.rowStride);
  v("offset", o.offset);
  v("constant", o.constant);
}
template <typename V> void fields(V &v, RowScaleSpec &s) {
  v("form", s.form);
  v("eps", s.eps);
  v("squares", s.squares);
}
template <typename V> void fields(V &v, NormSpec &n) {
  v("form", n.form);
  v("eps", n.eps);
  v("gain", n.gain);
  v("shift", n.shift);
}
template <typename V> void fields(V &v, MatmulCore &c) {
  v("x", c.x);
  v("weight", c.weight);
  v("depth", c.depth);
  v("columns", c.columns);
  v("panel", c.panel);
}
template <typename V> void fields(V &v, AttentionCore &c) {
  v("q", c.q);
  v("k", c.k);
  v("v", c.v);
  v("row_splits", c.rowSplits);
  v("key_time", c.keyTime);
  v("bounds", c.bounds);
  v("heads", c.heads);
  v("kv_heads", c.kvHeads);
  v("head_size", c.headSize);
  v("queries", c.queries);
  v("keys", c.keys);
  v("shared_query", c.sharedQuery);
  v("causal", c.causal);
  v("scale", c.scale);
  v("batch_symbol", c.batchSymbol);
  v("block_map", c.blockMap);
  v("map_block", c.mapBlock);
  v("map_columns", c.mapColumns);
  v("sparsity", c.sparsity);
}
template <typename V> void fields(V &v, NormCore &c) {
  v("x", c.x);
  v("norm", c.norm);
}
template <typename V> void fields(V &v, GatherCore &c) {
  v("indices", c.indices);
  v("tables", c.tables);
  v("reduce", c.reduce);
}
template <typename V> void fields(V &v, NormScaleCore &c) {
  v("x", c.x);
  v("scale", c.scale);
}
template <typename V> void fields(V &v, IdentityCore &c) { v("x", c.x); }
template <typename V> void fields(V &v, RotaryCore &c) {
  v("x", c.x);
  v("position", c.position);
  v("heads", c.heads);
  v("rows_per_item", c.rowsPerItem);
  v("offset", c.offset);
  v("step", c.step);
  v("period_min", c.periodMin);
  v("period_max", c.periodMax);
}
template <typename V> void fields(V &v, SegmentSubCore &c) {
  v("values", c.values);
  v("base", c.base);
  v("row_splits", c.rowSplits);
}
template <typename V> void fields(V &v, ContractRowsCore &c) {
  v("a", c.a);
  v("b", c.b);
}
template <typename V> void fields(V &v, ColumnSumCore &c) { v("x", c.x); }
template <typename V> void fields(V &v, ScatterSumCore &c) {
  v("index", c.index);
  v("x", c.x);
}
template <typename V> void fields(V &v, NormGradCore &c) {
  v("x", c.x);
  v("gain", c.gain);
  v("dy", c.dy);
  v("scale", c.scale);
}
template <typename V> void fields(V &v, AttentionGradCore &c) {
  v("part", c.part);
  v("forward", c.forward);
  v("dout", c.dout);
  v("lse", c.lse);
  v("delta", c.delta);
}
template <typename V> void fields(V &v, HeadDotsCore &c) {
  v("a", c.a);
  v("b", c.b);
  v("heads", c.heads);
}
template <typename V> void fields(V &v, JoinCore &c) {
  v("parts", c.parts);
  v("columns", c.columns);
}
template <typename V> void fields(V &v, LossCore &c) {
  v("kind", c.kind);
  v("x", c.x);
  v("target", c.target);
  v("dloss", c.dloss);
}
template <typename V> void fields(V &v, SquareSumCore &c) { v("x", c.x); }
template <typename V> void fields(V &v, AdamwCore &c) {
  v("weights", c.weights);
  v("moment1", c.moment1);
  v("moment2", c.moment2);
  v("gradient", c.gradient);
  v("squares", c.squares);
  v("schedule", c.schedule);
  v("beta1", c.beta1);
  v("beta2", c.beta2);
  v("eps", c.eps);
  v("weight_decay", c.weightDecay);
  v("clip", c.clip);
}
template <typename V> void fields(V &v, PackCore &c) {
  v("x", c.x);
  v("transposed", c.transposed);
  v("panel", c.panel);
}
template <typename V> void fields(V &v, FillCore &c) { v("value", c.value); }
template <typename V> void fields(V &v, EpilogueStep &s) {
  v("kind", s.kind);
  v("operand", s.operand);
  v("swapped", s.swapped);
  v("rate", s.rate);
  v("site", s.site);
}
template <typename V> void fields(V &v, ReductionPlan &p) {
  v("depth_chunk", p.depthChunk);
  v("statistic_lanes", p.statisticLanes);
  v("key_block", p.keyBlock);
  v("row_chunk", p.rowChunk);
}
template <typename V> void fields(V &v, TileConfig &t) {
  v("rows", t.rows);
  v("columns", t.columns);
  v("depth", t.depth);
  v("stages", t.stages);
}
template <typename V> void fields(V &v, KernelSpec &s) {
  v("symbols", s.symbols);
  v("operands", s.operands);
  v("core", s.core);
  v("prologue", s.prologue);
  v("row_scale", s.rowScale);
  v("epilogue", s.epilogue);
  v("square_group", s.squareGroup);
  v("plan", s.plan);
  v("tile", s.tile);
}

/// Names in the order of the variant's or enumeration's values.
constexpr std::string_view kCoreNames[] = {
    "matmul",         "attention",  "norm",        "gather_sum",
    "identity",       "rotary",     "segment_sub", "norm_scale",
    "contract_rows",  "column_sum", "scatter_sum", "norm_grad",
    "attention_grad", "head_dots",  "join",        "loss",
    "square_sum",     "adamw",      "pack",        "fill"};
static_assert(std::size(kCoreNames) == std::variant_size_v<Core>);
constexpr std::string_view kAttentionPartNames[] = {"lse", "grad_q", "grad_kv"};
constexpr std::string_view kLossNames[] = {"mse", "cross_entropy"};
constexpr std::string_view kSparsityNames[] = {"dense", "causal", "segments",
                                               "time_bounds", "block_map"};
constexpr std::string_view kNormNames[] = {"layer", "rms"};

std::string_view nameOf(NormForm form) { return kNormNames[size_t(form)]; }
std::string_view nameOf(SparsityRule rule) {
  return kSparsityNames[size_t(rule)];
}
std::string_view nameOf(AttentionPart part) {
  return kAttentionPartNames[size_t(part)];
}
std::string_view nameOf(LossKind kind) { return kLossNames[size_t(kind)]; }
std::string_view nameOf(EpilogueStep::Kind kind) {
  return describe(kind).mnemonic;
}
std::optional<DType> parseName(std::string_view name, DType) {
  return parseDType(name);
}
template <typename T>
std::optional<T> findName(std::string_view name,
                          std::span<const std::string_view> names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return static_cast<T>(i);
  return std::nullopt;
}
std::optional<NormForm> parseName(std::string_view name, NormForm) {
  return findName<NormForm>(name, kNormNames);
}
std::optional<SparsityRule> parseName(std::string_view name, SparsityRule) {
  return findName<SparsityRule>(name, kSparsityNames);
}
std::optional<AttentionPart> parseName(std::string_view name, AttentionPart) {
  return findName<AttentionPart>(name, kAttentionPartNames);
}
std::optional<LossKind> parseName(std::string_view name, LossKind) {
  return findName<LossKind>(name, kLossNames);
}
std::optional<EpilogueStep::Kind> parseName(std::string_view name,
                                            EpilogueStep::Kind) {
  return findElementwise(name);
}

struct Writer {
  Json json = Json::object();

  template <typename T> static Json write(T &value) {
    if constexpr (std::is_same_v<T, DType>) {
      return std::string(toString(value));
    } else if constexpr (std::is_enum_v<T>) {
      return std::string(nameOf(value));
    } else if constexpr (std::is_class_v<T> &&
                         !std::is_same_v<T, std::string>) {
      Writer inner;
      fields(inner, value);
      return std::move(inner.json);
    } else {
      return value;
    }
  }
  template <typename T> static Json write(std::vector<T> &values) {
    Json array = Json::array();
    for (T &value : values)
      array.push_back(write(value));
    return array;
  }
  template <typename T> static Json write(std::optional<T> &value) {
    return value ? write(*value) : Json();
  }
  static Json write(Core &core) {
    Writer inner;
    inner.json["op"] = std::string(kCoreNames[core.index()]);
    std::visit([&](auto &alternative) { fields(inner, alternative); }, core);
    return std::move(inner.json);
  }
  template <typename T> void operator()(const char *name, T &value) {
    json[name] = write(value);
  }
};

struct Reader {
  const Json &json;
  Status status;

  template <typename T> Status read(const Json &from, T &value) {
    if constexpr (std::is_enum_v<T>) {
      return readName(from, value);
    } else if constexpr (std::is_class_v<T> &&
                         !std::is_same_v<T, std::string>) {
      Reader inner{from, {}};
      fields(inner, value);
      return inner.status;
    } else {
      Json wrapped = {{"value", from}};
      BETZ_ASSIGN_OR_RETURN(value, getMember<T>(wrapped, "value"));
      return Status::ok();
    }
  }
  template <typename T> Status readName(const Json &from, T &value) {
    if (!from.is_string())
      return dataLoss("must be a name");
    std::string name = from.get<std::string>();
    if (std::optional<T> parsed = parseName(name, T())) {
      value = *parsed;
      return Status::ok();
    }
    return dataLoss(fmt::format("unknown name \"{}\"", name));
  }
  template <typename T> Status read(const Json &from, std::vector<T> &values) {
    if (!from.is_array())
      return dataLoss("must be an array");
    values.clear();
    for (const Json &element : from)
      BETZ_RETURN_IF_ERROR(read(element, values.emplace_back()));
    return Status::ok();
  }
  template <typename T> Status read(const Json &from, std::optional<T> &value) {
    value.reset();
    return from.is_null() ? Status::ok() : read(from, value.emplace());
  }
  Status read(const Json &from, Core &core) {
    BETZ_ASSIGN_OR_RETURN(std::string op, getMember<std::string>(from, "op"));
    return readCore(from, op, core,
                    std::make_index_sequence<std::variant_size_v<Core>>());
  }
  template <size_t... I>
  Status readCore(const Json &from, const std::string &op, Core &core,
                  std::index_sequence<I...>) {
    bool known = ((op == kCoreNames[I] && (core.emplace<I>(), true)) || ...);
    if (!known)
      return dataLoss(fmt::format("unknown core \"{}\"", op));
    Reader inner{from, {}};
    std::visit([&](auto &alternative) { fields(inner, alternative); }, core);
    return inner.status;
  }
  template <typename T> void operator()(const char *name, T &value) {
    if (!status.isOk())
      return;
    if (!json.is_object() || !json.contains(name)) {
      status = dataLoss(fmt::format("\"{}\" is missing", name));
      return;
    }
    status = read(json[name], value).withContext(name);
  }
};

/// Visits the operand and symbol numbers of a spec.
struct NumberCheck {
  int32_t operands, symbols;
  bool wrong = false;

  void required(int32_t operand) {
    wrong |= operand < 0 || operand >= operands;
  }
  void optional(int32_t operand) {
    wrong |= operand < -1 || operand >= operands;
  }
  void symbol(int32_t number) { wrong |= number < -1 || number >= symbols; }

  void operator()(const MatmulCore &core) {
    required(core.x);
    required(core.weight);
  }
  void operator()(const AttentionCore &core) {
    required(core.v);
    visibleKeys(core);
  }
  void visibleKeys(const AttentionCore &core) {
    required(core.q);
    required(core.k);
    for (int32_t operand :
         {core.rowSplits, core.keyTime, core.bounds, core.blockMap})
      optional(operand);
    wrong |= (core.keyTime < 0) != (core.bounds < 0);
    wrong |= core.blockMap >= 0 && core.mapBlock < 1;
    symbol(core.batchSymbol);
    wrong |= core.batchSymbol < 0;
  }
  void operator()(const RowScaleSpec &scale, bool maySum) {
    optional(scale.squares);
    wrong |= scale.squares >= 0 && !maySum;
  }
  void operator()(const NormSpec &norm) {
    required(norm.gain);
    optional(norm.shift);
  }
  void operator()(const NormCore &core) {
    required(core.x);
    (*this)(core.norm);
  }
  void operator()(const GatherCore &core) {
    wrong |= core.indices.empty() || core.indices.size() != core.tables.size();
    for (int32_t operand : core.indices)
      required(operand);
    for (int32_t operand : core.tables)
      required(operand);
    if (core.reduce)
      (*this)(*core.reduce, /*maySum=*/false);
  }
  void operator()(const NormScaleCore &core) {
    required(core.x);
    (*this)(core.scale, /*maySum=*/false);
  }
  void operator()(const IdentityCore &core) { required(core.x); }
  void operator()(const RotaryCore &core) {
    required(core.x);
    optional(core.position);
  }
  void operator()(const SegmentSubCore &core) {
    for (int32_t operand : {core.values, core.base, core.rowSplits})
      required(operand);
  }
  void operator()(const ContractRowsCore &core) {
    required(core.a);
    required(core.b);
  }
  void operator()(const ColumnSumCore &core) { required(core.x); }
  void operator()(const ScatterSumCore &core) {
    required(core.index);
    required(core.x);
  }
  void operator()(const NormGradCore &core) {
    for (int32_t operand : {core.x, core.gain, core.dy})
      required(operand);
    (*this)(core.scale, /*maySum=*/false);
  }
  void operator()(const AttentionGradCore &core) {
    if (core.part == AttentionPart::LogSum)
      return visibleKeys(core.forward);
    (*this)(core.forward);
    for (int32_t operand : {core.dout, core.lse, core.delta})
      required(operand);
  }
  void operator()(const HeadDotsCore &core) {
    required(core.a);
    required(core.b);
    wrong |= core.heads < 1;
  }
  void operator()(const JoinCore &core) {
    wrong |= core.parts.empty() || core.parts.size() != core.columns.size();
    for (int32_t operand : core.parts)
      required(operand);
  }
  void operator()(const LossCore &core) {
    required(core.x);
    required(core.target);
    optional(core.dloss);
  }
  void operator()(const SquareSumCore &core) { required(core.x); }
  void operator()(const AdamwCore &core) {
    for (int32_t operand : {core.weights, core.moment1, core.moment2,
                            core.gradient, core.squares, core.schedule})
      required(operand);
  }
  void operator()(const PackCore &core) {
    required(core.x);
    wrong |= core.panel < 0;
  }
  void operator()(const FillCore &) {}
};

} // namespace

Json toJson(const KernelSpec &spec) {
  return Writer::write(const_cast<KernelSpec &>(spec));
}

Result<KernelSpec> kernelSpecFromJson(const Json &json) {
  KernelSpec spec;
  Reader reader{json, {}};
  fields(reader, spec);
  BETZ_RETURN_IF_ERROR(std::move(reader.status).withContext("kernel spec"));
  BETZ_RETURN_IF_ERROR(checkNumbers(spec).withContext("kernel spec"));
  return spec;
}

Status checkNumbers(const KernelSpec &spec) {
  if (spec.operands.empty() || spec.resultIndex() < 0)
    return dataLoss("a kernel needs operands");
  if (spec.squareGroup < 0 ||
      (spec.squareGroup > 0 && spec.result().columns % spec.squareGroup != 0))
    return dataLoss("sums of squares of groups that do not divide the columns");
  NumberCheck check{int32_t(spec.operands.size()),
                    int32_t(spec.symbols.size())};
  for (const OperandSpec &operand : spec.operands)
    check.symbol(operand.rows.symbol);
  std::visit([&](const auto &core) { check(core); }, spec.core);
  if (spec.prologue)
    check(*spec.prologue);
  for (const EpilogueStep &step : spec.epilogue)
    if (spec.rowScale && step.kind == EpilogueStep::Kind::ScaleRows)
      check.optional(step.operand);
    else if (describe(step.kind).operands == 2)
      check.required(step.operand);
    else
      check.wrong |= step.operand != -1;
  const bool isMatmul = std::holds_alternative<MatmulCore>(spec.core);
  if (spec.rowScale)
    check(*spec.rowScale, isMatmul);
  check.wrong |= (spec.rowScale || spec.squareGroup > 0) && !isMatmul;
  return check.wrong ? dataLoss("an operand or symbol number is out of range")
                     : Status::ok();
}

} // namespace betz
