#include "frontend/Gru.h"

#include <fmt/format.h>
#include <map>

namespace betz {
namespace {

using namespace ir;
using mlir::Type;
using mlir::Value;

constexpr const char *kBatch = "batch";

class GruBuilder {
public:
  GruBuilder(mlir::MLIRContext &context, const GruConfig &config)
      : c(config), builder(&context), where(mlir::UnknownLoc::get(&context)),
        f32(builder.getF32Type()) {}

  mlir::OwningOpRef<mlir::ModuleOp> build() {
    module = mlir::ModuleOp::create(where);
    setPhase(*module, Phase::Model);
    (*module)->setAttr(kSymbolsAttr, builder.getStrArrayAttr({kBatch}));
    listWeights();
    builder.setInsertionPointToEnd(module->getBody());
    makePrepare();
    makeMain();
    return std::move(module);
  }

private:
  struct Weight {
    std::string name;
    std::vector<int64_t> shape;
  };

  void listWeights() {
    const int64_t gates = 3 * c.hidden;
    for (int64_t i = 0; i < c.layers; ++i) {
      const int64_t inputs = i == 0 ? c.units : c.hidden;
      weights.push_back({fmt::format("rnn.weight_ih_l{}", i), {gates, inputs}});
      weights.push_back(
          {fmt::format("rnn.weight_hh_l{}", i), {gates, c.hidden}});
      weights.push_back({fmt::format("rnn.bias_ih_l{}", i), {gates}});
      weights.push_back({fmt::format("rnn.bias_hh_l{}", i), {gates}});
    }
    weights.push_back({"head.weight", {c.outputs, c.hidden}});
    weights.push_back({"head.bias", {c.outputs}});
  }

  std::vector<Type> weightTypes() {
    std::vector<Type> types;
    for (const Weight &weight : weights)
      types.push_back(Tensor::get(weight.shape, f32));
    return types;
  }

  void makePrepare() {
    const std::vector<Type> types = weightTypes();
    auto prepare = builder.create<mlir::func::FuncOp>(
        where, kPrepare, builder.getFunctionType(types, types));
    for (unsigned i = 0; i < weights.size(); ++i) {
      mlir::StringAttr name = builder.getStringAttr(weights[i].name);
      prepare.setArgAttr(i, kWeightAttr, name);
      // Biases too are drawn from within 1 / sqrt(hidden) by PyTorch; zeros
      // lose nothing.
      prepare.setArgAttr(i, kInitAttr,
                         builder.getStringAttr(weights[i].shape.size() == 1
                                                   ? "zeros"
                                                   : "uniform"));
      prepare.setResultAttr(i, kDerivedAttr, name);
    }
    mlir::OpBuilder::InsertionGuard guard(builder);
    mlir::Block *body = prepare.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    builder.create<mlir::func::ReturnOp>(where, body->getArguments());
  }

  bool drops() const { return c.inputDropout > 0 || c.outputDropout > 0; }

  void makeMain() {
    std::vector<Type> types = weightTypes();
    const unsigned first = unsigned(types.size());
    types.push_back(rowsType(kBatch, {c.bins, c.units}, f32));
    if (drops())
      types.push_back(Tensor::get({2}, builder.getI32Type()));
    const Type result = rowsType(kBatch, {c.outputs}, f32);
    auto main = builder.create<mlir::func::FuncOp>(
        where, kMain, builder.getFunctionType(types, {result}));
    for (unsigned i = 0; i < first; ++i)
      main.setArgAttr(i, kDerivedAttr, builder.getStringAttr(weights[i].name));
    main.setArgAttr(first, kInputAttr, builder.getStringAttr("counts"));
    if (drops())
      main.setArgAttr(first + 1, kInputAttr,
                      builder.getStringAttr("dropout_seed"));
    main.setResultAttr(0, kOutputAttr, builder.getStringAttr("behavior"));
    mlir::Block *body = main.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    for (unsigned i = 0; i < first; ++i)
      values[weights[i].name] = body->getArgument(i);
    if (drops())
      seed = body->getArgument(first + 1);
    Value last = emitLayers(body->getArgument(first));
    section = "head";
    Value y = linear(dropout(last, c.outputDropout), "head.weight");
    builder.create<mlir::func::ReturnOp>(where, add(y, values.at("head.bias")));
  }

  /// `x`: counts of all bins. Returns the last layer's last hidden state.
  Value emitLayers(Value x) {
    std::vector<Value> states;
    for (int64_t layer = 0; layer < c.layers; ++layer) {
      section = fmt::format("rnn.l{}", layer);
      states =
          emitLayer(inputGates(layer == 0 ? x : join(states), layer), layer);
    }
    return states.back();
  }

