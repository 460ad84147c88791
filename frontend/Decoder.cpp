//===- Decoder.cpp - The Perceiver decoder as a betz module ---------------===//
//
// Follows DESIGN section 5; names of weights are PyTorch's.
//
//===----------------------------------------------------------------------===//
#include "frontend/Frontend.h"
#include "runtime/base/Suggest.h"

#include <cmath>
#include <fmt/format.h>
#include <set>

namespace betz {
namespace {

using namespace ir;
using mlir::Type;
using mlir::Value;

constexpr const char *kBatch = "batch";
constexpr const char *kEvents = "events";

/// How a weight starts when no weights file is given.
enum class Init { Normal, Uniform, Ones, Zeros };
constexpr const char *kInitNames[] = {"normal", "uniform", "ones", "zeros"};

struct Weight {
  std::string name;
  std::vector<int64_t> shape;
  Init init;
};

void addNorm(std::vector<Weight> &weights, const ModelConfig &c,
             const std::string &name) {
  weights.push_back({name + ".weight", {c.dim}, Init::Ones});
  if (c.norm == "layernorm")
    weights.push_back({name + ".bias", {c.dim}, Init::Zeros});
}

void addBlock(std::vector<Weight> &weights, const ModelConfig &c, int64_t i) {
  int64_t d = c.dim, hidden = c.dim * c.mlpRatio;
  std::string block = fmt::format("blocks.{}.", i);
  addNorm(weights, c, block + "norm_attn");
  weights.push_back({block + "qkv_proj.weight", {3 * d, d}, Init::Uniform});
  weights.push_back({block + "out_proj.weight", {d, d}, Init::Uniform});
  addNorm(weights, c, block + "norm_mlp");
  weights.push_back({block + "mlp.0.weight", {hidden, d}, Init::Uniform});
  weights.push_back({block + "mlp.2.weight", {d, hidden}, Init::Uniform});
}

void addSpikeHead(std::vector<Weight> &weights, const ModelConfig &c) {
  int64_t d = c.dim;
  addNorm(weights, c, "spike_head.norm_q");
  weights.push_back({"spike_head.q_proj.weight", {d, d}, Init::Uniform});
  addNorm(weights, c, "spike_head.norm_kv");
  weights.push_back({"spike_head.kv_proj.weight", {2 * d, d}, Init::Uniform});
  weights.push_back({"spike_head.out_proj.weight", {d, d}, Init::Uniform});
  weights.push_back(
      {"masked_spike_head.weight", {c.valueBuckets, d}, Init::Uniform});
  weights.push_back({"masked_spike_head.bias", {c.valueBuckets}, Init::Zeros});
}

/// The weights that inference uses, in the order of use.
std::vector<Weight> decoderWeights(const ModelConfig &c) {
  int64_t d = c.dim;
  std::vector<Weight> weights = {
      {"neuron_emb.weight", {c.maxNeurons, d}, Init::Normal}};
  if (c.time == "table")
    weights.push_back({"time_emb.weight", {c.maxTimeBins, d}, Init::Normal});
  weights.push_back({"value_emb.weight", {c.valueBuckets, d}, Init::Normal});
  weights.push_back({"latents", {c.latents, d}, Init::Normal});
  addNorm(weights, c, "cross_attn.norm_q");
  weights.push_back({"cross_attn.q_proj.weight", {d, d}, Init::Uniform});
  addNorm(weights, c, "cross_attn.norm_kv");
  weights.push_back({"cross_attn.kv_proj.weight", {2 * d, d}, Init::Uniform});
  weights.push_back({"cross_attn.out_proj.weight", {d, d}, Init::Uniform});
  for (int64_t i = 0; i < c.layers; ++i)
    addBlock(weights, c, i);
  addNorm(weights, c, "final_norm");
  weights.push_back({"behavior_head.query", {c.behaviorDim, d}, Init::Normal});
  weights.push_back({"behavior_head.q_proj.weight", {d, d}, Init::Uniform});
  addNorm(weights, c, "behavior_head.norm");
  weights.push_back(
      {"behavior_head.kv_proj.weight", {2 * d, d}, Init::Uniform});
  weights.push_back({"behavior_head.out_proj.weight", {1, d}, Init::Uniform});
  return weights;
}

/// Emits the decoder into `@main`.
class DecoderBuilder {
public:
  DecoderBuilder(mlir::MLIRContext &context, const ModelDescription &model,
                 const TrainingParts &parts)
      : c(model.config), parts(parts), builder(&context),
        where(mlir::UnknownLoc::get(&context)), f32(builder.getF32Type()),
        i32(builder.getI32Type()), weights(decoderWeights(model.config)) {
    if (parts.sessions > 0)
      weights.push_back(
          {"session_emb.weight", {parts.sessions, c.dim}, Init::Zeros});
    if (parts.spikeQueries > 0)
      addSpikeHead(weights, c);
  }

