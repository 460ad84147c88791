#include "passes/TrainingStep.h"

#include "passes/Autodiff.h"
#include "passes/MainMath.h"
#include "passes/Passes.h"
#include "runtime/base/Json.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

#include <fmt/format.h>

namespace betz::passes {

#define GEN_PASS_DEF_TRAININGSTEPPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::Operation;
using mlir::Value;
using mlir::func::FuncOp;

namespace {

Tensor typeOf(Value value) { return llvm::cast<Tensor>(value.getType()); }

bool isFloat(Value value) {
  return llvm::isa<mlir::FloatType>(typeOf(value).getElementType());
}

/// Builds `@main` of the step beside the model's own functions.
class StepBuilder {
public:
  StepBuilder(mlir::ModuleOp model, const TrainingOptions &options)
      : options(options), context(model.getContext()),
        f32(mlir::Float32Type::get(context)),
        where(mlir::UnknownLoc::get(context)) {
    result.module = model.clone();
  }

  Result<TrainingModule> build();

private:
  Status layOut();
  void makeMain();
  Value addInput(llvm::StringRef name, Tensor type);
  Status checkInputNames();
  void addForward();
  void addModelInputs();
  void addWeights();
  Value weightFrom(const ParameterPlace &place);
  void cloneBody(FuncOp function);
  Status addLosses();
  Result<Value> addLoss(const TrainingLoss &loss);
  Result<Value> flatGradient();
  Status addUpdate();
  Status addOutput(llvm::StringRef name, Value value);
  void finish();

  FuncOp oldMain() { return getMain(*result.module); }
  FuncOp oldPrepare() { return getPrepare(*result.module); }
  MainMath math(llvm::StringRef section) {
    return MainMath(mlir::OpBuilder::atBlockEnd(body), where,
                    mlir::StringAttr::get(context, section));
  }
  mlir::Type computeElement() {
    return options.narrow ? mlir::Type(mlir::BFloat16Type::get(context)) : f32;
  }

  const TrainingOptions &options;
  mlir::MLIRContext *context;
  mlir::Type f32;
  mlir::Location where;
  TrainingModule result;

  FuncOp main;
  mlir::Block *body = nullptr;
  Value weights, moment1, moment2, frozen, schedule, accumulated;
  /// From values of the model's functions to those of the step.
  mlir::IRMapping mapping;
  /// Of each trained weight, in f32; in the order of the table.
  llvm::SmallVector<Value> trained;
  /// The model's outputs in f32.
  llvm::StringMap<Value> modelOutputs;
  Value loss;

