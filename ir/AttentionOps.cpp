//===- AttentionOps.cpp - Verifiers of attention and its gradients --------===//
#include "ir/Constraints.h"

using namespace mlir;
using namespace betz::ir;

template <typename Op> static LogicalResult verifyBlockMap(Op op) {
  if (bool(op.getBlockMap()) != bool(op.getMapBlock()))
    return op.emitOpError("(C7) block_map and map_block come together");
  if (!op.getBlockMap())
    return success();
  Tensor q = typeOf(op.getQ()), map = typeOf(op.getBlockMap());
  int64_t block = int64_t(*op.getMapBlock());
  int64_t queries = q.getDimSize(q.getRank() - 2);
  if (block <= 0 || block % 64 != 0 || !map.hasStaticShape() ||
      map.getRank() != 2 || map.getDimSize(0) != (queries + block - 1) / block)
    return op.emitOpError("(C7) block_map must be i32[ceil(L / map_block), *], "
                          "map_block a multiple of 64");
  return success();
}

template <typename Op> static LogicalResult verifyTimeBounds(Op op) {
  if (bool(op.getKeyTime()) != bool(op.getBounds()))
    return op.emitOpError("(C4) key_time and bounds come together");
  if (!op.getKeyTime())
    return success();
  Tensor q = typeOf(op.getQ()), time = typeOf(op.getKeyTime());
  int64_t queries = q.getDimSize(q.getRank() - 2);
  if (!op.getRowSplits() || time.getRank() != 1 ||
      !sameRows(time, typeOf(op.getK())) ||
      typeOf(op.getBounds()).getShape() != ArrayRef<int64_t>({queries, 2}))
    return op.emitOpError("(C4) key_time must be i32[E] and bounds i32[")
           << queries << ", 2], with ragged keys";
  return success();
}

/// The symbol that batch elements follow; null if the keys name none.
template <typename Op> static RowsAttr batchOf(Op op) {
  bool ragged = bool(op.getRowSplits());
  Tensor k = typeOf(op.getK());
  RowsAttr batch = getRows(ragged ? typeOf(op.getRowSplits()) : k);
  if (k.getRank() != (ragged ? 2 : 3) || !batch ||
      batch.getPlus() != (ragged ? 1 : 0) ||
      (ragged && typeOf(op.getRowSplits()).getRank() != 1))
    return {};
  return batch;
}

/// Whether C5 holds for the query: shared, or one a batch element.
static bool isQuery(Tensor q, RowsAttr batch) {
  if (q.getRank() == 2)
    return q.hasStaticShape();
  return q.getRank() == 3 && getRows(q) &&
         getRows(q).getSymbol() == batch.getSymbol() &&
         getRows(q).getPlus() == 0;
}

/// C1 to C7 of an op that reads `values` beside the keys and gives `wanted` of
/// the query's type and the batch.
template <typename Op>
static LogicalResult
verifyAttention(Op op, Value values,
                llvm::function_ref<Tensor(Tensor, RowsAttr)> wanted,
                StringRef wantedText) {
  Tensor q = typeOf(op.getQ()), k = typeOf(op.getK());
  int64_t heads = int64_t(op.getHeads()), kvHeads = int64_t(op.getKvHeads());
  if (heads <= 0 || kvHeads <= 0 || q.getRank() < 2 ||
      columnsOf(q) % heads != 0 || heads % kvHeads != 0)
    return op.emitOpError("(C1) heads must divide q's columns and kv_heads "
                          "must divide heads");
  int64_t headSize = columnsOf(q) / heads;
  if (k != typeOf(values) || k.getElementType() != q.getElementType() ||
      k.getRank() < 2 || columnsOf(k) != headSize * kvHeads)
    return op.emitOpError("(C2) k and v must be of one type with kv_heads * ")
           << headSize << " columns";
  RowsAttr batch = batchOf(op);
  if (!batch)
    return op.emitOpError("(C3) ragged keys are [E, columns] with row_splits "
                          "i32[B + 1], dense ones [B, N, columns] without");
  if (failed(verifyTimeBounds(op)))
    return failure();
  if (!isQuery(q, batch) || op.getResult().getType() != wanted(q, batch))
    return op.emitOpError("(C5) q must be [L, D] or [B, L, D], the result ")
           << wantedText;
  if (op.getCausal() && op.getRowSplits())
    return op.emitOpError("(C6) causal goes with dense keys only");
  return verifyBlockMap(op);
}

template <typename Op> static LogicalResult verifyGradients(Op op) {
  Tensor out = attentionType(typeOf(op.getQ()), batchOf(op));
  Tensor perHead = headsType(out, int64_t(op.getHeads()));
  if (op.getDout().getType() != out || op.getLse().getType() != perHead ||
      op.getDelta().getType() != perHead)
    return op.emitOpError("(C8) dout must be ")
           << out << ", lse and delta " << perHead;
  return success();
}

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, getV(), attentionType, "[B, L, D]");
}

LogicalResult AttentionLseOp::verify() {
  return verifyAttention(
      *this, getK(),
      [&](Tensor q, RowsAttr batch) {
        return headsType(attentionType(q, batch), int64_t(getHeads()));
      },
      "f32[B, L, heads]");
}

LogicalResult AttentionGradQOp::verify() {
  if (failed(verifyAttention(*this, getV(), attentionType, "[B, L, D]")))
    return failure();
  return verifyGradients(*this);
}

LogicalResult AttentionGradKvOp::verify() {
  Tensor k = typeOf(getK());
  if (failed(verifyAttention(
          *this, getV(),
          [&](Tensor, RowsAttr) { return withColumns(k, 2 * columnsOf(k)); },
          "[..., 2 * kv_heads * d] of k's rows")))
    return failure();
  return verifyGradients(*this);
}
