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
#include "codegen/cpu/LowerKernel.h"
#include "codegen/cpu/VectorMath.h"

#include <limits>

namespace betz::cpu {

namespace {

/// Below every other score; finite, so that differences of it are no NaN.
constexpr double kNoScore = std::numeric_limits<float>::lowest();

class AttentionLowering {
public:
  AttentionLowering(Emitter &e, const AttentionCore &core)
      : e(e), core(core), rows(e.spec().tile.rows),
        keyBlock(e.spec().plan.keyBlock),
        paddedHead(paddedToPanels(core.headSize)), epilogue(e),
        q(e.pointer(core.q)), k(e.pointer(core.k)), v(e.pointer(core.v)),
        scores(e.scratch(rows * keyBlock)),
        keys(e.scratch(keyBlock * paddedHead)),
        sums(e.scratch(rows * paddedHead)), maxima(e.scratch(rows)),
        totals(e.scratch(rows)) {
    if (core.rowSplits >= 0)
      splits = e.pointer(core.rowSplits);
    if (core.keyTime >= 0) {
      keyTime = e.pointer(core.keyTime);
      bounds = e.pointer(core.bounds);
    }
    if (core.blockMap >= 0)
      blockMap = e.pointer(core.blockMap);
  }

  void lower() {
    int64_t blocks = (core.queries + rows - 1) / rows;
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
      Value block = e.remainder(task, blocks);
      Value rest = e.divide(task, blocks);
      head = e.remainder(rest, core.heads);
      batch = e.divide(rest, core.heads);
      firstQuery = e.mul(block, rows);
      endQuery = e.minimum(e.add(firstQuery, rows), e.integer(core.queries));
      lowerTask();
    });
  }

private:
  const OperandSpec &operand(int32_t index) {
    return e.spec().operands[size_t(index)];
  }

  void lowerTask() {
    setKeyRange();
    clearSums();
    if (skips(SparsityRule::TimeBounds))
      setTimeRange();
    e.loop(firstKey, endKey, keyBlock, [&](Value key) {
      Value count = e.minimum(e.sub(endKey, key), e.integer(keyBlock));
      Value seen = blockIsSeen(key, count);
      if (!seen)
        return lowerKeyBlock(key, count);
      e.when(seen, [&] { lowerKeyBlock(key, count); });
    });
    e.loop(firstQuery, endQuery, 1, [&](Value query) { storeRow(query); });
  }

  void lowerKeyBlock(Value key, Value count) {
    packKeys(key);
    forQueryBlocks(
        [&](const Values &queries, bool whole) { scoreBlock(queries, whole); });
    softmax(key, count);
    auto addAll = [&] {
      forQueryBlocks([&](const Values &queries, bool whole) {
        addValues(queries, whole, key, count);
      });
    };
    if (!masksKeys())
      return addAll();
    e.when(valuesAreFinite(key, count), addAll, [&] {
      e.loop(firstQuery, endQuery, 1,
             [&](Value query) { addSeenValues(query, key, count); });
    });
  }

  /// Whether a query may not see each key of its batch element.
  bool masksKeys() const { return keyTime || core.causal || blockMap; }

  /// Whether blocks are skipped by `rule`; a later rule includes it.
  bool skips(SparsityRule rule) const {
    bool applies = rule == SparsityRule::TimeBounds ? core.keyTime >= 0
                   : rule == SparsityRule::Causal   ? core.causal
                                                    : core.blockMap >= 0;
    return applies && core.sparsity >= rule;
  }

  /// The earliest and latest time that any query of the task sees.
  void setTimeRange() {
    Values range{e.integer(std::numeric_limits<int32_t>::max()),
                 e.integer(std::numeric_limits<int32_t>::min())};
    range = e.loop(
        firstQuery, endQuery, 1, range, [&](Value query, Values carried) {
          Value at = e.mul(query, 2);
          return Values{e.minimum(carried[0], e.loadI32(bounds, at)),
                        e.maximum(carried[1], e.loadI32(bounds, e.add(at, 1)))};
        });
    earliest = range[0];
    latest = range[1];
  }

