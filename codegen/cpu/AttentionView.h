//===- AttentionView.h - Which keys a task's queries see ------------------===//
//
// What attention and its gradients share: where a task's queries and keys lie,
// which keys of a block a query sees, and products of a block of queries with
// packed keys.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cpu/LowerKernel.h"

namespace betz::cpu {

class AttentionView {
public:
  AttentionView(Emitter &e, const AttentionCore &core);

protected:
  const OperandSpec &operand(int32_t index) {
    return e.spec().operands[size_t(index)];
  }

  /// Makes `task` of batch elements, heads and blocks of queries the current
  /// one: `head` to `endQuery`, then the key range.
  void setTask(Value task);
  /// From `batch` and `head`.
  void setKeyRange();

  /// Whether a query may not see each key of its batch element.
  bool masksKeys() const { return keyTime || core.causal || blockMap; }
  /// Whether blocks are skipped by `rule`; a later rule includes it.
  bool skips(SparsityRule rule) const;
  /// Before blockIsSeen, of each task.
  void setTimeRange();
  /// False for a block of `count` keys that no query of the task sees; null
  /// where no rule skips blocks.
  Value blockIsSeen(Value key, Value count);
  /// Calls `body(key, count)` for the blocks of the task's keys that some of
  /// its queries may see.
  void forSeenKeyBlocks(llvm::function_ref<void(Value, Value)> body);
  /// Which keys, a lane each, from `offset` into the block at `key` on the
  /// query sees.
  Value visible(Value query, Value key, Value offset, Value count);
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b);

  /// Register blocks of queries; ones past the end repeat the last.
  void forQueryBlocks(llvm::function_ref<void(const Values &, bool)> body);
  /// Row `key` on of an operand's columns at `column` becomes panels of
  /// `keyBlock` rows. Rows past the last key repeat it.
  void packKeys(Value source, int64_t stride, Value column, Value key,
                Value panels);
  /// products[query][key] = rows of `left` times the packed keys. `start` is
  /// the element at which a query's row begins.
  void multiplyKeys(Value left, int64_t stride,
                    llvm::function_ref<Value(Value)> start, Value panels,
                    const Values &queries, bool whole, Value products);
  /// sums[row] += weights[row] times `count` rows of `right`, for each row that
  /// `place` gives the local number of.
  void addProducts(const Values &rows, bool whole,
                   llvm::function_ref<Value(Value)> place, Value weights,
                   int64_t weightStride, Value right, Value rightStart,
                   int64_t rightStride, Value count, Value sums);
  Value queryStart(Value query);
  Value local(Value query, int64_t stride) {
    return e.mul(e.sub(query, firstQuery), stride);
  }

  Emitter &e;
  const AttentionCore &core;
  int64_t rows, keyBlock, paddedHead;
  // Of the current task.
  Value head, batch, firstQuery, endQuery, firstKey, endKey, kvColumn, qColumn;
  Value splits, keyTime, bounds, blockMap;

private:
  Value mapEntry(Value query, Value index);

  Value earliest, latest;
};

} // namespace betz::cpu
