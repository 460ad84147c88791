#include "ir/reference/Interpreter.h"

#include "ir/reference/Ops.h"
#include "ir/reference/ShapeCheck.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"

#include <memory>

namespace betz::reference {
namespace {

using mlir::func::FuncOp;

ir::Tensor typeOf(mlir::Value value) {
  return llvm::cast<ir::Tensor>(value.getType());
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The values of a block while it runs. Results live until their last use, so
/// that a deep model needs the memory of a few layers.
class Environment {
public:
  Environment(mlir::Block &block, llvm::ArrayRef<const Tensor *> arguments) {
    for (auto [argument, tensor] : llvm::zip(block.getArguments(), arguments))
      borrowed[argument] = tensor;
  }

  const Tensor *lookup(mlir::Value value) const {
    if (const Tensor *tensor = borrowed.lookup(value))
      return tensor;
    return owned.find(value)->second.tensor.get();
  }

  void define(mlir::Value value, Tensor tensor) {
    auto uses = unsigned(llvm::range_size(value.getUses()));
    if (uses != 0)
      owned[value] = {std::make_unique<Tensor>(std::move(tensor)), uses};
  }

  /// Ends one use of `value`.
  void release(mlir::Value value) {
    auto slot = owned.find(value);
    if (slot != owned.end() && --slot->second.uses == 0)
      owned.erase(slot);
  }

  /// The value for the block's caller; ends one use.
  Tensor take(mlir::Value value) {
    auto slot = owned.find(value);
    if (slot == owned.end() || slot->second.uses > 1) {
      Tensor copy = *lookup(value);
      release(value);
      return copy;
    }
    Tensor tensor = std::move(*slot->second.tensor);
    owned.erase(slot);
    return tensor;
  }

private:
  struct Slot {
    std::unique_ptr<Tensor> tensor;
    unsigned uses;
  };
  llvm::DenseMap<mlir::Value, const Tensor *> borrowed;
  llvm::DenseMap<mlir::Value, Slot> owned;
};

Result<std::vector<Tensor>>
evaluateBlock(mlir::Block &block, llvm::ArrayRef<const Tensor *> arguments) {
  Environment environment(block, arguments);
  for (mlir::Operation &op : block.without_terminator()) {
    llvm::SmallVector<const Tensor *> operands;
    for (mlir::Value operand : op.getOperands())
      operands.push_back(environment.lookup(operand));
    BETZ_ASSIGN_OR_RETURN(std::vector<Tensor> results, evaluate(&op, operands));
    for (auto [value, tensor] : llvm::zip(op.getResults(), results))
      environment.define(value, std::move(tensor));
    for (mlir::Value operand : op.getOperands())
      environment.release(operand);
  }
  std::vector<Tensor> yielded;
  for (mlir::Value value : block.getTerminator()->getOperands())
    yielded.push_back(environment.take(value));
  return yielded;
}

Result<std::vector<Tensor>>
evaluateKernel(ir::KernelOp kernel, llvm::ArrayRef<const Tensor *> operands) {
  auto results = evaluateBlock(kernel.getBody().front(), operands);
  if (!results.isOk())
    return std::move(results).status().withContext(
        "kernel '" + kernel.getName().str() + "'");
  return results;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Finds the tensors of a function's arguments and collects what is wrong.
class ArgumentBinder {
public:
  explicit ArgumentBinder(FuncOp function)
      : function(function), tensors(function.getNumArguments(), nullptr) {}

  /// Binds the arguments that carry `attribute` from `given`; `kind` is what
  /// messages call them.
  void bind(llvm::StringRef attribute, llvm::StringRef kind,
            const TensorMap &given);

  /// The tensors in order, or all that is wrong with them.
  Result<std::vector<const Tensor *>> finish();

private:
  bool fillDefault(unsigned index);

  FuncOp function;
  ShapeChecker shapes;
  std::vector<const Tensor *> tensors;
  std::vector<std::unique_ptr<Tensor>> defaults;
  /// Arguments without a tensor, with the text that says so.
  std::vector<std::pair<unsigned, std::string>> missing;
  std::vector<std::string> problems;
};

void ArgumentBinder::bind(llvm::StringRef attribute, llvm::StringRef kind,
                          const TensorMap &given) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string name = ir::getArgName(function, i, attribute).str();
    if (name.empty())
      continue;
    std::string label = kind.str() + " '" + name + "'";
    auto found = given.find(name);
    if (found == given.end())
      found = given.find(ir::getArgName(function, i, ir::kAliasAttr).str());
    ir::Tensor type = typeOf(function.getArgument(i));
    if (found == given.end()) {
      missing.push_back({i, label + " is missing, expected " + toString(type)});
      continue;
    }
    tensors[i] = &found->second;
    if (Status status = shapes.check(type, found->second, label);
        !status.isOk())
      problems.push_back(status.message());
  }
}

bool ArgumentBinder::fillDefault(unsigned index) {
  mlir::Attribute value = function.getArgAttr(index, ir::kDefaultAttr);
  auto shape = shapes.getShape(typeOf(function.getArgument(index)));
  if (!value || !shape)
    return false;
  size_t count = 1;
  for (int64_t size : *shape)
    count *= size_t(size);
  Tensor tensor{*shape, {}, {}};
  if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(value))
    tensor.integer.assign(count, int32_t(integer.getInt()));
  else if (auto real = llvm::dyn_cast<mlir::FloatAttr>(value))
    tensor.real.assign(count, real.getValueAsDouble());
  else
    return false;
  defaults.push_back(std::make_unique<Tensor>(std::move(tensor)));
  tensors[index] = defaults.back().get();
  return true;
}

Result<std::vector<const Tensor *>> ArgumentBinder::finish() {
  for (auto &[index, text] : missing)
    if (!fillDefault(index))
      problems.push_back(text);
  for (unsigned i = 0; i < tensors.size(); ++i)
    if (!tensors[i] && problems.empty())
      problems.push_back("argument " + std::to_string(i) + " has no name");
  if (!problems.empty())
    return invalidArgument("@" + function.getName().str() + ": " +
                           llvm::join(problems, "; "));
  return tensors;
}

Result<FuncOp> requireFunction(FuncOp function, llvm::StringRef name) {
  if (!function || function.isDeclaration() ||
      !function.getBody().hasOneBlock())
    return invalidArgument("the module has no @" + name.str() +
                           " of one block");
  for (mlir::Type type : function.getArgumentTypes())
    if (!llvm::isa<ir::Tensor>(type))
      return invalidArgument("@" + name.str() +
                             " takes an argument that is not a tensor");
  return function;
}

/// Runs the function's body; results by their names under `attribute`.
Result<TensorMap> runFunction(FuncOp function, ArgumentBinder &binder,
                              llvm::StringRef attribute) {
  BETZ_ASSIGN_OR_RETURN(auto arguments, binder.finish());
  auto results = evaluateBlock(function.getBody().front(), arguments);
  if (!results.isOk())
    return std::move(results).status().withContext("@" +
                                                   function.getName().str());
  TensorMap byName;
  for (size_t i = 0; i < results->size(); ++i) {
    std::string name = ir::getResultName(function, i, attribute).str();
    if (name.empty())
      return invalidArgument("result " + std::to_string(i) + " of @" +
                             function.getName().str() + " has no " +
                             attribute.str());
    byName[name] = std::move((*results)[i]);
  }
  return byName;
}

} // namespace

