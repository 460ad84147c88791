//===- LowerAttentionGrad.cpp - What attention's backward needs -----------===//
//
// Weights are computed again from scores and attention_lse, a block of queries
// times a block of keys at a time. The query's gradient and attention_lse have
// attention's tasks. A task of the keys' and values' gradient is a head of keys
// and a block of their rows, which may lie in several batch elements; it adds
// the queries that see them in order, so its sums never meet another task's.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/AttentionView.h"
#include "codegen/cpu/VectorMath.h"

#include <limits>

namespace betz::cpu {

namespace {

/// Below every other score; finite, so that differences of it are no NaN.
constexpr double kNoScore = std::numeric_limits<float>::lowest();

class LogSumLowering : AttentionView {
public:
  LogSumLowering(Emitter &e, const AttentionCore &core)
      : AttentionView(e, core), q(e.pointer(core.q)), k(e.pointer(core.k)),
        result(e.pointer(e.spec().resultIndex())),
        scores(e.scratch(rows * keyBlock)),
        keys(e.scratch(keyBlock * paddedHead)), maxima(e.scratch(rows)),
        totals(e.scratch(rows)) {}

  void lower() {
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
      setTask(task);
      e.loop(e.integer(0), e.integer(rows), 1, [&](Value row) {
        e.store(e.real(kNoScore), maxima, row);
        e.store(e.real(0), totals, row);
      });
      forSeenKeyBlocks([&](Value key, Value count) { addBlock(key, count); });
      e.loop(firstQuery, endQuery, 1, [&](Value query) { store(query); });
    });
  }

private:
  void addBlock(Value key, Value count) {
    packKeys(k, operand(core.k).rowStride, kvColumn, key, keys);
    forQueryBlocks([&](const Values &queries, bool whole) {
      multiplyKeys(
          q, operand(core.q).rowStride,
          [&](Value query) { return queryStart(query); }, keys, queries, whole,
          scores);
    });
    e.loop(firstQuery, endQuery, 1,
           [&](Value query) { addRow(query, key, count); });
  }

  void addRow(Value query, Value key, Value count) {
    int64_t lanes = e.level().microLanes;
    mlir::VectorType type = e.vectorType(e.f32(), lanes);
    Value row = local(query, 1), start = local(query, keyBlock);
    auto sumBlock = [&](Value initial, llvm::function_ref<Value(Value)> term,
                        llvm::function_ref<Value(Value, Value)> join,
                        double hidden) {
      return e.loop(e.integer(0), e.integer(keyBlock), lanes, {initial},
                    [&](Value offset, Values carried) {
                      Value score =
                          e.fmul(e.load(scores, e.add(start, offset), type),
                                 e.splat(core.scale, lanes));
                      Value shown =
                          e.select(visible(query, key, offset, count),
                                   term(score), e.splat(hidden, lanes));
                      for (Value part : e.split(shown))
                        carried[0] = join(carried[0], part);
                      return carried;
                    })[0];
    };
    Value before = e.loadScalar(maxima, row, e.f32());
    Value largest = sumBlock(
        e.splat(kNoScore), [](Value score) { return score; },
        [&](Value a, Value b) { return e.fmax(a, b); }, kNoScore);
    Value maximum = e.fmax(before, e.maxLanes(largest));
    e.store(maximum, maxima, row);
    Value shift = e.broadcast(maximum, lanes);
    Value total = sumBlock(
        e.splat(0),
        [&](Value score) { return emitExp(e, e.fsub(score, shift)); },
        [&](Value a, Value b) { return e.fadd(a, b); }, 0);
    Value rescale =
        emitExp(e, e.fsub(e.broadcast(before), e.broadcast(maximum)));
    Value old = e.broadcast(e.loadScalar(totals, row, e.f32()));
    Value sum = e.fadd(e.fmul(old, rescale), e.broadcast(e.sumLanes(total)));
    e.store(e.firstLane(sum), totals, row);
  }

  void store(Value query) {
    Value row = local(query, 1);
    Value total = e.loadScalar(totals, row, e.f32());
    Value sum = e.firstLane(emitLog(e, e.broadcast(total)));
    sum = e.fadd(sum, e.loadScalar(maxima, row, e.f32()));
    Value nothing = e.builder.create<mlir::arith::CmpFOp>(
        e.where, mlir::arith::CmpFPredicate::OEQ, total, e.real(0));
    Value infinity = e.real(std::numeric_limits<double>::infinity());
    Value at = e.mul(e.add(e.mul(batch, core.queries), query), core.heads);
    e.store(e.select(nothing, infinity, sum), result, e.add(at, head));
  }

  Value q, k, result, scores, keys, maxima, totals;
};

