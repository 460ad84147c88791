//===- LowerMatmul.cpp - Rows times prepacked panels ----------------------===//
//
// A task is a block of rows times a block of columns. Within it, for each
// panel of 16 columns, or a few side by side, register blocks of a few rows add
// products one k after another. The rows and the panels that are left over take
// smaller blocks; rows past the end repeat the last row and are not stored.
// Whatever the block, each sum takes the same products in the same order.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LowerKernel.h"

namespace betz::cpu {

Values emitMicroBlock(Emitter &e, const MicroBlock &block, Value depth,
                      Values initial) {
  int64_t lanes = e.level().microLanes;
  mlir::VectorType type = e.vectorType(e.f32(), lanes);
  return e.loop(e.integer(0), depth, 1, initial, [&](Value k, Values sums) {
    Value row = e.mul(k, block.bStride);
    Values b;
    for (const MicroColumns &vector : block.columns)
      b.push_back(
          e.loadMasked(block.b, e.add(vector.start, row), vector.mask, type));
    if (block.prefetch)
      e.prefetch(block.b,
                 e.add(block.prefetch, e.mul(k, block.prefetchStride)));
    Values next;
    for (auto [i, row] : llvm::enumerate(block.rows)) {
      Value at = e.at(block.a, e.add(row.start, k), e.f32());
      Value a =
          e.broadcast(e.loadScalar(at, e.integer(row.offset), e.f32()), lanes);
      for (auto [j, column] : llvm::enumerate(b))
        next.push_back(e.fma(a, column, sums[i * b.size() + j]));
      e.fenceLoads();
    }
    return next;
  });
}

llvm::SmallVector<MicroRow> microRows(const Values &rows, bool whole,
                                      int64_t stride,
                                      llvm::function_ref<Value(Value)> start) {
  llvm::SmallVector<MicroRow> result;
  if (!whole) {
    for (Value row : rows)
      result.push_back({start(row)});
    return result;
  }
  Value first = start(rows[0]);
  for (int64_t i = 0; i < int64_t(rows.size()); ++i)
    result.push_back({first, i * stride});
  return result;
}

llvm::SmallVector<MicroColumns> panelColumns(Emitter &e, Value start,
                                             int64_t count, int64_t depth) {
  llvm::SmallVector<MicroColumns> result;
  for (int64_t at = 0; at < count; at += e.level().microLanes)
    result.push_back({e.add(start, at / kMicroColumns * kMicroColumns * depth +
                                       at % kMicroColumns),
                      Value()});
  return result;
}

void forRowBlocks(Emitter &e, Value first, Value end,
                  llvm::function_ref<void(const Values &, bool whole)> body) {
  auto rowsFrom = [&](Value row, int64_t count) {
    Values rows;
    for (int64_t i = 0; i < count; ++i)
      rows.push_back(e.add(row, i));
    return rows;
  };
  int64_t micro = e.level().microRows, tail = e.level().tailRows;
  Value whole = e.mul(e.divide(e.sub(end, first), micro), micro);
  Value wholeEnd = e.add(first, whole);
  e.loop(first, wholeEnd, micro,
         [&](Value row) { body(rowsFrom(row, micro), true); });
  e.loop(wholeEnd, end, tail,
         [&](Value row) { body(rowsFrom(row, tail), false); });
}

void forColumnBlocks(Emitter &e, int64_t columns,
                     llvm::function_ref<void(Value, int64_t)> body) {
  int64_t width = blockColumns(e.level());
  int64_t whole = columns / width * width;
  e.loop(e.integer(0), e.integer(whole), width,
         [&](Value column) { body(column, width); });
  if (whole < columns)
    body(e.integer(whole), columns - whole);
}

namespace {

class MatmulLowering {
public:
  MatmulLowering(Emitter &e, const MatmulCore &core)
      : e(e), core(core), tile(e.spec().tile), epilogue(e),
        rows(e.evaluate(e.spec().result().rows)), x(e.pointer(core.x)),
        weight(e.pointer(core.weight)),
        xStride(e.spec().operands[size_t(core.x)].rowStride) {
    if (e.spec().prologue) {
      norm.emplace(e, *e.spec().prologue, core.x, core.depth);
      x = e.scratch(tile.rows * core.depth);
      xStride = core.depth;
    }
    if (e.spec().rowScale)
      scales = e.scratch(tile.rows);
  }

  /// Row tiles first: a run of tasks keeps its columns of the weight in the
  /// second-level cache while the rows pass by.
  void lower() {
    Value rowTiles = e.divide(e.add(rows, tile.rows - 1), tile.rows);
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
      Value firstRow = e.mul(e.remainder(task, rowTiles), tile.rows);
      Value lastRow = e.minimum(e.add(firstRow, tile.rows), rows);
      Value firstColumn = e.mul(e.divide(task, rowTiles), tile.columns);
      Value lastColumn =
          e.minimum(e.add(firstColumn, tile.columns), e.integer(core.columns));
      lowerTask(firstRow, lastRow, firstColumn, lastColumn);
    });
  }

private:
  /// Where row `row` of the left matrix starts: in memory, or in the scratch
  /// that holds the task's normalised rows.
  Value rowStart(Value row, Value firstRow) {
    return e.mul(norm ? e.sub(row, firstRow) : row, xStride);
  }

