#include "passes/DerivedValues.h"
#include "passes/Passes.h"

namespace betz::passes {

#define GEN_PASS_DEF_PACKPANELSPASS
#include "passes/Passes.h.inc"

using namespace ir;

namespace {

struct PackPanelsPass : impl::PackPanelsPassBase<PackPanelsPass> {
  using PackPanelsPassBase::PackPanelsPassBase;

  void runOnOperation() override {
    DerivedValues derived(getOperation());
    llvm::DenseMap<mlir::Value, mlir::Value> packed;
    getMain(getOperation()).walk([&](MatmulOp matmul) {
      if (matmul.getColumns())
        return;
      mlir::Value weight = matmul.getWeight();
      const bool isDerived = derived.contains(weight);
      mlir::Value plain = isDerived ? derived.inPrepare(weight) : weight;
      mlir::Value &panels = packed[plain];
      if (!panels)
        panels = pack(isDerived ? derived.atEndOfPrepare() : behind(weight),
                      plain, matmul);
      matmul.setColumns(llvm::cast<Tensor>(plain.getType()).getDimSize(0));
      matmul.getWeightMutable().assign(panels);
    });
    derived.finish();
  }

  /// Where a weight that changes with the step is packed.
  static mlir::OpBuilder behind(mlir::Value weight) {
    mlir::OpBuilder builder(weight.getContext());
    builder.setInsertionPointAfterValue(weight);
    return builder;
  }

  mlir::Value pack(mlir::OpBuilder builder, mlir::Value weight, MatmulOp user) {
    auto type = llvm::cast<Tensor>(weight.getType());
    int64_t panels = (type.getDimSize(0) + panel - 1) / panel;
    auto packedType =
        Tensor::get({panels, type.getDimSize(1), panel}, type.getElementType());
    auto op = builder.create<PackPanelsOp>(weight.getLoc(), packedType, weight,
                                           uint64_t(panel));
    if (mlir::Attribute section = user->getAttr(kSectionAttr))
      op->setAttr(kSectionAttr, section);
    return op;
  }
};

} // namespace
} // namespace betz::passes