  /// False for a block that no query of the task sees; null where no rule
  /// skips blocks.
  Value blockIsSeen(Value key, Value count) {
    Value seen;
    auto require = [&](Value condition) {
      seen = seen ? e.bitAnd(seen, condition) : condition;
    };
    if (skips(SparsityRule::TimeBounds)) {
      Values range{e.integer(std::numeric_limits<int32_t>::max()),
                   e.integer(std::numeric_limits<int32_t>::min())};
      range =
          e.loop(e.integer(0), count, 1, range, [&](Value i, Values carried) {
            Value time = e.loadI32(keyTime, e.add(key, i));
            return Values{e.minimum(carried[0], time),
                          e.maximum(carried[1], time)};
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
  Value mapEntry(Value query, Value index) {
    Value column = e.divide(index, core.mapBlock);
    Value inside = e.minimum(column, e.integer(core.mapColumns - 1));
    Value row = e.divide(query, core.mapBlock);
    Value entry =
        e.loadI32(blockMap, e.add(e.mul(row, core.mapColumns), inside));
    Value isSet =
        e.bitAnd(compare(mlir::arith::CmpIPredicate::ne, entry, e.integer(0)),
                 e.less(column, e.integer(core.mapColumns)));
    return e.select(isSet, e.integer(1), e.integer(0));
  }

  void setKeyRange() {
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

  /// Register blocks of queries; ones past the end repeat the last.
  void forQueryBlocks(llvm::function_ref<void(const Values &, bool)> body) {
    Value last = e.sub(endQuery, e.integer(1));
    forRowBlocks(e, firstQuery, endQuery, [&](Values queries, bool whole) {
      if (!whole)
        for (Value &query : queries)
          query = e.minimum(query, last);
      body(queries, whole);
    });
  }

  /// Register blocks over the columns [0, columns): whole ones, then what is
  /// left.
  void forColumnBlocks(int64_t columns,
                       llvm::function_ref<void(Value, int64_t)> body) {
    int64_t width = blockColumns(e.level());
    int64_t whole = columns / width * width;
    e.loop(e.integer(0), e.integer(whole), width,
           [&](Value column) { body(column, width); });
    if (whole < columns)
      body(e.integer(whole), columns - whole);
  }

  /// keys[p][c][j] = k[key + 16 p + j][c]: the panels that the register block
  /// wants. Rows past the last key repeat it; their scores are masked.
  void packKeys(Value key) {
    Value last = e.sub(endKey, e.integer(1));
    int64_t stride = operand(core.k).rowStride;
    e.loop(e.integer(0), e.integer(keyBlock), kLanes, [&](Value group) {
      Values starts;
      for (int64_t i = 0; i < kLanes; ++i) {
        Value row = e.minimum(e.add(e.add(key, group), i), last);
        starts.push_back(e.add(e.mul(row, stride), kvColumn));
      }
      Value panel =
          e.mul(e.divide(group, kMicroColumns), paddedHead * kMicroColumns);
      Value lane = e.remainder(group, kMicroColumns);
      e.forColumns(core.headSize, [&](Value column, Value mask) {
        Values block;
        for (Value start : starts)
          block.push_back(
              e.loadMasked(k, e.add(start, column), mask, e.vectorF32()));
        transpose(block);
        for (auto [i, vector] : llvm::enumerate(block)) {
          Value row = e.mul(e.add(column, int64_t(i)), kMicroColumns);
          e.store(vector, keys, e.add(e.add(panel, row), lane));
        }
      });
    });
  }

  /// Eight vectors of eight, exchanged across halves, quarters, neighbours.
  void transpose(Values &block) {
    for (int64_t half = kLanes / 2; half > 0; half /= 2)
      for (int64_t i = 0; i < kLanes; ++i) {
        if (i & half)
          continue;
        Value a = block[size_t(i)], b = block[size_t(i | half)];
        llvm::SmallVector<int32_t> low, high;
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          bool upper = lane & half;
          low.push_back(int32_t(upper ? kLanes + (lane ^ half) : lane));
          high.push_back(int32_t(upper ? kLanes + lane : lane | half));
        }
        block[size_t(i)] = shuffle(a, b, low);
        block[size_t(i | half)] = shuffle(a, b, high);
      }
  }
  Value shuffle(Value a, Value b, llvm::ArrayRef<int32_t> lanes) {
    return e.builder.create<mlir::LLVM::ShuffleVectorOp>(e.where, a, b, lanes);
  }

  Value queryStart(Value query) {
    Value row =
        core.sharedQuery ? query : e.add(e.mul(batch, core.queries), query);
    return e.add(e.mul(row, operand(core.q).rowStride), qColumn);
  }
  Value local(Value query, int64_t stride) {
    return e.mul(e.sub(query, firstQuery), stride);
  }

  void scoreBlock(const Values &queries, bool whole) {
    int64_t lanes = e.level().microLanes;
    MicroBlock block;
    block.a = q;
    block.rows = microRows(queries, whole, operand(core.q).rowStride,
                           [&](Value query) { return queryStart(query); });
    block.b = keys;
    block.bStride = kMicroColumns;
    forColumnBlocks(keyBlock, [&](Value key, int64_t count) {
      block.columns =
          panelColumns(e, e.mul(key, paddedHead), count, paddedHead);
      Values products(queries.size() * block.columns.size(), e.splat(0, lanes));
      products = emitMicroBlock(e, block, e.integer(core.headSize), products);
      size_t next = 0;
      for (Value query : queries) {
        Value start = e.add(local(query, keyBlock), key);
        for (int64_t at = 0; at < count; at += lanes)
          e.store(products[next++], scores, e.add(start, at));
      }
    });
  }

  /// Which keys, a lane each, from `offset` into the block at `key` on the
  /// query sees.
  Value visible(Value query, Value key, Value offset, Value count) {
    int64_t width = e.level().microLanes;
    mlir::VectorType type = e.vectorType(e.builder.getI32Type(), width);
    llvm::SmallVector<int32_t> numbers;
    for (int64_t i = 0; i < width; ++i)
      numbers.push_back(int32_t(i));
    Value lanes = e.builder.create<mlir::arith::ConstantOp>(
        e.where, mlir::DenseElementsAttr::get(type, llvm::ArrayRef(numbers)));
    auto splat = [&](Value i64) { return e.broadcastInteger(i64, width); };
    Value inside = compare(mlir::arith::CmpIPredicate::slt, lanes,
                           splat(e.sub(count, offset)));
    if (keyTime) {
      Value time = e.loadMasked(keyTime, e.add(key, offset), inside, type);
      Value bound = e.mul(query, 2);
      Value low = splat(e.loadI32(bounds, bound));
      Value high = splat(e.loadI32(bounds, e.add(bound, 1)));
      inside =
          e.bitAnd(inside, compare(mlir::arith::CmpIPredicate::sge, time, low));
      inside = e.bitAnd(inside,
                        compare(mlir::arith::CmpIPredicate::sle, time, high));
    }
    if (core.causal) {
      // Key j of N is seen by query i of L if j <= i + N - L.
      Value index = e.add(e.sub(key, firstKey), offset);
      Value limit = e.sub(e.add(query, core.keys - core.queries), index);
      inside = e.bitAnd(inside, compare(mlir::arith::CmpIPredicate::sle, lanes,
                                        splat(limit)));
    }
    if (blockMap) {
      Value entry = mapEntry(query, e.sub(key, firstKey));
      inside =
          e.bitAnd(inside, compare(mlir::arith::CmpIPredicate::ne, splat(entry),
                                   e.splatInteger(0, width)));
    }
    return inside;
  }
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, Value b) {
    return e.builder.create<mlir::arith::CmpIOp>(e.where, predicate, a, b);
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
    Value one = firstLane(rescale);
    Value old = e.loadScalar(totals, row, e.f32());
    e.store(e.fadd(e.fmul(old, one), e.sumLanes(total[0])), totals, row);
    Value sumStart = e.mul(row, paddedHead);
    Value factor = e.broadcast(one, lanes);
    e.loop(e.integer(0), e.integer(paddedHead), lanes, [&](Value column) {
      Value index = e.add(sumStart, column);
      e.store(e.fmul(e.load(sums, index, type), factor), sums, index);
    });
  }
  Value firstLane(Value vector) {
    Value zero = e.builder.create<mlir::LLVM::ConstantOp>(
        e.where, e.builder.getI32Type(), e.builder.getI32IntegerAttr(0));
    return e.builder.create<mlir::LLVM::ExtractElementOp>(e.where, vector,
                                                          zero);
  }

  void addValues(const Values &queries, bool whole, Value key, Value count) {
    int64_t lanes = e.level().microLanes;
    mlir::VectorType type = e.vectorType(e.f32(), lanes);
    MicroBlock block;
    block.a = scores;
    block.rows = microRows(queries, whole, keyBlock,
                           [&](Value query) { return local(query, keyBlock); });
    block.b = v;
    block.bStride = operand(core.v).rowStride;
    forColumnBlocks(core.headSize, [&](Value column, int64_t columns) {
      block.columns.clear();
      for (int64_t at = 0; at < columns; at += lanes) {
        int64_t left = columns - at;
        block.columns.push_back(
            {e.add(e.add(valueStart(key), column), at),
             left < lanes ? e.laneMask(left, lanes) : Value()});
      }
      auto index = [&](Value query, size_t vector) {
        return e.add(e.add(local(query, paddedHead), column),
                     int64_t(vector) * lanes);
      };
      Values accumulated;
      for (Value query : queries)
        for (size_t j = 0; j < block.columns.size(); ++j)
          accumulated.push_back(e.load(sums, index(query, j), type));
      accumulated = emitMicroBlock(e, block, count, accumulated);
      size_t next = 0;
      for (Value query : queries)
        for (size_t j = 0; j < block.columns.size(); ++j)
          e.store(accumulated[next++], sums, index(query, j));
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

  Emitter &e;
  const AttentionCore &core;
  int64_t rows, keyBlock, paddedHead;
  Epilogue epilogue;
  Value q, k, v, scores, keys, sums, maxima, totals;
  Value splits, keyTime, bounds, blockMap;
  // Of the current task.
  Value head, batch, firstQuery, endQuery, firstKey, endKey, kvColumn, qColumn;
  Value earliest, latest;
};

} // namespace

void lowerAttention(Emitter &e, const AttentionCore &core) {
  AttentionLowering(e, core).lower();
}

} // namespace betz::cpu