  llvm::StringSet<> inputNames, outputNames;
  llvm::SmallVector<mlir::Attribute> resultAttributes;
  llvm::SmallVector<Value> results;
};

bool isFrozen(llvm::StringRef weight, llvm::StringRef pattern) {
  return weight == pattern ||
         (pattern.ends_with(".") && weight.starts_with(pattern));
}

/// Decides where each weight lies.
Status StepBuilder::layOut() {
  FuncOp prepare = oldPrepare();
  llvm::StringSet<> matched;
  for (unsigned i = 0; i < prepare.getNumArguments(); ++i) {
    llvm::StringRef name = getArgName(prepare, i, kWeightAttr);
    auto type = llvm::cast<Tensor>(prepare.getArgumentTypes()[i]);
    if (type.getElementType() != f32)
      return invalidArgument(fmt::format(
          "weight '{}' is not f32: it cannot be trained", name.str()));
    bool isFixed = false;
    for (const std::string &pattern : options.frozen)
      if (isFrozen(name, pattern)) {
        matched.insert(pattern);
        isFixed = true;
      }
    int64_t &end = isFixed ? result.frozenSize : result.size;
    result.parameters.push_back(
        {name.str(), type.getShape().vec(), end, isFixed});
    end = llvm::alignTo(end + type.getNumElements(), kParameterAlignment);
  }
  for (const std::string &pattern : options.frozen)
    if (!matched.contains(pattern))
      return invalidArgument(fmt::format(
          "frozen '{}' is no weight of the model, nor a prefix that ends in a "
          "dot of one",
          pattern));
  if (result.size == 0)
    return invalidArgument("the model has no weight to train");
  return Status::ok();
}

Value StepBuilder::addInput(llvm::StringRef name, Tensor type) {
  unsigned index = main.getNumArguments();
  mlir::Builder builder(context);
  main.insertArgument(index, type,
                      builder.getDictionaryAttr(builder.getNamedAttr(
                          kInputAttr, builder.getStringAttr(name))),
                      where);
  inputNames.insert(name);
  return main.getArgument(index);
}

void StepBuilder::makeMain() {
  mlir::OpBuilder builder =
      mlir::OpBuilder::atBlockEnd(result.module->getBody());
  main = builder.create<FuncOp>(where, "step", builder.getFunctionType({}, {}));
  body = main.addEntryBlock();
  Tensor flat = Tensor::get({result.size}, f32);
  weights = addInput("weights", flat);
  if (!options.gradientsOnly) {
    moment1 = addInput("moment1", flat);
    moment2 = addInput("moment2", flat);
    schedule = addInput("schedule", Tensor::get({4}, f32));
  }
  if (options.accumulate)
    accumulated = addInput("accumulated", flat);
  if (result.frozenSize > 0)
    frozen = addInput("frozen", Tensor::get({result.frozenSize}, f32));
}

/// The model's inputs, in the precision that it computes in.
void StepBuilder::addModelInputs() {
  FuncOp old = oldMain();
  for (mlir::BlockArgument argument : old.getArguments()) {
    unsigned index = argument.getArgNumber();
    llvm::StringRef name = getArgName(old, index, kInputAttr);
    if (name.empty())
      continue;
    Value input = addInput(name, typeOf(argument));
    main.setArgAttrs(main.getNumArguments() - 1, old.getArgAttrDict(index));
    mapping.map(argument, isFloat(input)
                              ? math("inputs").cast(input, computeElement())
                              : input);
  }
}

/// A view of the flat tensor.
Value StepBuilder::weightFrom(const ParameterPlace &place) {
  Tensor type = Tensor::get(place.shape, f32);
  MainMath emitter = math("weights");
  Value flat = emitter.slice(place.frozen ? frozen : weights, place.offset,
                             type.getNumElements());
  return type.getRank() == 1 ? flat : emitter.reshape(flat, type);
}

void StepBuilder::addWeights() {
  for (auto [place, argument] :
       llvm::zip_equal(result.parameters, oldPrepare().getArguments())) {
    Value weight = weightFrom(place);
    if (!place.frozen)
      trained.push_back(weight);
    mapping.map(argument, math("weights").cast(weight, computeElement()));
  }
}

/// Clones the ops of one of the model's functions into the step.
void StepBuilder::cloneBody(FuncOp function) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(body);
  for (Operation &op : function.getBody().front().without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    for (Value value : copy->getResults())
      if (typeOf(value).getElementType() == f32)
        value.setType(Tensor::get(typeOf(value).getShape(), computeElement(),
                                  typeOf(value).getEncoding()));
  }
}

Result<Value> StepBuilder::addLoss(const TrainingLoss &wanted) {
  Value output = modelOutputs.lookup(wanted.output);
  if (!output)
    return invalidArgument(
        fmt::format("a loss is of output '{}', which the model does not give",
                    wanted.output));
  if (wanted.target.empty())
    return invalidArgument(
        fmt::format("the loss of '{}' names no target", wanted.output));
  if (inputNames.contains(wanted.target))
    return invalidArgument(fmt::format(
        "the target of '{}' is input '{}', which the step has already",
        wanted.output, wanted.target));
  Tensor type = typeOf(output), scalar = Tensor::get({1}, f32);
  MainMath emitter = math("loss");
  if (wanted.kind == TrainingLoss::Kind::MeanSquaredError)
    return emitter.emit<MseLossOp>(scalar, output,
                                   addInput(wanted.target, type));
  if (type.getRank() < 2)
    return invalidArgument(fmt::format(
        "output '{}' has no classes: cross-entropy needs logits [..., C]",
        wanted.output));
  Value label =
      addInput(wanted.target, Tensor::get(type.getShape().drop_back(),
                                          mlir::IntegerType::get(context, 32),
                                          type.getEncoding()));
  return emitter.emit<CrossEntropyOp>(scalar, output, label);
}

Status StepBuilder::addLosses() {
  if (options.losses.empty())
    return invalidArgument("a training step needs a loss");
  for (const TrainingLoss &wanted : options.losses) {
    BETZ_ASSIGN_OR_RETURN(Value value, addLoss(wanted));
    if (options.losses.size() > 1)
      BETZ_RETURN_IF_ERROR(addOutput("loss." + wanted.output, value));
    MainMath emitter = math("loss");
    if (wanted.weight != 1)
      value = emitter.mul(value, emitter.fill(typeOf(value), wanted.weight));
    loss = loss ? emitter.add(loss, value) : value;
  }
  return addOutput("loss", loss);
}

/// The gradients of all trained weights as one tensor.
Result<Value> StepBuilder::flatGradient() {
  // Backward ops go before a terminator.
  auto end =
      mlir::OpBuilder::atBlockEnd(body).create<mlir::func::ReturnOp>(where);
  DiagnosticCollector diagnostics(*context);
  auto gradients = differentiate(loss, trained);
  if (mlir::failed(gradients))
    return diagnostics.takeStatus(StatusCode::InvalidArgument,
                                  "the model has no gradient");
  end.erase();

  MainMath emitter = math("optimizer");
  llvm::SmallVector<Value> parts;
  llvm::SmallVector<int64_t> offsets;
  auto weight = trained.begin();
  for (const ParameterPlace &place : result.parameters) {
    Value gradient = place.frozen ? Value() : gradients->lookup(*weight++);
    if (!gradient)
      continue;
    gradient = emitter.cast(gradient, f32);
    Tensor vector = Tensor::get({typeOf(gradient).getNumElements()}, f32);
    parts.push_back(gradient.getType() == vector
                        ? gradient
                        : emitter.reshape(gradient, vector));
    offsets.push_back(place.offset);
  }
  Tensor flat = typeOf(weights);
  Value gradient =
      parts.empty()
          ? emitter.fill(flat, 0)
          : emitter.emit<JoinColumnsOp>(flat, mlir::ValueRange(parts),
                                        llvm::ArrayRef<int64_t>(offsets));
  return accumulated ? emitter.add(gradient, accumulated) : gradient;
}

Status StepBuilder::addUpdate() {
  BETZ_ASSIGN_OR_RETURN(Value gradient, flatGradient());
  Tensor flat = typeOf(weights);
  Value squares =
      math("optimizer").emit<SquareSumOp>(Tensor::get({1}, f32), gradient);
  if (options.gradientsOnly) {
    BETZ_RETURN_IF_ERROR(addOutput("gradient", gradient));
    return addOutput("grad_squares", squares);
  }
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(body);
  auto real = [&](double value) { return builder.getF64FloatAttr(value); };
  auto update = builder.create<AdamwOp>(
      where, mlir::TypeRange{flat, flat, flat},
      mlir::ValueRange{weights, moment1, moment2, gradient, squares, schedule},
      llvm::ArrayRef<mlir::NamedAttribute>{
          builder.getNamedAttr("beta1", real(options.beta1)),
          builder.getNamedAttr("beta2", real(options.beta2)),
          builder.getNamedAttr("eps", real(options.eps)),
          builder.getNamedAttr("weight_decay", real(options.weightDecay)),
          builder.getNamedAttr("clip", real(options.clip))});
  update->setAttr(kSectionAttr, builder.getStringAttr("optimizer"));
  BETZ_RETURN_IF_ERROR(addOutput("weights", update.getNewWeights()));
  BETZ_RETURN_IF_ERROR(addOutput("moment1", update.getNewMoment1()));
  BETZ_RETURN_IF_ERROR(addOutput("moment2", update.getNewMoment2()));
  return addOutput("grad_squares", squares);
}

Status StepBuilder::addOutput(llvm::StringRef name, Value value) {
  if (!outputNames.insert(name).second)
    return invalidArgument(
        fmt::format("the model's output '{}' has the name of an output of the "
                    "step",
                    name.str()));
  mlir::Builder builder(context);
  results.push_back(value);
  resultAttributes.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr(kOutputAttr, builder.getStringAttr(name))));
  return Status::ok();
}

