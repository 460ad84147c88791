#include "passes/DerivedValues.h"
#include "passes/Passes.h"

namespace betz::passes {

#define GEN_PASS_DEF_NARROWPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::Value;

namespace {

bool isWide(Value value) {
  auto type = llvm::dyn_cast<Tensor>(value.getType());
  return type && type.getElementType().isF32();
}

Tensor withElement(Value value, mlir::Type element) {
  auto type = llvm::cast<Tensor>(value.getType());
  return Tensor::get(type.getShape(), element, type.getEncoding());
}

struct NarrowPass : impl::NarrowPassBase<NarrowPass> {
  void runOnOperation() override {
    mlir::func::FuncOp main = getMain(getOperation());
    narrow = mlir::BFloat16Type::get(&getContext());
    DerivedValues derived(getOperation());
    for (mlir::Operation &op : main.getBody().front()) {
      if (auto end = llvm::dyn_cast<mlir::func::ReturnOp>(op)) {
        widenResults(end);
        continue;
      }
      for (mlir::OpOperand &operand : op.getOpOperands())
        if (derived.contains(operand.get()) && isWide(operand.get()) &&
            !isFactor(operand))
          operand.set(narrowed(derived, derived.inPrepare(operand.get())));
      for (Value result : op.getResults())
        if (isWide(result) && !llvm::isa<NormScaleOp>(op))
          result.setType(withElement(result, narrow));
    }
    derived.finish();
  }

  static bool isFactor(mlir::OpOperand &operand) {
    auto scale = llvm::dyn_cast<ScaleRowsOp>(operand.getOwner());
    return scale && operand.getOperandNumber() == 1;
  }

  Value narrowed(DerivedValues &derived, Value wide) {
    Value &cast = casts[wide];
    if (!cast) {
      auto op = derived.atEndOfPrepare().create<CastOp>(
          wide.getLoc(), withElement(wide, narrow), wide);
      if (mlir::Operation *definition = wide.getDefiningOp())
        if (mlir::Attribute section = definition->getAttr(kSectionAttr))
          op->setAttr(kSectionAttr, section);
      cast = op;
    }
    return cast;
  }

  void widenResults(mlir::func::ReturnOp end) {
    mlir::OpBuilder builder(end);
    for (mlir::OpOperand &operand : end->getOpOperands()) {
      Value value = operand.get();
      auto type = llvm::dyn_cast<Tensor>(value.getType());
      if (!type || !type.getElementType().isBF16())
        continue;
      auto op = builder.create<CastOp>(
          value.getLoc(), withElement(value, builder.getF32Type()), value);
      if (mlir::Operation *definition = value.getDefiningOp())
        if (mlir::Attribute section = definition->getAttr(kSectionAttr))
          op->setAttr(kSectionAttr, section);
      operand.set(op);
    }
  }

  mlir::Type narrow;
  llvm::DenseMap<Value, Value> casts;
};

} // namespace
} // namespace betz::passes