  /// What the inputs of all bins, [B, bins, N], give the gates: one product, in
  /// its parts by bin.
  std::vector<Value> inputGates(Value x, int64_t layer) {
    const int64_t gates = 3 * c.hidden;
    Value product = add(linear(dropout(x, c.inputDropout),
                               fmt::format("rnn.weight_ih_l{}", layer)),
                        values.at(fmt::format("rnn.bias_ih_l{}", layer)));
    Value all =
        emit<ReshapeOp>(rowsType(kBatch, {c.bins * gates}, f32), product);
    std::vector<Value> parts;
    for (int64_t bin = 0; bin < c.bins; ++bin)
      parts.push_back(slice(all, bin * gates, gates));
    return parts;
  }

  /// Hidden states of all bins as one tensor [B, bins, hidden].
  Value join(const std::vector<Value> &states) {
    llvm::SmallVector<int64_t> offsets;
    for (int64_t bin = 0; bin < c.bins; ++bin)
      offsets.push_back(bin * c.hidden);
    Value flat = emit<JoinColumnsOp>(rowsType(kBatch, {c.bins * c.hidden}, f32),
                                     mlir::ValueRange(states),
                                     llvm::ArrayRef<int64_t>(offsets));
    return emit<ReshapeOp>(rowsType(kBatch, {c.bins, c.hidden}, f32), flat);
  }

  /// From what each bin's input gives the gates to its hidden state. The first
  /// state is zero.
  std::vector<Value> emitLayer(const std::vector<Value> &gates, int64_t layer) {
    Value bias = values.at(fmt::format("rnn.bias_hh_l{}", layer));
    std::vector<Value> states;
    for (Value input : gates) {
      Value recurrent;
      if (!states.empty())
        recurrent =
            add(linear(states.back(), fmt::format("rnn.weight_hh_l{}", layer)),
                bias);
      states.push_back(emitCell(
          input, recurrent, states.empty() ? Value() : states.back(), bias));
    }
    return states;
  }

  /// r, z, n are the thirds of the gates: h' = n + z (h - n).
  Value emitCell(Value input, Value recurrent, Value state, Value bias) {
    auto part = [&](Value x, int64_t i) {
      return slice(x, i * c.hidden, c.hidden);
    };
    auto gate = [&](int64_t i) {
      Value sum = recurrent ? add(part(input, i), part(recurrent, i))
                            : add(part(input, i), part(bias, i));
      return emit<SigmoidOp>(sum.getType(), sum);
    };
    Value reset = gate(0), keep = gate(1);
    Value own =
        recurrent ? mul(reset, part(recurrent, 2)) : mul(reset, part(bias, 2));
    Value sum = add(part(input, 2), own);
    Value next = emit<TanhOp>(sum.getType(), sum);
    Value kept = state ? mul(keep, sub(state, next)) : Value();
    return kept ? add(next, kept) : sub(next, mul(keep, next));
  }

  Value dropout(Value x, double rate) {
    if (rate == 0)
      return x;
    return emit<DropoutOp>(x.getType(), x, seed, builder.getF64FloatAttr(rate),
                           builder.getI64IntegerAttr(site++));
  }

  template <typename OpTy, typename... Args>
  Value emit(Type type, Args... args) {
    auto op = builder.create<OpTy>(where, type, args...);
    op->setAttr(kSectionAttr, builder.getStringAttr(section));
    return op->getResult(0);
  }
  Value linear(Value x, const std::string &name) {
    Value w = values.at(name);
    const int64_t columns = llvm::cast<Tensor>(w.getType()).getDimSize(0);
    return emit<MatmulOp>(withColumns(llvm::cast<Tensor>(x.getType()), columns),
                          x, w, mlir::IntegerAttr());
  }
  Value slice(Value x, int64_t offset, int64_t size) {
    return emit<SliceOp>(withColumns(llvm::cast<Tensor>(x.getType()), size), x,
                         builder.getI64IntegerAttr(offset));
  }
  Value add(Value x, Value y) { return emit<AddOp>(x.getType(), x, y); }
  Value mul(Value x, Value y) { return emit<MulOp>(x.getType(), x, y); }
  Value sub(Value x, Value y) { return emit<SubOp>(x.getType(), x, y); }

  const GruConfig &c;
  mlir::OpBuilder builder;
  mlir::Location where;
  Type f32;
  std::vector<Weight> weights;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, Value> values;
  Value seed;
  int64_t site = 0;
  std::string section;
};

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> buildGru(mlir::MLIRContext &context,
                                           const GruConfig &config) {
  return GruBuilder(context, config).build();
}

} // namespace betz
