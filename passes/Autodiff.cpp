#include "passes/Autodiff.h"

#include "passes/GradientRules.h"
#include "passes/Passes.h"

#include "llvm/ADT/DenseSet.h"

namespace betz::passes {

#define GEN_PASS_DEF_AUTODIFFPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::Operation;
using mlir::success;
using mlir::Value;

namespace {

Tensor typeOf(Value value) { return llvm::cast<Tensor>(value.getType()); }

bool isFloat(Value value) {
  return llvm::isa<mlir::FloatType>(typeOf(value).getElementType());
}

/// Gradients that uses of one value give: whole ones, and ranges of columns.
struct Contributions {
  struct Columns {
    int64_t offset;
    Value gradient;
  };
  llvm::SmallVector<Value> whole;
  /// By rising offset.
  llvm::SmallVector<Columns> columns;
};

/// Puts ranges of columns of `type`, in rising order, side by side in as few
/// tensors as the overlaps allow.
llvm::SmallVector<Value>
joinColumns(MainMath &math, Tensor type,
            llvm::SmallVector<Contributions::Columns> columns) {
  llvm::SmallVector<Value> joined;
  while (!columns.empty()) {
    llvm::SmallVector<Value> parts;
    llvm::SmallVector<int64_t> offsets;
    llvm::SmallVector<Contributions::Columns> overlapping;
    int64_t end = 0;
    for (const Contributions::Columns &range : columns) {
      if (range.offset < end) {
        overlapping.push_back(range);
        continue;
      }
      parts.push_back(range.gradient);
      offsets.push_back(range.offset);
      end = range.offset + columnsOf(typeOf(range.gradient));
    }
    bool isWhole = parts.size() == 1 && typeOf(parts[0]) == type;
    joined.push_back(
        isWhole ? parts[0]
                : math.emit<JoinColumnsOp>(type, mlir::ValueRange(parts),
                                           llvm::ArrayRef<int64_t>(offsets)));
    columns = std::move(overlapping);
  }
  return joined;
}

/// One run of reverse mode over a block.
class Differentiator {
public:
  Differentiator(Value loss, llvm::ArrayRef<Value> wanted);
  mlir::FailureOr<GradientMap> run(Value loss, llvm::ArrayRef<Value> wanted);

private:
  class Scope;

  bool needs(Value value) const {
    return dependent.contains(value) && reaching.contains(value);
  }
  MainMath mathFor(Value served);
  Value resolve(Value value);

  mlir::Block &block;
  /// Values that depend on what is wanted, and those that the loss depends on.
  llvm::DenseSet<Value> dependent, reaching;
  llvm::DenseMap<Value, Contributions> contributions;
};

class Differentiator::Scope : public GradientScope {
public:
  Scope(Differentiator &owner, Operation *op, Value total)
      : GradientScope(owner.mathFor(op->getResult(0))), owner(owner) {
    // A cast hands on a gradient in whichever type it came.
    gradient =
        llvm::isa<CastOp>(op)
            ? total
            : math.cast(total, typeOf(op->getResult(0)).getElementType());
  }

  bool needs(Value value) const override { return owner.needs(value); }

  void add(Value value, Value gradient) override {
    if (needs(value))
      owner.contributions[value].whole.push_back(gradient);
  }