  mlir::OwningOpRef<mlir::ModuleOp>
  build(const std::map<std::string, std::string> &metadata,
        const std::vector<std::string> &outputs);

private:
  void makeModule(const std::map<std::string, std::string> &metadata);
  void makePrepare();
  /// An input that only a part of training has, and where it is kept.
  struct PartInput {
    const char *name;
    Type type;
    Value *value;
  };
  std::vector<PartInput> listPartInputs();
  void makeMain(const std::vector<std::string> &outputs);
  void addInput(mlir::func::FuncOp main, unsigned index, const char *name,
                const char *alias = nullptr, bool zeroByDefault = false);
  Value emitTokens();
  Value emitCrossAttention(Value tokens);
  Value emitBlock(Value x, int64_t index);
  Value emitBehaviorHead(Value latents);
  Value emitSpikeLogits(Value latents);

  Value weight(const std::string &name) { return weightValues.at(name); }
  Value norm(Value x, const std::string &name);
  Value linear(Value x, const std::string &name);
  Value slice(Value x, int64_t offset, int64_t size);
  Value dropout(Value x);
  Value attention(Value q, Value k, Value v, bool toEvents);
  Value rotary(Value x, Value position, double step);
  template <typename OpTy, typename... Args>
  Value emit(Type type, Args... args);
  Type typeOf(Value value) { return value.getType(); }
  Tensor tensorOf(Value value) { return llvm::cast<Tensor>(value.getType()); }
  mlir::FloatAttr real(double value) { return builder.getF64FloatAttr(value); }

