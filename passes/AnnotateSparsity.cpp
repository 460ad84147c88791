#include "passes/Passes.h"

namespace betz::passes {

#define GEN_PASS_DEF_ANNOTATESPARSITYPASS
#include "passes/Passes.h.inc"

using namespace ir;

namespace {

/// The narrowest rule that holds; each includes those before it.
template <typename Op> Sparsity sparsityOf(Op op) {
  if (op.getBlockMap())
    return Sparsity::BlockMap;
  if (op.getKeyTime())
    return Sparsity::TimeBounds;
  if (op.getRowSplits())
    return Sparsity::Segments;
  return op.getCausal() ? Sparsity::Causal : Sparsity::Dense;
}

struct AnnotateSparsityPass
    : impl::AnnotateSparsityPassBase<AnnotateSparsityPass> {
  void runOnOperation() override {
    annotate<AttentionOp>();
    annotate<AttentionLseOp>();
    annotate<AttentionGradQOp>();
    annotate<AttentionGradKvOp>();
  }

  template <typename Op> void annotate() {
    getOperation().walk([](Op op) {
      op.setSparsityAttr(SparsityAttr::get(op.getContext(), sparsityOf(op)));
    });
  }
};

} // namespace
} // namespace betz::passes