std::string tableOf(const std::vector<ParameterPlace> &parameters) {
  Json table = Json::array();
  for (const ParameterPlace &place : parameters)
    table.push_back({{"name", place.name},
                     {"shape", place.shape},
                     {"offset", place.offset},
                     {"frozen", place.frozen}});
  return table.dump();
}

/// Puts the step in the place of the model's functions.
void StepBuilder::finish() {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(body);
  builder.create<mlir::func::ReturnOp>(where, results);
  main.setType(builder.getFunctionType(
      main.getArgumentTypes(),
      llvm::to_vector(mlir::ValueRange(results).getTypes())));
  main.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
  oldMain().erase();
  oldPrepare().erase();
  main.setName(kMain);

  builder.setInsertionPointToStart(result.module->getBody());
  auto prepare =
      builder.create<FuncOp>(where, kPrepare, builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(prepare.addEntryBlock());
  builder.create<mlir::func::ReturnOp>(where);

  mlir::ModuleOp module = *result.module;
  mlir::NamedAttrList metadata;
  if (auto old = module->getAttrOfType<mlir::DictionaryAttr>(kMetadataAttr))
    metadata.append(old.begin(), old.end());
  metadata.set("parameters", builder.getStringAttr(tableOf(result.parameters)));
  module->setAttr(kMetadataAttr, metadata.getDictionary(context));
}

Status StepBuilder::checkInputNames() {
  for (unsigned i = 0; i < oldMain().getNumArguments(); ++i) {
    llvm::StringRef name = getArgName(oldMain(), i, kInputAttr);
    if (inputNames.contains(name))
      return invalidArgument(fmt::format(
          "the model's input '{}' has the name of an input of the step",
          name.str()));
  }
  return Status::ok();
}

/// The model's own computation, up to its outputs in f32.
void StepBuilder::addForward() {
  addModelInputs();
  addWeights();
  FuncOp prepare = oldPrepare(), old = oldMain();
  cloneBody(prepare);
  Operation *prepared = prepare.getBody().front().getTerminator();
  llvm::StringMap<Value> derived;
  for (unsigned i = 0; i < prepare.getNumResults(); ++i)
    derived[getResultName(prepare, i, kDerivedAttr)] =
        mapping.lookup(prepared->getOperand(i));
  for (unsigned i = 0; i < old.getNumArguments(); ++i)
    if (Value value = derived.lookup(getArgName(old, i, kDerivedAttr)))
      mapping.map(old.getArgument(i), value);
  cloneBody(old);
  Operation *returned = old.getBody().front().getTerminator();
  for (unsigned i = 0; i < old.getNumResults(); ++i) {
    Value value = mapping.lookup(returned->getOperand(i));
    modelOutputs[getResultName(old, i, kOutputAttr)] =
        isFloat(value) ? math("outputs").cast(value, f32) : value;
  }
}

Result<TrainingModule> StepBuilder::build() {
  BETZ_RETURN_IF_ERROR(layOut());
  makeMain();
  BETZ_RETURN_IF_ERROR(checkInputNames());
  addForward();
  BETZ_RETURN_IF_ERROR(addLosses());
  BETZ_RETURN_IF_ERROR(addUpdate());
  for (unsigned i = 0; i < oldMain().getNumResults(); ++i) {
    llvm::StringRef name = getResultName(oldMain(), i, kOutputAttr);
    BETZ_RETURN_IF_ERROR(addOutput(name, modelOutputs.lookup(name)));
  }
  finish();
  BETZ_RETURN_IF_ERROR(verifyPhase(*result.module));
  return std::move(result);
}

} // namespace