  const ModelConfig &c;
  const TrainingParts &parts;
  mlir::OpBuilder builder;
  mlir::Location where;
  Type f32, i32;
  std::vector<Weight> weights;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, Value> weightValues;
  Value neuron, timeBin, value, rowSplits, windowStart, relativeTime;
  /// Null where the model has no such part; the query's time also without a
  /// time table.
  Value session, queryNeuron, queryTime, querySession, dropoutSeed;
  int64_t dropoutSite = 0;
  std::string section;
};

template <typename OpTy, typename... Args>
Value DecoderBuilder::emit(Type type, Args... args) {
  auto op = builder.create<OpTy>(where, type, args...);
  op->setAttr(kSectionAttr, builder.getStringAttr(section));
  return op->getResult(0);
}

Value DecoderBuilder::norm(Value x, const std::string &name) {
  bool layer = c.norm == "layernorm";
  return emit<NormOp>(
      typeOf(x), x, weight(name + ".weight"),
      layer ? weight(name + ".bias") : Value(),
      NormKindAttr::get(builder.getContext(),
                        layer ? NormKind::Layer : NormKind::Rms),
      real(c.eps));
}

Value DecoderBuilder::linear(Value x, const std::string &name) {
  Value w = weight(name + ".weight");
  return emit<MatmulOp>(
      Type(withColumns(tensorOf(x), tensorOf(w).getDimSize(0))), x, w,
      mlir::IntegerAttr());
}

Value DecoderBuilder::slice(Value x, int64_t offset, int64_t size) {
  return emit<SliceOp>(Type(withColumns(tensorOf(x), size)), x,
                       builder.getI64IntegerAttr(offset));
}

/// Each call is a site of its own.
Value DecoderBuilder::dropout(Value x) {
  if (!dropoutSeed)
    return x;
  return emit<DropoutOp>(typeOf(x), x, dropoutSeed, real(parts.dropout),
                         builder.getI64IntegerAttr(dropoutSite++));
}

Value DecoderBuilder::rotary(Value x, Value position, double step) {
  return emit<RotaryOp>(typeOf(x), x, position,
                        builder.getI64IntegerAttr(c.heads), real(0.5),
                        real(step), real(c.periodMinMs), real(c.periodMaxMs));
}

Value DecoderBuilder::attention(Value q, Value k, Value v, bool toEvents) {
  Value splits = toEvents ? rowSplits : Value();
  Value bounds, keyTime;
  if (toEvents && c.reachBins > 0) {
    bounds = emit<ReachBoundsOp>(Type(Tensor::get({c.latents, 2}, i32)),
                                 real(double(c.windowBins)), real(c.reachBins));
    keyTime = relativeTime;
  }
  RowsAttr batch = RowsAttr::get(builder.getContext(), kBatch, 0);
  return emit<AttentionOp>(
      Type(attentionType(tensorOf(q), batch)), q, k, v, splits, keyTime, bounds,
      Value(), builder.getI64IntegerAttr(c.heads),
      builder.getI64IntegerAttr(c.heads),
      real(1.0 / std::sqrt(double(c.dim / c.heads))), mlir::UnitAttr(),
      mlir::IntegerAttr(), SparsityAttr());
}

Value DecoderBuilder::emitTokens() {
  section = "tokens";
  relativeTime =
      emit<SegmentSubOp>(typeOf(timeBin), timeBin, windowStart, rowSplits);
  llvm::SmallVector<Value> indices{neuron};
  llvm::SmallVector<Value> tables{weight("neuron_emb.weight")};
  if (c.time == "table") {
    indices.push_back(relativeTime);
    tables.push_back(weight("time_emb.weight"));
  }
  indices.push_back(value);
  tables.push_back(weight("value_emb.weight"));
  if (session) {
    indices.push_back(session);
    tables.push_back(weight("session_emb.weight"));
  }
  return emit<GatherSumOp>(Type(rowsType(kEvents, {c.dim}, f32)),
                           mlir::ValueRange(indices), mlir::ValueRange(tables));
}

Value DecoderBuilder::emitCrossAttention(Value tokens) {
  section = "cross_attn";
  Value latents = weight("latents");
  Value q = linear(norm(latents, "cross_attn.norm_q"), "cross_attn.q_proj");
  Value kv = linear(norm(tokens, "cross_attn.norm_kv"), "cross_attn.kv_proj");
  Value k = slice(kv, 0, c.dim);
  Value v = slice(kv, c.dim, c.dim);
  if (c.time == "rotary") {
    double latentMs = double(c.windowBins) / double(c.latents) * c.binMs;
    q = rotary(q, Value(), latentMs);
    k = rotary(k, relativeTime, c.binMs);
  }
  Value a =
      linear(attention(q, k, v, /*toEvents=*/true), "cross_attn.out_proj");
  return emit<AddOp>(typeOf(a), dropout(a), latents);
}

Value DecoderBuilder::emitBlock(Value x, int64_t index) {
  std::string block = fmt::format("blocks.{}.", index);
  section = block + "attn";
  Value qkv = linear(norm(x, block + "norm_attn"), block + "qkv_proj");
  Value a = attention(slice(qkv, 0, c.dim), slice(qkv, c.dim, c.dim),
                      slice(qkv, 2 * c.dim, c.dim), /*toEvents=*/false);
  a = linear(a, block + "out_proj");
  x = emit<AddOp>(typeOf(a), dropout(a), x);
  section = block + "mlp";
  Value hidden = linear(norm(x, block + "norm_mlp"), block + "mlp.0");
  hidden = emit<GeluOp>(typeOf(hidden), hidden);
  Value y = linear(hidden, block + "mlp.2");
  return emit<AddOp>(typeOf(y), dropout(y), x);
}

Value DecoderBuilder::emitBehaviorHead(Value latents) {
  section = "behavior_head";
  Value q = linear(weight("behavior_head.query"), "behavior_head.q_proj");
  Value kv =
      linear(norm(latents, "behavior_head.norm"), "behavior_head.kv_proj");
  Value a = attention(q, slice(kv, 0, c.dim), slice(kv, c.dim, c.dim),
                      /*toEvents=*/false);
  Value y = linear(a, "behavior_head.out_proj");
  return emit<ReshapeOp>(Type(rowsType(kBatch, {c.behaviorDim}, f32)), y);
}

Value DecoderBuilder::emitSpikeLogits(Value latents) {
  section = "spike_head";
  llvm::SmallVector<Value> indices{queryNeuron};
  llvm::SmallVector<Value> tables{weight("neuron_emb.weight")};
  if (queryTime) {
    indices.push_back(queryTime);
    tables.push_back(weight("time_emb.weight"));
  }
  if (querySession) {
    indices.push_back(querySession);
    tables.push_back(weight("session_emb.weight"));
  }
  Value query = emit<GatherSumOp>(
      Type(rowsType(kBatch, {parts.spikeQueries, c.dim}, f32)),
      mlir::ValueRange(indices), mlir::ValueRange(tables));
  Value q = linear(norm(query, "spike_head.norm_q"), "spike_head.q_proj");
  Value kv = linear(norm(latents, "spike_head.norm_kv"), "spike_head.kv_proj");
  Value a = attention(q, slice(kv, 0, c.dim), slice(kv, c.dim, c.dim),
                      /*toEvents=*/false);
  a = linear(a, "spike_head.out_proj");
  a = emit<AddOp>(typeOf(a), a, query);
  Value logits = linear(a, "masked_spike_head");
  return emit<AddOp>(typeOf(logits), logits, weight("masked_spike_head.bias"));
}

void DecoderBuilder::makeModule(
    const std::map<std::string, std::string> &metadata) {
  module = mlir::ModuleOp::create(where);
  setPhase(*module, Phase::Model);
  (*module)->setAttr(kSymbolsAttr, builder.getStrArrayAttr({kBatch, kEvents}));
  llvm::SmallVector<mlir::NamedAttribute> entries;
  for (const auto &[key, text] : metadata)
    entries.push_back(builder.getNamedAttr(key, builder.getStringAttr(text)));
  (*module)->setAttr(kMetadataAttr, builder.getDictionaryAttr(entries));
  builder.setInsertionPointToEnd(module->getBody());
}

void DecoderBuilder::makePrepare() {
  llvm::SmallVector<Type> types;
  for (const Weight &weight : weights)
    types.push_back(Tensor::get(weight.shape, f32));
  auto prepare = builder.create<mlir::func::FuncOp>(
      where, kPrepare, builder.getFunctionType(types, types));
  for (unsigned i = 0; i < weights.size(); ++i) {
    mlir::StringAttr name = builder.getStringAttr(weights[i].name);
    prepare.setArgAttr(i, kWeightAttr, name);
    prepare.setArgAttr(i, kInitAttr,
                       builder.getStringAttr(kInitNames[int(weights[i].init)]));
    prepare.setResultAttr(i, kDerivedAttr, name);
  }
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *body = prepare.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  builder.create<mlir::func::ReturnOp>(where, body->getArguments());
}

void DecoderBuilder::addInput(mlir::func::FuncOp main, unsigned index,
                              const char *name, const char *alias,
                              bool zeroByDefault) {
  main.setArgAttr(index, kInputAttr, builder.getStringAttr(name));
  if (alias)
    main.setArgAttr(index, kAliasAttr, builder.getStringAttr(alias));
  if (zeroByDefault)
    main.setArgAttr(index, kDefaultAttr, builder.getI32IntegerAttr(0));
}

std::vector<DecoderBuilder::PartInput> DecoderBuilder::listPartInputs() {
  std::vector<PartInput> inputs;
  Type queries = rowsType(kBatch, {parts.spikeQueries}, i32);
  if (parts.spikeQueries > 0)
    inputs.push_back({"query_neuron", queries, &queryNeuron});
  if (parts.spikeQueries > 0 && c.time == "table")
    inputs.push_back({"query_time", queries, &queryTime});
  if (parts.sessions > 0)
    inputs.push_back({"session", rowsType(kEvents, {}, i32), &session});
  if (parts.spikeQueries > 0 && parts.sessions > 0)
    inputs.push_back({"query_session", queries, &querySession});
  if (parts.dropout > 0)
    inputs.push_back({"dropout_seed", Tensor::get({2}, i32), &dropoutSeed});
  return inputs;
}

void DecoderBuilder::makeMain(const std::vector<std::string> &outputs) {
  Tensor perEvent = rowsType(kEvents, {}, i32);
  llvm::SmallVector<Type> types;
  for (const Weight &weight : weights)
    types.push_back(Tensor::get(weight.shape, f32));
  unsigned first = types.size();
  types.append({perEvent, perEvent, perEvent, rowsType(kBatch, {}, i32, 1),
                rowsType(kBatch, {}, i32)});
  const std::vector<PartInput> partInputs = listPartInputs();
  for (const PartInput &input : partInputs)
    types.push_back(input.type);
  auto main = builder.create<mlir::func::FuncOp>(
      where, kMain, builder.getFunctionType(types, {}));
  for (unsigned i = 0; i < first; ++i)
    main.setArgAttr(i, kDerivedAttr, builder.getStringAttr(weights[i].name));
  addInput(main, first, "neuron_id");
  addInput(main, first + 1, "time_bin");
  addInput(main, first + 2, "value");
  addInput(main, first + 3, "row_splits", "offsets");
  addInput(main, first + 4, "window_start", nullptr, /*zeroByDefault=*/true);

  for (size_t i = 0; i < partInputs.size(); ++i)
    addInput(main, first + 5 + unsigned(i), partInputs[i].name);

  mlir::Block *body = main.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  for (unsigned i = 0; i < first; ++i)
    weightValues[weights[i].name] = body->getArgument(i);
  neuron = body->getArgument(first);
  timeBin = body->getArgument(first + 1);
  value = body->getArgument(first + 2);
  rowSplits = body->getArgument(first + 3);
  windowStart = body->getArgument(first + 4);
  for (size_t i = 0; i < partInputs.size(); ++i)
    *partInputs[i].value = body->getArgument(first + 5 + unsigned(i));

  Value x = emitCrossAttention(emitTokens());
  for (int64_t i = 0; i < c.layers; ++i)
    x = emitBlock(x, i);
  section = "final_norm";
  Value latents = norm(x, "final_norm");
  llvm::SmallVector<Value> results;
  for (const std::string &output : outputs)
    results.push_back(output == "behavior" ? emitBehaviorHead(latents)
                                           : latents);
  if (parts.spikeQueries > 0)
    results.push_back(emitSpikeLogits(latents));
  builder.create<mlir::func::ReturnOp>(where, results);
  main.setType(builder.getFunctionType(
      types, llvm::to_vector(mlir::ValueRange(results).getTypes())));
  for (unsigned i = 0; i < results.size(); ++i)
    main.setResultAttr(
        i, kOutputAttr,
        builder.getStringAttr(
            i < outputs.size() ? outputs[i] : std::string("spike_logits")));
}

mlir::OwningOpRef<mlir::ModuleOp>
DecoderBuilder::build(const std::map<std::string, std::string> &metadata,
                      const std::vector<std::string> &outputs) {
  makeModule(metadata);
  makePrepare();
  makeMain(outputs);
  return std::move(module);
}

Status checkOutputs(const std::vector<std::string> &outputs) {
  std::vector<std::string> known(std::begin(kDecoderOutputs),
                                 std::end(kDecoderOutputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (std::find(known.begin(), known.end(), outputs[i]) == known.end()) {
      std::string near = nearestName(outputs[i], known);
      return invalidArgument(fmt::format(
          "unknown output \"{}\"; {}", outputs[i],
          near.empty() ? "known: behavior, latents_out"
                       : fmt::format("did you mean \"{}\"?", near)));
    }
    if (std::find(outputs.begin(), outputs.begin() + i, outputs[i]) !=
        outputs.begin() + i)
      return invalidArgument(
          fmt::format("output \"{}\" is asked for twice", outputs[i]));
  }
  return Status::ok();
}

} // namespace

Result<mlir::OwningOpRef<mlir::ModuleOp>>
buildDecoder(mlir::MLIRContext &context, const ModelDescription &model,
             const std::vector<std::string> &outputs,
             const TrainingParts &parts) {
  if (outputs.empty() && parts.spikeQueries <= 0)
    return invalidArgument("no output asked for; known: behavior, latents_out");
  BETZ_RETURN_IF_ERROR(checkOutputs(outputs));
  return DecoderBuilder(context, model, parts)
      .build(toProgramMetadata(model), outputs);
}

std::vector<WeightShape> carriedWeights(const ModelConfig &config) {
  return {{"masked_spike_head.weight", {config.valueBuckets, config.dim}},
          {"masked_spike_head.bias", {config.valueBuckets}}};
}

int64_t countParameters(mlir::ModuleOp module, const ModelConfig &config) {
  int64_t count = 0;
  std::set<std::string> used;
  mlir::func::FuncOp prepare = getPrepare(module);
  for (unsigned i = 0; i < prepare.getNumArguments(); ++i) {
    count += llvm::cast<Tensor>(prepare.getArgumentTypes()[i]).getNumElements();
    used.insert(getArgName(prepare, i, kWeightAttr).str());
  }
  for (const WeightShape &weight : carriedWeights(config)) {
    if (used.contains(weight.name))
      continue;
    int64_t elements = 1;
    for (int64_t size : weight.shape)
      elements *= size;
    count += elements;
  }
  return count;
}

} // namespace betz
