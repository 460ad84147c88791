//===- LowerAttention.cpp - Attention with an online softmax --------------===//
//
// A task is one batch element, one head and a block of queries. Keys are taken
// in blocks of 64 counted from the element's first key: transpose the key block
// into panels, scores = queries x keys, mask, rescale what was summed before,
// add weights x values. Milakov and Gimelshein, "Online normalizer calculation
// for softmax" (2018); Dao et al., "FlashAttention" (2022).
//
// A masked score counts as weight zero exactly, so a block that a query does
// not see leaves its sums as they are, bit for bit. Zero times NaN is NaN,
// though: where keys may be masked, a block whose values are not all finite is
// added key by key, so that it spoils the queries that see it and no others.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/AttentionView.h"
#include "codegen/cpu/VectorMath.h"

#include <limits>

namespace betz::cpu {

namespace {

/// Below every other score; finite, so that differences of it are no NaN.
constexpr double kNoScore = std::numeric_limits<float>::lowest();

class AttentionLowering : AttentionView {
public:
  AttentionLowering(Emitter &e, const AttentionCore &core)
      : AttentionView(e, core), epilogue(e), q(e.pointer(core.q)),
        k(e.pointer(core.k)), v(e.pointer(core.v)),
        scores(e.scratch(rows * keyBlock)),
        keys(e.scratch(keyBlock * paddedHead)),
        sums(e.scratch(rows * paddedHead)), maxima(e.scratch(rows)),
        totals(e.scratch(rows)) {}

  void lower() {
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
      setTask(task);
      lowerTask();
    });
  }

private:
  void lowerTask() {
    clearSums();
    forSeenKeyBlocks(
        [&](Value key, Value count) { lowerKeyBlock(key, count); });
    e.loop(firstQuery, endQuery, 1, [&](Value query) { storeRow(query); });
  }

  void lowerKeyBlock(Value key, Value count) {
    packKeys(k, operand(core.k).rowStride, kvColumn, key, keys);
    forQueryBlocks([&](const Values &queries, bool whole) {
      multiplyKeys(
          q, operand(core.q).rowStride,
          [&](Value query) { return queryStart(query); }, keys, queries, whole,
          scores);
    });
    softmax(key, count);
    auto addAll = [&] {
      forQueryBlocks([&](const Values &queries, bool whole) {
        addProducts(
            queries, whole, [&](Value query) { return local(query, 1); },
            scores, keyBlock, v, valueStart(key), operand(core.v).rowStride,
            count, sums);
      });
    };
    if (!masksKeys())
      return addAll();
    e.when(valuesAreFinite(key, count), addAll, [&] {
      e.loop(firstQuery, endQuery, 1,
             [&](Value query) { addSeenValues(query, key, count); });
    });
  }

  void clearSums() {
    e.loop(e.integer(0), e.integer(rows), 1, [&](Value row) {
      e.store(e.real(kNoScore), maxima, row);
      e.store(e.real(0), totals, row);
      Value start = e.mul(row, paddedHead);
      e.loop(e.integer(0), e.integer(paddedHead), kLanes, [&](Value column) {
        e.store(e.splat(0), sums, e.add(start, column));
      });
    });
  }

  void softmax(Value key, Value count) {
    auto rows = [&](bool masked) {
      e.loop(firstQuery, endQuery, 1,
             [&](Value query) { softmaxRow(query, key, count, masked); });
    };
    if (masksKeys())
      return rows(true);
    if (!splits && core.keys % keyBlock == 0)
      return rows(false);
    e.when(
        e.lessEqual(e.integer(keyBlock), count), [&] { rows(false); },
        [&] { rows(true); });
  }