Result<std::vector<Tensor>> evaluate(mlir::Operation *op,
                                     llvm::ArrayRef<const Tensor *> operands) {
  std::string name = op->getName().getStringRef().str();
  if (operands.size() != op->getNumOperands())
    return invalidArgument(name + " takes " +
                           std::to_string(op->getNumOperands()) +
                           " operands, not " + std::to_string(operands.size()));
  ShapeChecker shapes;
  for (auto [value, tensor] : llvm::zip(op->getOperands(), operands)) {
    if (!llvm::isa<ir::Tensor>(value.getType()))
      return invalidArgument(name + " takes an operand that is not a tensor");
    BETZ_RETURN_IF_ERROR(
        shapes.check(typeOf(value), *tensor, name + ": " + describe(value)));
  }
  if (auto kernel = llvm::dyn_cast<ir::KernelOp>(op))
    return evaluateKernel(kernel, operands);
  if (auto adamw = llvm::dyn_cast<ir::AdamwOp>(op))
    return evaluateAdamw(adamw, Operands(op, operands));
  auto result = evaluateOp(op, Operands(op, operands));
  if (!result.isOk())
    return std::move(result).status().withContext(name);
  BETZ_RETURN_IF_ERROR(
      shapes.check(typeOf(op->getResult(0)), *result, name + ": its result"));
  std::vector<Tensor> results;
  results.push_back(std::move(*result));
  return results;
}

Result<TensorMap> runPrepare(mlir::ModuleOp module, const TensorMap &weights) {
  BETZ_ASSIGN_OR_RETURN(FuncOp function,
                        requireFunction(ir::getPrepare(module), ir::kPrepare));
  ArgumentBinder binder(function);
  binder.bind(ir::kWeightAttr, "weight", weights);
  return runFunction(function, binder, ir::kDerivedAttr);
}

Result<TensorMap> runMain(mlir::ModuleOp module, const TensorMap &derived,
                          const TensorMap &inputs) {
  BETZ_ASSIGN_OR_RETURN(FuncOp function,
                        requireFunction(ir::getMain(module), ir::kMain));
  ArgumentBinder binder(function);
  binder.bind(ir::kDerivedAttr, "derived", derived);
  binder.bind(ir::kInputAttr, "input", inputs);
  return runFunction(function, binder, ir::kOutputAttr);
}

} // namespace betz::reference
