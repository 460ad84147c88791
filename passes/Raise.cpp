//===- Raise.cpp - From a later phase back to an earlier one --------------===//
#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace betz::passes {

using namespace ir;

namespace {

void inlineKernel(KernelOp kernel) {
  mlir::OpBuilder builder(kernel);
  mlir::IRMapping map;
  mlir::Block &body = kernel.getBody().front();
  map.map(body.getArguments(), kernel.getInputs());
  for (mlir::Operation &op : body.without_terminator()) {
    mlir::Operation *clone = builder.clone(op, map);
    if (mlir::Attribute section = kernel->getAttr(kSectionAttr))
      clone->setAttr(kSectionAttr, section);
  }
  auto yield = llvm::cast<YieldOp>(body.getTerminator());
  for (auto [result, value] :
       llvm::zip_equal(kernel.getResults(), yield.getValues()))
    result.replaceAllUsesWith(map.lookupOrDefault(value));
  kernel.erase();
}

/// Sums of squares that one kernel left for another become what they were made
/// of: the factor of the rows.
void measureRows(mlir::func::FuncOp main) {
  for (auto factor :
       llvm::make_early_inc_range(main.getOps<ScaleFromSquaresOp>())) {
    auto squares = factor.getSquares().getDefiningOp<SquareSumsOp>();
    if (!squares)
      continue;
    mlir::OpBuilder builder(factor);
    auto scale = builder.create<NormScaleOp>(factor.getLoc(), factor.getType(),
                                             squares.getX(), NormKind::Rms,
                                             factor.getEps());
    if (mlir::Attribute section = factor->getAttr(kSectionAttr))
      scale->setAttr(kSectionAttr, section);
    factor.replaceAllUsesWith(scale.getResult());
    factor.erase();
    if (squares->use_empty())
      squares.erase();
  }
}

} // namespace

void raiseTo(Phase phase, mlir::ModuleOp module) {
  if (phase < Phase::Program) {
    module->removeAttr(kBucketsAttr);
    for (KernelOp kernel : getMain(module).getOps<KernelOp>())
      kernel.removeOffsetsAttr();
  }
  if (phase < Phase::Kernels) {
    for (KernelOp kernel :
         llvm::make_early_inc_range(getMain(module).getOps<KernelOp>()))
      inlineKernel(kernel);
    measureRows(getMain(module));
  }
  setPhase(module, phase);
}

} // namespace betz::passes
