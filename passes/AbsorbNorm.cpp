#include "passes/DerivedValues.h"
#include "passes/MainMath.h"
#include "passes/Passes.h"
#include "passes/WeightMath.h"

namespace betz::passes {

#define GEN_PASS_DEF_ABSORBNORMPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::Value;

namespace {

struct AbsorbNormPass : impl::AbsorbNormPassBase<AbsorbNormPass> {
  void runOnOperation() override {
    DerivedValues derived(getOperation());
    for (MatmulOp matmul : llvm::make_early_inc_range(
             getMain(getOperation()).getOps<MatmulOp>())) {
      auto norm = matmul.getX().getDefiningOp<NormOp>();
      if (norm && norm->hasOneUse() && !matmul.getColumns() &&
          derived.contains(matmul.getWeight()) &&
          isLinearPartDerived(derived, norm))
        absorb(derived, norm, matmul);
    }
    derived.finish();
  }

  void absorb(DerivedValues &derived, NormOp norm, MatmulOp matmul) {
    WeightMath weights(derived.atEndOfPrepare(), matmul);
    Value plain = derived.inPrepare(matmul.getWeight());
    Value folded =
        weights.absorbNorm(norm, derived.inPrepare(norm.getGain()), plain);
    MainMath main(matmul);
    Value scale = main.normScale(norm.getX(), norm);
    Value product = main.matmul(norm.getX(), folded);
    Value result = main.scaleRows(product, scale);
    if (norm.getShift())
      result = main.add(result, weights.vectorProduct(
                                    derived.inPrepare(norm.getShift()), plain));
    matmul.getResult().replaceAllUsesWith(result);
    matmul.erase();
    norm.erase();
  }
};

} // namespace
} // namespace betz::passes