Result<TrainingModule> makeTrainingModule(mlir::ModuleOp model,
                                          const TrainingOptions &options) {
  if (getPhase(model) != Phase::Model)
    return invalidArgument(
        fmt::format("a training step is made of a module in phase model, not "
                    "{}",
                    toString(getPhase(model)).str()));
  return StepBuilder(model, options).build();
}

namespace {

struct TrainingStepPass : impl::TrainingStepPassBase<TrainingStepPass> {
  using TrainingStepPassBase::TrainingStepPassBase;

  void runOnOperation() override {
    TrainingOptions options;
    addLosses(options, mse, TrainingLoss::Kind::MeanSquaredError);
    addLosses(options, crossEntropy, TrainingLoss::Kind::CrossEntropy);
    options.frozen.assign(frozen.begin(), frozen.end());
    options.narrow = narrow;
    options.gradientsOnly = gradientsOnly;
    options.accumulate = accumulate;
    mlir::ModuleOp model = getOperation();
    auto step = makeTrainingModule(model, options);
    if (!step.isOk()) {
      model.emitError(step.status().message());
      return signalPassFailure();
    }
    mlir::ModuleOp made = *step->module;
    model.getBody()->clear();
    model.getBody()->getOperations().splice(model.getBody()->begin(),
                                            made.getBody()->getOperations());
    model->setAttrs(made->getAttrDictionary());
  }

  static void addLosses(TrainingOptions &options,
                        llvm::ArrayRef<std::string> pairs,
                        TrainingLoss::Kind kind) {
    for (llvm::StringRef pair : pairs) {
      auto [output, target] = pair.split('=');
      options.losses.push_back({output.str(), target.str(), kind});
    }
  }
};

} // namespace
} // namespace betz::passes