/// Weights of a block of queries and keys and the gradients of their scores.
class AttentionGradLowering : protected AttentionView {
public:
  AttentionGradLowering(Emitter &e, const AttentionGradCore &core)
      : AttentionView(e, core.forward), grad(core), epilogue(e),
        q(e.pointer(core.forward.q)), k(e.pointer(core.forward.k)),
        v(e.pointer(core.forward.v)), dout(e.pointer(core.dout)),
        lse(e.pointer(core.lse)), delta(e.pointer(core.delta)),
        weights(e.scratch(rows * keyBlock)), slopes(e.scratch(rows * keyBlock)),
        keys(e.scratch(keyBlock * paddedHead)),
        values(e.scratch(keyBlock * paddedHead)) {}

protected:
  void packBlock(Value key) {
    packKeys(k, operand(core.k).rowStride, kvColumn, key, keys);
    packKeys(v, operand(core.v).rowStride, kvColumn, key, values);
  }

  /// `weights` and `slopes` of the task's queries and the packed keys, zeros
  /// where a query does not see a key.
  void weighBlock(Value key, Value count) {
    forQueryBlocks([&](const Values &queries, bool whole) {
      multiplyKeys(
          q, operand(core.q).rowStride,
          [&](Value query) { return queryStart(query); }, keys, queries, whole,
          weights);
      multiplyKeys(
          dout, operand(grad.dout).rowStride,
          [&](Value query) { return gradStart(query); }, values, queries, whole,
          slopes);
    });
    e.loop(firstQuery, endQuery, 1,
           [&](Value query) { weighRow(query, key, count); });
  }

  Value gradStart(Value query) {
    Value row = e.add(e.mul(batch, core.queries), query);
    return e.add(e.mul(row, operand(grad.dout).rowStride), qColumn);
  }

  void clear(Value sums, int64_t count) {
    e.loop(e.integer(0), e.integer(count * paddedHead), kLanes,
           [&](Value at) { e.store(e.splat(0), sums, at); });
  }

  const AttentionGradCore &grad;
  Epilogue epilogue;
  Value q, k, v, dout, lse, delta, weights, slopes, keys, values;

private:
  void weighRow(Value query, Value key, Value count) {
    int64_t lanes = e.level().microLanes;
    mlir::VectorType type = e.vectorType(e.f32(), lanes);
    Value start = local(query, keyBlock);
    auto ofRow = [&](Value pointer, int32_t index) {
      Value row = e.add(e.mul(batch, core.queries), query);
      Value at = e.add(e.mul(row, operand(index).rowStride), head);
      return e.broadcast(e.loadScalar(pointer, at, e.f32()), lanes);
    };
    Value shift = ofRow(lse, grad.lse), mean = ofRow(delta, grad.delta);
    Value scale = e.splat(core.scale, lanes), zero = e.splat(0, lanes);
    e.loop(e.integer(0), e.integer(keyBlock), lanes, [&](Value offset) {
      Value at = e.add(start, offset);
      Value seen = visible(query, key, offset, count);
      Value score = e.fmul(e.load(weights, at, type), scale);
      Value weight = emitExp(e, e.fsub(score, shift));
      Value slope = e.fsub(e.load(slopes, at, type), mean);
      slope = e.fmul(e.fmul(weight, slope), scale);
      e.store(e.select(seen, weight, zero), weights, at);
      e.store(e.select(seen, slope, zero), slopes, at);
    });
  }
};

class QueryGradLowering : AttentionGradLowering {
public:
  QueryGradLowering(Emitter &e, const AttentionGradCore &core)
      : AttentionGradLowering(e, core), sums(e.scratch(rows * paddedHead)) {}

  void lower() {
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
      setTask(task);
      clear(sums, rows);
      forSeenKeyBlocks([&](Value key, Value count) { addBlock(key, count); });
      e.loop(firstQuery, endQuery, 1, [&](Value query) { store(query); });
    });
  }

private:
  void addBlock(Value key, Value count) {
    packBlock(key);
    weighBlock(key, count);
    int64_t stride = operand(core.k).rowStride;
    Value start = e.add(e.mul(key, stride), kvColumn);
    forQueryBlocks([&](const Values &queries, bool whole) {
      addProducts(
          queries, whole, [&](Value query) { return local(query, 1); }, slopes,
          keyBlock, k, start, stride, count, sums);
    });
  }

  void store(Value query) {
    Value row = e.add(e.mul(batch, core.queries), query);
    Value start = local(query, paddedHead);
    e.forColumns(core.headSize, [&](Value column, Value mask) {
      epilogue.finish(e.load(sums, e.add(start, column)), row,
                      e.add(qColumn, column), mask);
    });
  }

  Value sums;
};

class KeyValueGradLowering : AttentionGradLowering {
public:
  KeyValueGradLowering(Emitter &e, const AttentionGradCore &core)
      : AttentionGradLowering(e, core), turned(e.scratch(keyBlock * rows)),
        keySums(e.scratch(keyBlock * paddedHead)),
        valueSums(e.scratch(keyBlock * paddedHead)) {}

