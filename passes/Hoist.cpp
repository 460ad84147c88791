#include "passes/DerivedValues.h"
#include "passes/Passes.h"

namespace betz::passes {

#define GEN_PASS_DEF_HOISTPASS
#include "passes/Passes.h.inc"

using namespace ir;

namespace {

struct HoistPass : impl::HoistPassBase<HoistPass> {
  void runOnOperation() override {
    DerivedValues derived(getOperation());
    for (mlir::Operation &op :
         llvm::make_early_inc_range(getMain(getOperation()).getBody().front()))
      if (!llvm::isa<KernelOp, mlir::func::ReturnOp>(op) &&
          llvm::all_of(op.getOperands(), [&](mlir::Value value) {
            return derived.contains(value);
          }))
        derived.moveToPrepare(&op);
    derived.finish();
  }
};

} // namespace
} // namespace betz::passes