  /// Scores of a row become weights; its sums so far are rescaled.
  void softmaxRow(Value query, Value key, Value count, bool masked) {
    int64_t lanes = e.level().microLanes;
    mlir::VectorType type = e.vectorType(e.f32(), lanes);
    Value row = e.sub(query, firstQuery);
    Value start = e.mul(row, keyBlock);
    auto scoresAt = [&](Value offset) {
      return e.fmul(e.load(scores, e.add(start, offset), type),
                    e.splat(core.scale, lanes));
    };
    auto hide = [&](Value values, Value offset, double hidden) {
      return masked ? e.select(visible(query, key, offset, count), values,
                               e.splat(hidden, lanes))
                    : values;
    };
    Value before = e.loadScalar(maxima, row, e.f32());
    Values largest =
        e.loop(e.integer(0), e.integer(keyBlock), lanes, {e.splat(kNoScore)},
               [&](Value offset, Values carried) {
                 Value score = hide(scoresAt(offset), offset, kNoScore);
                 for (Value part : e.split(score))
                   carried[0] = e.fmax(carried[0], part);
                 return carried;
               });
    Value maximum = e.fmax(before, e.maxLanes(largest[0]));
    e.store(maximum, maxima, row);
    Value shift = e.broadcast(maximum, lanes);
    Value rescale =
        emitExp(e, e.fsub(e.broadcast(before), e.broadcast(maximum)));

    Values total = e.loop(e.integer(0), e.integer(keyBlock), lanes,
                          {e.splat(0)}, [&](Value offset, Values carried) {
                            Value weight =
                                emitExp(e, e.fsub(scoresAt(offset), shift));
                            weight = hide(weight, offset, 0);
                            e.store(weight, scores, e.add(start, offset));
                            for (Value part : e.split(weight))
                              carried[0] = e.fadd(carried[0], part);
                            return carried;
                          });
    Value one = e.firstLane(rescale);
    Value old = e.loadScalar(totals, row, e.f32());
    e.store(e.fadd(e.fmul(old, one), e.sumLanes(total[0])), totals, row);
    Value sumStart = e.mul(row, paddedHead);
    Value factor = e.broadcast(one, lanes);
    e.loop(e.integer(0), e.integer(paddedHead), lanes, [&](Value column) {
      Value index = e.add(sumStart, column);
      e.store(e.fmul(e.load(sums, index, type), factor), sums, index);
    });
  }

  Value valueStart(Value key) {
    return e.add(e.mul(key, operand(core.v).rowStride), kvColumn);
  }

  /// Zero times each value, summed, is zero. One sum a group of columns, so
  /// that additions need not wait for each other.
  Value valuesAreFinite(Value key, Value count) {
    Values groups((core.headSize + kLanes - 1) / kLanes, e.splat(0));
    groups =
        e.loop(e.integer(0), count, 1, groups, [&](Value i, Values carried) {
          Value start = valueStart(e.add(key, i));
          for (auto [g, sum] : llvm::enumerate(carried)) {
            int64_t column = int64_t(g) * kLanes, left = core.headSize - column;
            Value mask = left < kLanes ? e.laneMask(left) : Value();
            Value values =
                e.loadMasked(v, e.add(start, column), mask, e.vectorF32());
            sum = e.fma(values, e.splat(0), sum);
          }
          return carried;
        });
    Value total = groups[0];
    for (Value sum : llvm::drop_begin(groups))
      total = e.fadd(total, sum);
    return e.builder.create<mlir::arith::CmpFOp>(
        e.where, mlir::arith::CmpFPredicate::OEQ, e.sumLanes(total), e.real(0));
  }

  /// As addValues for one query, but what it does not see is left out.
  void addSeenValues(Value query, Value key, Value count) {
    e.loop(e.integer(0), count, 1, [&](Value i) {
      Value weight =
          e.loadScalar(scores, e.add(local(query, keyBlock), i), e.f32());
      Value seen = e.builder.create<mlir::arith::CmpFOp>(
          e.where, mlir::arith::CmpFPredicate::UNE, weight, e.real(0));
      e.when(seen, [&] {
        Value start = valueStart(e.add(key, i));
        e.forColumns(core.headSize, [&](Value column, Value mask) {
          Value index = e.add(local(query, paddedHead), column);
          Value values =
              e.loadMasked(v, e.add(start, column), mask, e.vectorF32());
          e.store(e.fma(e.broadcast(weight), values, e.load(sums, index)), sums,
                  index);
        });
      });
    });
  }

  /// sums / total, or zero for a query that saw nothing.
  void storeRow(Value query) {
    Value row = e.sub(query, firstQuery);
    Value total = e.loadScalar(totals, row, e.f32());
    Value nothing = e.builder.create<mlir::arith::CmpFOp>(
        e.where, mlir::arith::CmpFPredicate::OEQ, total, e.real(0));
    Value factor =
        e.broadcast(e.select(nothing, e.real(0), e.fdiv(e.real(1.0), total)));
    Value resultRow = e.add(e.mul(batch, core.queries), query);
    Value start = e.mul(row, paddedHead);
    e.forColumns(core.headSize, [&](Value column, Value mask) {
      Value value = e.fmul(e.load(sums, e.add(start, column)), factor);
      epilogue.finish(value, resultRow, e.add(qColumn, column), mask);
    });
  }

  Epilogue epilogue;
  Value q, k, v, scores, keys, sums, maxima, totals;
};

} // namespace

void lowerAttention(Emitter &e, const AttentionCore &core) {
  AttentionLowering(e, core).lower();
}

} // namespace betz::cpu
