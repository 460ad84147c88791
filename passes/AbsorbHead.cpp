#include "passes/DerivedValues.h"
#include "passes/MainMath.h"
#include "passes/Passes.h"
#include "passes/WeightMath.h"

namespace betz::passes {

#define GEN_PASS_DEF_ABSORBHEADPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::Value;

namespace {

/// Attention of a constant query over keys and values from one matmul, and the
/// projection of its result to one column.
struct Head {
  AttentionOp attention;
  SliceOp k, v;
  MatmulOp projection; // of keys and values
  MatmulOp output;
  int64_t queries, heads, depth;
};

Tensor typeOf(Value value) { return llvm::cast<Tensor>(value.getType()); }

struct AbsorbHeadPass : impl::AbsorbHeadPassBase<AbsorbHeadPass> {
  void runOnOperation() override {
    DerivedValues derived(getOperation());
    for (AttentionOp attention : llvm::make_early_inc_range(
             getMain(getOperation()).getOps<AttentionOp>()))
      if (std::optional<Head> head = match(derived, attention))
        absorb(derived, *head);
    derived.finish();
  }

  static std::optional<Head> match(const DerivedValues &derived,
                                   AttentionOp op) {
    Head head;
    head.attention = op;
    head.k = op.getK().getDefiningOp<SliceOp>();
    head.v = op.getV().getDefiningOp<SliceOp>();
    if (!derived.contains(op.getQ()) || op.getRowSplits() || op.getCausal() ||
        op.getBlockMap() || op.getHeads() != op.getKvHeads() || !head.k ||
        !head.v || head.k.getX() != head.v.getX() || !op->hasOneUse() ||
        !head.k->hasOneUse() || !head.v->hasOneUse())
      return std::nullopt;
    head.projection = head.k.getX().getDefiningOp<MatmulOp>();
    head.output = llvm::dyn_cast<MatmulOp>(*op->user_begin());
    if (!head.projection || !head.output || head.projection.getColumns() ||
        head.output.getColumns() || head.output.getOutputColumns() != 1 ||
        head.output.getX() != op.getResult() ||
        !derived.contains(head.projection.getWeight()) ||
        !derived.contains(head.output.getWeight()) ||
        llvm::range_size(head.projection->getUsers()) != 2)
      return std::nullopt;
    head.queries = typeOf(op.getQ()).getDimSize(0);
    head.heads = int64_t(op.getHeads());
    head.depth = columnsOf(typeOf(op.getQ()));
    if (2 * head.queries * head.heads > head.depth)
      return std::nullopt; // the narrow matmul would not be narrow
    return head;
  }

  static void absorb(DerivedValues &derived, const Head &head) {
    AttentionOp attention = head.attention;
    MatmulOp projection = head.projection, output = head.output;
    SliceOp k = head.k, v = head.v;
    WeightMath weights(derived.atEndOfPrepare(), projection);
    Value columns =
        weights.transpose(derived.inPrepare(projection.getWeight()));
    // Row (query, head): what turns an input row into that score.
    Value scores = weights.product(
        weights.expandHeads(derived.inPrepare(attention.getQ()), head.heads),
        weights.columns(columns, int64_t(k.getOffset()), head.depth));
    // Row head: what turns an input row into that head's share of the output.
    Value shares = weights.product(
        weights.expandHeads(derived.inPrepare(output.getWeight()), head.heads),
        weights.columns(columns, int64_t(v.getOffset()), head.depth));
    llvm::SmallVector<Value> parts{scores};
    parts.append(size_t(head.queries), shares);
    Value folded = weights.concat(parts);

    int64_t pairs = head.queries * head.heads;
    MainMath main(output);
    Value features = main.matmul(projection.getX(), folded);
    Value summed = main.attention(weights.fill({1, pairs}, 1.0),
                                  main.slice(features, 0, pairs),
                                  main.slice(features, pairs, pairs), pairs,
                                  attention.getScale().convertToDouble());
    RowsAttr batch = getRows(typeOf(summed));
    Value byQuery = main.reshape(
        summed, rowsType(batch.getSymbol(), {head.queries, head.heads},
                         typeOf(summed).getElementType()));
    Value result = main.matmul(byQuery, weights.fill({1, head.heads}, 1.0));
    output.getResult().replaceAllUsesWith(result);
    output.erase();
    attention.erase();
    k.erase();
    v.erase();
    projection.erase();
  }
};

} // namespace
} // namespace betz::passes