  void addColumns(Value value, int64_t offset, Value gradient) override {
    if (!needs(value))
      return;
    auto &columns = owner.contributions[value].columns;
    auto place = llvm::upper_bound(
        columns, offset, [](int64_t wanted, const Contributions::Columns &at) {
          return wanted < at.offset;
        });
    columns.insert(place, {offset, gradient});
  }

private:
  Differentiator &owner;
};

Differentiator::Differentiator(Value loss, llvm::ArrayRef<Value> wanted)
    : block(*loss.getParentBlock()) {
  dependent.insert(wanted.begin(), wanted.end());
  reaching.insert(loss);
  for (Operation &op : block)
    if (llvm::any_of(op.getOperands(),
                     [&](Value value) { return dependent.contains(value); }))
      for (Value result : op.getResults())
        if (isFloat(result))
          dependent.insert(result);
  for (Operation &op : llvm::reverse(block))
    if (llvm::any_of(op.getResults(),
                     [&](Value value) { return reaching.contains(value); }))
      reaching.insert(op.operand_begin(), op.operand_end());
}

/// Builds at the end of the block, in the section of what gave `served`.
MainMath Differentiator::mathFor(Value served) {
  Operation *definition = served.getDefiningOp();
  mlir::Attribute section;
  if (definition)
    if (auto name = definition->getAttrOfType<mlir::StringAttr>(kSectionAttr))
      section =
          mlir::StringAttr::get(served.getContext(), name.getValue() + ".grad");
  return MainMath(mlir::OpBuilder(block.getTerminator()), served.getLoc(),
                  section);
}

/// The sum of what the uses of `value` gave; null if none gave anything.
Value Differentiator::resolve(Value value) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return {};
  Contributions given = std::move(found->second);
  contributions.erase(found);
  MainMath math = mathFor(value);
  if (!given.columns.empty()) {
    mlir::Type element = typeOf(given.columns[0].gradient).getElementType();
    for (Contributions::Columns &range : given.columns)
      range.gradient = math.cast(range.gradient, element);
    Tensor type = Tensor::get(typeOf(value).getShape(), element,
                              typeOf(value).getEncoding());
    given.whole.append(joinColumns(math, type, given.columns));
  }
  mlir::Type element = typeOf(given.whole[0]).getElementType();
  for (Value gradient : given.whole)
    if (typeOf(gradient).getElementType() != element)
      element = mlir::Float32Type::get(value.getContext());
  Value sum;
  for (Value gradient : given.whole) {
    Value term = math.cast(gradient, element);
    sum = sum ? math.add(sum, term) : term;
  }
  return sum;
}

mlir::FailureOr<GradientMap> Differentiator::run(Value loss,
                                                 llvm::ArrayRef<Value> wanted) {
  if (needs(loss))
    contributions[loss].whole.push_back(mathFor(loss).fill(typeOf(loss), 1));
  GradientMap gradients;
  llvm::SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  llvm::DenseSet<Value> asked(wanted.begin(), wanted.end());
  for (Operation *op : llvm::reverse(forward)) {
    if (op->getNumResults() != 1 || !needs(op->getResult(0)))
      continue;
    Value total = resolve(op->getResult(0));
    if (!total)
      continue;
    if (asked.contains(op->getResult(0)))
      gradients[op->getResult(0)] = total;
    if (llvm::none_of(op->getOperands(),
                      [&](Value value) { return needs(value); }))
      continue;
    Scope scope(*this, op, total);
    if (failed(applyGradientRule(op, scope)))
      return failure();
  }
  for (mlir::BlockArgument argument : block.getArguments())
    if (asked.contains(argument))
      if (Value total = resolve(argument))
        gradients[argument] = total;
  return gradients;
}

} // namespace

mlir::FailureOr<GradientMap> differentiate(Value loss,
                                           llvm::ArrayRef<Value> wanted) {
  return Differentiator(loss, wanted).run(loss, wanted);
}

namespace {

struct AutodiffPass : impl::AutodiffPassBase<AutodiffPass> {
  using AutodiffPassBase::AutodiffPassBase;

  void runOnOperation() override {
    mlir::func::FuncOp main = getMain(getOperation());
    Value root = findLoss(main);
    if (!root)
      return signalPassFailure();
    llvm::SmallVector<Value> wanted;
    for (mlir::BlockArgument argument : main.getArguments())
      if (isFloat(argument))
        wanted.push_back(argument);
    auto gradients = differentiate(root, wanted);
    if (failed(gradients))
      return signalPassFailure();
    for (Value argument : wanted)
      if (Value gradient = gradients->lookup(argument))
        addOutput(main, llvm::cast<mlir::BlockArgument>(argument), gradient);
  }

  /// The returned value that `loss` names; null after an error.
  Value findLoss(mlir::func::FuncOp main) {
    Operation *terminator = main.getBody().front().getTerminator();
    for (unsigned i = 0; i < main.getNumResults(); ++i)
      if (getResultName(main, i, kOutputAttr) == loss.getValue()) {
        Value value = terminator->getOperand(i);
        if (typeOf(value).getShape() == llvm::ArrayRef<int64_t>{1} &&
            typeOf(value).getElementType().isF32())
          return value;
        main.emitError("output \"")
            << loss << "\" is " << value.getType() << ", not tensor<1xf32>";
        return {};
      }
    main.emitError("@main has no output \"") << loss << "\"";
    return {};
  }

  void addOutput(mlir::func::FuncOp main, mlir::BlockArgument argument,
                 Value gradient) {
    llvm::StringRef name =
        getArgName(main, argument.getArgNumber(), kInputAttr);
    if (name.empty())
      name = getArgName(main, argument.getArgNumber(), kDerivedAttr);
    mlir::Builder builder(&getContext());
    mlir::NamedAttribute attribute = builder.getNamedAttr(
        kOutputAttr, builder.getStringAttr("grad." + name));
    main.insertResult(main.getNumResults(), gradient.getType(),
                      builder.getDictionaryAttr(attribute));
    Operation *terminator = main.getBody().front().getTerminator();
    terminator->insertOperands(terminator->getNumOperands(), gradient);
  }
};

} // namespace
} // namespace betz::passes