  void lower() {
    Value allRows = e.evaluate(e.spec().result().rows);
    Value blocks = e.divide(e.add(allRows, keyBlock - 1), keyBlock);
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
      Value kvHead = e.divide(task, blocks);
      firstHead = e.mul(kvHead, core.heads / core.kvHeads);
      Value first = e.mul(e.remainder(task, blocks), keyBlock);
      lowerRows(first, e.minimum(e.add(first, keyBlock), allRows));
    });
  }

private:
  /// The batch elements whose keys lie in rows [first, end).
  void lowerRows(Value first, Value end) {
    Value from, to;
    if (splits) {
      auto endsBefore = [&](Value row) {
        return [&, row](Value b) {
          return e.lessEqual(e.loadI32(splits, e.add(b, 1)), row);
        };
      };
      auto next = [&](Value b) { return e.add(b, 1); };
      from = e.loopWhile(e.integer(0), endsBefore(first), next);
      to = e.add(e.loopWhile(from, endsBefore(e.sub(end, e.integer(1))), next),
                 1);
    } else {
      from = e.divide(first, core.keys);
      to = e.add(e.divide(e.sub(end, e.integer(1)), core.keys), 1);
    }
    e.loop(from, to, 1, [&](Value element) {
      batch = element;
      head = firstHead;
      setKeyRange();
      Value low = e.maximum(first, firstKey), high = e.minimum(end, endKey);
      if (!blockMap)
        return e.when(e.less(low, high), [&] { lowerKeys(low, high); });
      // Pieces that each lie in one column of the map.
      Value skipped = e.mul(e.divide(e.sub(low, firstKey), keyBlock), keyBlock);
      e.loop(e.add(firstKey, skipped), high, keyBlock, [&](Value block) {
        lowerKeys(e.maximum(block, low),
                  e.minimum(e.add(block, keyBlock), high));
      });
    });
  }

  void lowerKeys(Value low, Value high) {
    Value count = e.sub(high, low);
    packBlock(low);
    clear(keySums, keyBlock);
    clear(valueSums, keyBlock);
    e.loop(firstHead, e.add(firstHead, core.heads / core.kvHeads), 1,
           [&](Value current) {
             head = current;
             qColumn = e.mul(head, core.headSize);
             e.loop(e.integer(0), e.integer(core.queries), rows,
                    [&](Value query) { addQueries(query, low, count); });
           });
    e.loop(e.integer(0), count, 1, [&](Value i) {
      storeRow(keySums, i, e.add(low, i), kvColumn);
      storeRow(valueSums, i, e.add(low, i),
               e.add(kvColumn, core.kvHeads * core.headSize));
    });
  }

  void addQueries(Value query, Value key, Value count) {
    firstQuery = query;
    endQuery = e.minimum(e.add(query, rows), e.integer(core.queries));
    setTimeRange();
    auto add = [&] {
      weighBlock(key, count);
      addTurned(weights, dout, gradStart(firstQuery),
                operand(grad.dout).rowStride, count, valueSums);
      addTurned(slopes, q, queryStart(firstQuery), operand(core.q).rowStride,
                count, keySums);
    };
    Value seen = blockIsSeen(key, count);
    if (!seen)
      return add();
    e.when(seen, add);
  }

  /// sums[key] += block[query][key] times each query's row of `right`.
  void addTurned(Value block, Value right, Value start, int64_t stride,
                 Value count, Value sums) {
    transposeRows(
        e, block, [&](Value row) { return e.mul(row, keyBlock); }, rows,
        e.integer(0), e.integer(keyBlock), turned,
        [&](Value row, Value column) {
          return e.add(e.mul(column, rows), row);
        });
    Value last = e.sub(count, e.integer(1));
    forRowBlocks(e, e.integer(0), count, [&](Values keys, bool whole) {
      if (!whole)
        for (Value &key : keys)
          key = e.minimum(key, last);
      addProducts(
          keys, whole, [](Value key) { return key; }, turned, rows, right,
          start, stride, e.sub(endQuery, firstQuery), sums);
    });
  }

  void storeRow(Value sums, Value localRow, Value row, Value to) {
    Value start = e.mul(localRow, paddedHead);
    e.forColumns(core.headSize, [&](Value column, Value mask) {
      epilogue.finish(e.load(sums, e.add(start, column)), row,
                      e.add(to, column), mask);
    });
  }

  Value turned, keySums, valueSums, firstHead;
};

} // namespace

void lowerAttentionGrad(Emitter &e, const AttentionGradCore &core) {
  switch (core.part) {
  case AttentionPart::LogSum:
    return LogSumLowering(e, core.forward).lower();
  case AttentionPart::QueryGrad:
    return QueryGradLowering(e, core).lower();
  case AttentionPart::KeyValueGrad:
    return KeyValueGradLowering(e, core).lower();
  }
}

} // namespace betz::cpu
