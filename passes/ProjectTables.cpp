#include "passes/DerivedValues.h"
#include "passes/MainMath.h"
#include "passes/Passes.h"
#include "passes/WeightMath.h"

namespace betz::passes {

#define GEN_PASS_DEF_PROJECTTABLESPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::Value;

namespace {

/// Operations that a processor does while it reads one byte that is not in its
/// caches: both CPUs and GPUs of today lie near or above it.
constexpr int64_t kFlopsPerByte = 10;
/// Above this the projected tables are not worth their place in memory.
constexpr int64_t kLargestTables = int64_t(1) << 30;

struct ProjectTablesPass : impl::ProjectTablesPassBase<ProjectTablesPass> {
  void runOnOperation() override {
    DerivedValues derived(getOperation());
    for (MatmulOp matmul : llvm::make_early_inc_range(
             getMain(getOperation()).getOps<MatmulOp>())) {
      auto norm = matmul.getX().getDefiningOp<NormOp>();
      auto gather =
          norm ? norm.getX().getDefiningOp<GatherSumOp>() : GatherSumOp();
      if (gather && norm->hasOneUse() && gather->hasOneUse() &&
          !matmul.getColumns() && areDerived(derived, gather, norm, matmul) &&
          isCheaper(gather, matmul))
        project(derived, gather, norm, matmul);
    }
    derived.finish();
  }

  static bool areDerived(const DerivedValues &derived, GatherSumOp gather,
                         NormOp norm, MatmulOp matmul) {
    return derived.contains(matmul.getWeight()) &&
           isLinearPartDerived(derived, norm) &&
           llvm::all_of(gather.getTables(),
                        [&](Value table) { return derived.contains(table); });
  }

  /// For one column of one row: the reads of the projected tables against the
  /// multiply-adds of the matmul.
  static bool isCheaper(GatherSumOp gather, MatmulOp matmul) {
    auto weight = llvm::cast<Tensor>(matmul.getWeight().getType());
    int64_t width = weight.getElementTypeBitWidth() / 8;
    int64_t reads = int64_t(gather.getTables().size()) * width;
    int64_t bytes = 0;
    for (Value table : gather.getTables())
      bytes += llvm::cast<Tensor>(table.getType()).getDimSize(0) *
               weight.getDimSize(0) * width;
    return reads * kFlopsPerByte <= 2 * weight.getDimSize(1) &&
           bytes <= kLargestTables;
  }

  void project(DerivedValues &derived, GatherSumOp gather, NormOp norm,
               MatmulOp matmul) {
    WeightMath weights(derived.atEndOfPrepare(), matmul);
    Value plain = derived.inPrepare(matmul.getWeight());
    Value folded =
        weights.absorbNorm(norm, derived.inPrepare(norm.getGain()), plain);
    llvm::SmallVector<Value> projected;
    for (Value table : gather.getTables())
      projected.push_back(weights.product(derived.inPrepare(table), folded));

    MainMath main(matmul);
    Value scale = main.normScale(gather.getResult(), norm);
    Value sum = main.gatherSum(gather.getIndices(), projected);
    Value result = main.scaleRows(sum, scale);
    // Added to each event's row, so that a query which sees no event gets none
    // of it.
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
