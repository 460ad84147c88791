#include "codegen/cpu/AttentionView.h"

#include <limits>

namespace betz::cpu {

AttentionView::AttentionView(Emitter &e, const AttentionCore &core)
    : e(e), core(core), rows(e.spec().tile.rows),
      keyBlock(e.spec().plan.keyBlock),
      paddedHead(paddedToPanels(core.headSize)) {
  if (core.rowSplits >= 0)
    splits = e.pointer(core.rowSplits);
  if (core.keyTime >= 0) {
    keyTime = e.pointer(core.keyTime);
    bounds = e.pointer(core.bounds);
  }
  if (core.blockMap >= 0)
    blockMap = e.pointer(core.blockMap);
}

void AttentionView::setTask(Value task) {
  int64_t blocks = (core.queries + rows - 1) / rows;
  Value block = e.remainder(task, blocks);
  Value rest = e.divide(task, blocks);
  head = e.remainder(rest, core.heads);
  batch = e.divide(rest, core.heads);
  firstQuery = e.mul(block, rows);
  endQuery = e.minimum(e.add(firstQuery, rows), e.integer(core.queries));
  setKeyRange();
}

void AttentionView::setKeyRange() {
  if (splits) {
    firstKey = e.loadI32(splits, batch);
    endKey = e.loadI32(splits, e.add(batch, 1));
  } else {
    firstKey = e.mul(batch, core.keys);
    endKey = e.add(firstKey, core.keys);
  }
  Value kvHead = e.divide(head, core.heads / core.kvHeads);
  kvColumn = e.mul(kvHead, core.headSize);
  qColumn = e.mul(head, core.headSize);
}

//===----------------------------------------------------------------------===//
// What is seen
//===----------------------------------------------------------------------===//

bool AttentionView::skips(SparsityRule rule) const {
  bool applies = rule == SparsityRule::TimeBounds ? core.keyTime >= 0
                 : rule == SparsityRule::Causal   ? core.causal
                                                  : core.blockMap >= 0;
  return applies && core.sparsity >= rule;
}

void AttentionView::setTimeRange() {
  if (!skips(SparsityRule::TimeBounds))
    return;
  Values range{e.integer(std::numeric_limits<int32_t>::max()),
               e.integer(std::numeric_limits<int32_t>::min())};
  range =
      e.loop(firstQuery, endQuery, 1, range, [&](Value query, Values carried) {
        Value at = e.mul(query, 2);
        return Values{e.minimum(carried[0], e.loadI32(bounds, at)),
                      e.maximum(carried[1], e.loadI32(bounds, e.add(at, 1)))};
      });
  earliest = range[0];
  latest = range[1];
}

Value AttentionView::blockIsSeen(Value key, Value count) {
  Value seen;
  auto require = [&](Value condition) {
    seen = seen ? e.bitAnd(seen, condition) : condition;
  };
  if (skips(SparsityRule::TimeBounds)) {
    Values range{e.integer(std::numeric_limits<int32_t>::max()),
                 e.integer(std::numeric_limits<int32_t>::min())};
    range = e.loop(e.integer(0), count, 1, range, [&](Value i, Values carried) {
      Value time = e.loadI32(keyTime, e.add(key, i));
      return Values{e.minimum(carried[0], time), e.maximum(carried[1], time)};
    });
    require(e.lessEqual(range[0], latest));
    require(e.lessEqual(earliest, range[1]));
  }
  Value index = e.sub(key, firstKey);
  if (skips(SparsityRule::Causal))
    require(e.less(index, e.add(endQuery, core.keys - core.queries)));
  if (skips(SparsityRule::BlockMap)) {
    // A task's queries lie in at most two rows of the map.
    Value last = e.sub(endQuery, e.integer(1));
    Value any = e.bitOr(mapEntry(firstQuery, index), mapEntry(last, index));
    require(e.less(e.integer(0), any));
  }
  return seen;
}

/// One where the map lets `query` see the key `index` of its batch element,
/// else zero. A key block lies in one column of the map.
Value AttentionView::mapEntry(Value query, Value index) {
  Value column = e.divide(index, core.mapBlock);
  Value inside = e.minimum(column, e.integer(core.mapColumns - 1));
  Value row = e.divide(query, core.mapBlock);
  Value entry = e.loadI32(blockMap, e.add(e.mul(row, core.mapColumns), inside));
  Value isSet =
      e.bitAnd(compare(mlir::arith::CmpIPredicate::ne, entry, e.integer(0)),
               e.less(column, e.integer(core.mapColumns)));
  return e.select(isSet, e.integer(1), e.integer(0));
}

Value AttentionView::visible(Value query, Value key, Value offset,
                             Value count) {
  int64_t width = e.level().microLanes;
  mlir::VectorType type = e.vectorType(e.builder.getI32Type(), width);
  Value lanes = e.laneNumbers(width);
  auto splat = [&](Value i64) { return e.broadcastInteger(i64, width); };
  Value inside = e.laneMask(e.sub(count, offset), width);
  if (keyTime) {
    Value time = e.loadMasked(keyTime, e.add(key, offset), inside, type);
    Value bound = e.mul(query, 2);
    Value low = splat(e.loadI32(bounds, bound));
    Value high = splat(e.loadI32(bounds, e.add(bound, 1)));
    inside =
        e.bitAnd(inside, compare(mlir::arith::CmpIPredicate::sge, time, low));
    inside =
        e.bitAnd(inside, compare(mlir::arith::CmpIPredicate::sle, time, high));
  }
  if (core.causal) {
    // Key j of N is seen by query i of L if j <= i + N - L.
    Value index = e.add(e.sub(key, firstKey), offset);
    Value limit = e.sub(e.add(query, core.keys - core.queries), index);
    inside = e.bitAnd(
        inside, compare(mlir::arith::CmpIPredicate::sle, lanes, splat(limit)));
  }
  if (blockMap) {
    Value entry = mapEntry(query, e.sub(key, firstKey));
    inside = e.bitAnd(inside, compare(mlir::arith::CmpIPredicate::ne,
                                      splat(entry), e.splatInteger(0, width)));
  }
  return inside;
}

Value AttentionView::compare(mlir::arith::CmpIPredicate predicate, Value a,
                             Value b) {
  return e.builder.create<mlir::arith::CmpIOp>(e.where, predicate, a, b);
}

void AttentionView::forSeenKeyBlocks(
    llvm::function_ref<void(Value, Value)> body) {
  setTimeRange();
  e.loop(firstKey, endKey, keyBlock, [&](Value key) {
    Value count = e.minimum(e.sub(endKey, key), e.integer(keyBlock));
    Value seen = blockIsSeen(key, count);
    if (!seen)
      return body(key, count);
    e.when(seen, [&] { body(key, count); });
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void AttentionView::forQueryBlocks(
    llvm::function_ref<void(const Values &, bool)> body) {
  Value last = e.sub(endQuery, e.integer(1));
  forRowBlocks(e, firstQuery, endQuery, [&](Values queries, bool whole) {
    if (!whole)
      for (Value &query : queries)
        query = e.minimum(query, last);
    body(queries, whole);
  });
}

void AttentionView::packKeys(Value source, int64_t stride, Value column,
                             Value key, Value panels) {
  Value last = e.sub(endKey, e.integer(1));
  auto start = [&](Value row) {
    Value inside = e.minimum(e.add(key, row), last);
    return e.add(e.mul(inside, stride), column);
  };
  auto place = [&](Value row, Value column) {
    Value panel =
        e.mul(e.divide(row, kMicroColumns), paddedHead * kMicroColumns);
    return e.add(e.add(panel, e.mul(column, kMicroColumns)),
                 e.remainder(row, kMicroColumns));
  };
  transposeRows(e, source, start, keyBlock, e.integer(0),
                e.integer(core.headSize), panels, place);
}

void AttentionView::multiplyKeys(Value left, int64_t stride,
                                 llvm::function_ref<Value(Value)> start,
                                 Value panels, const Values &queries,
                                 bool whole, Value products) {
  int64_t lanes = e.level().microLanes;
  MicroBlock block;
  block.a = left;
  block.rows = microRows(queries, whole, stride, start);
  block.b = panels;
  block.bStride = kMicroColumns;
  forColumnBlocks(e, keyBlock, [&](Value key, int64_t count) {
    block.columns = panelColumns(e, e.mul(key, paddedHead), count, paddedHead);
    Values sums(queries.size() * block.columns.size(), e.splat(0, lanes));
    sums = emitMicroBlock(e, block, e.integer(core.headSize), sums);
    size_t next = 0;
    for (Value query : queries) {
      Value to = e.add(local(query, keyBlock), key);
      for (int64_t at = 0; at < count; at += lanes)
        e.store(sums[next++], products, e.add(to, at));
    }
  });
}

void AttentionView::addProducts(const Values &rows, bool whole,
                                llvm::function_ref<Value(Value)> place,
                                Value weights, int64_t weightStride,
                                Value right, Value rightStart,
                                int64_t rightStride, Value count, Value sums) {
  int64_t lanes = e.level().microLanes;
  mlir::VectorType type = e.vectorType(e.f32(), lanes);
  MicroBlock block;
  block.a = weights;
  block.rows = microRows(rows, whole, weightStride, [&](Value row) {
    return e.mul(place(row), weightStride);
  });
  block.b = right;
  block.bStride = rightStride;
  forColumnBlocks(e, core.headSize, [&](Value column, int64_t columns) {
    block.columns.clear();
    for (int64_t at = 0; at < columns; at += lanes) {
      int64_t left = columns - at;
      block.columns.push_back(
          {e.add(e.add(rightStart, column), at),
           left < lanes ? e.laneMask(left, lanes) : Value()});
    }
    auto index = [&](Value row, size_t vector) {
      return e.add(e.add(e.mul(place(row), paddedHead), column),
                   int64_t(vector) * lanes);
    };
    Values accumulated;
    for (Value row : rows)
      for (size_t j = 0; j < block.columns.size(); ++j)
        accumulated.push_back(e.load(sums, index(row, j), type));
    accumulated = emitMicroBlock(e, block, count, accumulated);
    size_t next = 0;
    for (Value row : rows)
      for (size_t j = 0; j < block.columns.size(); ++j)
        e.store(accumulated[next++], sums, index(row, j));
  });
}

Value AttentionView::queryStart(Value query) {
  Value row =
      core.sharedQuery ? query : e.add(e.mul(batch, core.queries), query);
  return e.add(e.mul(row, operand(core.q).rowStride), qColumn);
}

} // namespace betz::cpu
