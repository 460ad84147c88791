#include "passes/DerivedValues.h"
#include "passes/Passes.h"

namespace betz::passes {

#define GEN_PASS_DEF_NARROWPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::Operation;
using mlir::OpOperand;
using mlir::Value;

namespace {

mlir::Type elementOf(Value value) {
  return llvm::cast<Tensor>(value.getType()).getElementType();
}

Tensor withElement(Value value, mlir::Type element) {
  auto type = llvm::cast<Tensor>(value.getType());
  return Tensor::get(type.getShape(), element, type.getEncoding());
}

/// Whether `use` reads factors of rows, which may be f32 beside bf16 rows.
bool isFactor(OpOperand &use) {
  auto scale = llvm::dyn_cast<ScaleRowsOp>(use.getOwner());
  return scale && use.getOperandNumber() == 1 && scale.getX() != use.get();
}

Value castTo(mlir::OpBuilder builder, Value value, mlir::Type element) {
  auto cast = builder.create<CastOp>(value.getLoc(),
                                     withElement(value, element), value);
  if (Operation *definition = value.getDefiningOp())
    if (mlir::Attribute section = definition->getAttr(kSectionAttr))
      cast->setAttr(kSectionAttr, section);
  return cast;
}

struct NarrowPass : impl::NarrowPassBase<NarrowPass> {
  void runOnOperation() override {
    narrow = mlir::BFloat16Type::get(&getContext());
    wide = mlir::Float32Type::get(&getContext());
    mlir::func::FuncOp main = getMain(getOperation());
    mlir::Block &body = main.getBody().front();
    dropCasts(body);

    DerivedValues derived(getOperation());
    for (mlir::BlockArgument argument : main.getArguments())
      if (elementOf(argument) == wide)
        narrowUses(argument, derived);
    for (Operation &op : body.without_terminator())
      for (Value result : op.getResults())
        if (elementOf(result) == wide && !staysWide(result))
          result.setType(withElement(result, narrow));
    for (auto [operand, type] : llvm::zip_equal(
             body.getTerminator()->getOpOperands(), main.getResultTypes()))
      if (operand.get().getType() != type)
        widenReturned(operand);
    derived.finish();
  }

  /// Casts in `@main` are made anew: those that are there are of a module that
  /// was narrowed before.
  static void dropCasts(mlir::Block &body) {
    for (CastOp cast : llvm::make_early_inc_range(body.getOps<CastOp>())) {
      cast.getResult().replaceAllUsesWith(cast.getX());
      cast.erase();
    }
    // A view of a cast now views what was cast.
    for (Operation &op : body)
      if (llvm::isa<SliceOp, ReshapeOp>(op))
        op.getResult(0).setType(
            withElement(op.getResult(0), elementOf(op.getOperand(0))));
  }

  /// Narrows what `@main` reads of an argument: derived values in `@prepare`,
  /// inputs where the step begins.
  void narrowUses(mlir::BlockArgument argument, DerivedValues &derived) {
    Value narrowed;
    for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
      if (isFactor(use) || llvm::isa<mlir::func::ReturnOp>(use.getOwner()))
        continue;
      if (!narrowed)
        narrowed =
            derived.contains(argument)
                ? castTo(derived.atEndOfPrepare(), derived.inPrepare(argument),
                         narrow)
                : castTo(mlir::OpBuilder::atBlockBegin(argument.getOwner()),
                         argument, narrow);
      use.set(narrowed);
    }
  }

  /// Factors of rows are few, and every product of a row depends on one.
  bool staysWide(Value value) {
    return value.getDefiningOp<NormScaleOp>() &&
           llvm::all_of(value.getUses(), [](OpOperand &use) {
             return isFactor(use) ||
                    llvm::isa<mlir::func::ReturnOp>(use.getOwner());
           });
  }

  /// Before a view that only the return reads, so that the cast can join the
  /// kernel that computes the value.
  void widenReturned(OpOperand &operand) {
    OpOperand *last = &operand;
    while (auto view = last->get().getDefiningOp<ReshapeOp>()) {
      if (!view->hasOneUse())
        break;
      view.getResult().setType(withElement(view.getResult(), wide));
      last = &view->getOpOperand(0);
    }
    last->set(castTo(mlir::OpBuilder(last->getOwner()), last->get(), wide));
  }

  mlir::Type narrow, wide;
};

} // namespace
} // namespace betz::passes