  void lowerTask(Value firstRow, Value lastRow, Value firstColumn,
                 Value lastColumn) {
    if (norm)
      normaliseRows(firstRow, lastRow);
    if (scales)
      measureRows(firstRow, lastRow);
    int64_t width = blockColumns(e.level());
    int64_t whole = core.columns / width * width;
    e.loop(
        firstColumn, e.minimum(lastColumn, e.integer(whole)), width,
        [&](Value column) { lowerColumns(firstRow, lastRow, column, width); });
    if (whole < core.columns)
      e.when(e.less(e.integer(whole), lastColumn), [&] {
        lowerColumns(firstRow, lastRow, e.integer(whole), core.columns - whole);
      });
  }

  void lowerColumns(Value firstRow, Value lastRow, Value column,
                    int64_t count) {
    Value end = e.sub(lastRow, e.integer(1));
    forRowBlocks(e, firstRow, lastRow, [&](const Values &block, bool whole) {
      lowerBlock(block, firstRow, whole ? Value() : end, column, count);
    });
  }

  void normaliseRows(Value firstRow, Value lastRow) {
    e.loop(firstRow, lastRow, 1, [&](Value row) {
      RowStatistics::Moments moments = norm->measure(row);
      Value start = rowStart(row, firstRow);
      e.forColumns(core.depth, [&](Value column, Value mask) {
        e.storeMasked(norm->normalise(moments, row, column, mask), x,
                      e.add(start, column), mask);
      });
    });
  }

  void measureRows(Value firstRow, Value lastRow) {
    RowStatistics statistics(e, *e.spec().rowScale, x, xStride, core.depth);
    e.loop(firstRow, lastRow, 1, [&](Value row) {
      e.store(statistics.measure(row).scale, scales, e.sub(row, firstRow));
    });
    epilogue.ownScale = [this, firstRow](Value row) {
      return e.loadScalar(scales, e.sub(row, firstRow), e.f32());
    };
  }

  /// `end` is the last row, or null where no row of the block lies past it.
  void lowerBlock(const Values &blockRows, Value firstRow, Value end,
                  Value column, int64_t count) {
    MicroBlock block;
    block.a = x;
    block.rows = microRows(blockRows, !end, xStride, [&](Value row) {
      return rowStart(end ? e.minimum(row, end) : row, firstRow);
    });
    block.b = weight;
    block.bStride = core.panel;
    Value panel = e.mul(column, core.depth);
    block.columns = panelColumns(e, panel, count, core.depth);
    size_t width = block.columns.size();
    if (!end)
      prefetchNext(block, e.sub(blockRows[0], firstRow), panel, count);
    Values sums(blockRows.size() * width, e.splat(0, e.level().microLanes));
    sums = emitMicroBlock(e, block, e.integer(core.depth), sums);
    for (auto [i, row] : llvm::enumerate(blockRows)) {
      auto store = [&, i = i, row = row] {
        storeRow(llvm::ArrayRef(sums).slice(i * width, width), row, column,
                 count);
      };
      if (end)
        e.when(e.lessEqual(row, end), store);
      else
        store();
    }
  }

  /// While the task's blocks of rows pass over some panels, each fetches its
  /// share of the next ones: they come from the last-level cache, which one
  /// block would wait for. Fetching past the end does no harm.
  void prefetchNext(MicroBlock &block, Value localRow, Value panel,
                    int64_t count) {
    int64_t micro = e.level().microRows;
    int64_t share = std::max<int64_t>(1, count * micro / tile.rows);
    Value fetched = e.mul(e.divide(localRow, micro), share * core.depth);
    block.prefetch = e.add(e.add(panel, count * core.depth), fetched);
    block.prefetchStride = share;
  }

  void storeRow(llvm::ArrayRef<Value> sums, Value row, Value column,
                int64_t count) {
    int64_t lanes = e.level().microLanes;
    for (auto [j, sum] : llvm::enumerate(sums)) {
      int64_t at = int64_t(j) * lanes, left = count - at;
      epilogue.finish(sum, row, e.add(column, at),
                      left < lanes ? e.laneMask(left, lanes) : Value());
    }
  }

  Emitter &e;
  const MatmulCore &core;
  const TileConfig &tile;
  Epilogue epilogue;
  std::optional<RowNorm> norm;
  Value rows, x, weight, scales;
  int64_t xStride;
};

} // namespace

void lowerMatmul(Emitter &e, const MatmulCore &core) {
  MatmulLowering(e, core).lower();
}

} // namespace betz::cpu
