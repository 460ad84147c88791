#include "passes/Passes.h"

namespace betz::passes {

#define GEN_PASS_DEF_ANNOTATESPARSITYPASS
#include "passes/Passes.h.inc"

using namespace ir;

namespace {

/// The narrowest rule that holds; each includes those before it.
Sparsity sparsityOf(AttentionOp op) {
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
    getOperation().walk([](AttentionOp op) {
      op.setSparsityAttr(SparsityAttr::get(op.getContext(), sparsityOf(op)));
    });
  }
};

} // namespace
} // namespace betz::passes
