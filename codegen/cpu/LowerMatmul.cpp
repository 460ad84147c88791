//===- LowerMatmul.cpp - Rows times prepacked panels ----------------------===//
//
// A task is a block of rows times a block of columns. Within it, for each
// panel of 16 columns (which stays in the first-level cache), register blocks
// of a few rows add products one k after another. Rows past the end repeat the
// last row and are not stored, so that every row is computed by the same
// instructions wherever it stands.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LowerKernel.h"

namespace betz::cpu {

Values emitMicroBlock(Emitter &e, const MicroBlock &block, Value depth,
                      Values initial) {
  int64_t lanes = e.level().microLanes;
  mlir::VectorType type = e.vectorType(e.f32(), lanes);
  return e.loop(e.integer(0), depth, 1, initial, [&](Value k, Values sums) {
    Value row = e.add(block.bBase, e.mul(k, block.bStride));
    Values b;
    for (auto [group, mask] : llvm::enumerate(block.bMasks))
      b.push_back(e.loadMasked(block.b, e.add(row, int64_t(group) * lanes),
                               mask, type));
    Values next;
    for (auto [i, first] : llvm::enumerate(block.aRows)) {
      Value a =
          e.broadcast(e.loadScalar(block.a, e.add(first, k), e.f32()), lanes);
      for (auto [j, column] : llvm::enumerate(b))
        next.push_back(e.fma(a, column, sums[i * b.size() + j]));
    }
    return next;
  });
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

  void lower() {
    int64_t columnTiles = (core.columns + tile.columns - 1) / tile.columns;
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
      Value firstRow = e.mul(e.divide(task, columnTiles), tile.rows);
      Value lastRow = e.minimum(e.add(firstRow, tile.rows), rows);
      Value firstColumn = e.mul(e.remainder(task, columnTiles), tile.columns);
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
    Value end = e.sub(lastRow, e.integer(1));
    e.loop(firstColumn, lastColumn, kMicroColumns, [&](Value column) {
      e.loop(firstRow, lastRow, e.level().microRows, [&](Value row) {
        Values blockRows;
        for (int64_t i = 0; i < e.level().microRows; ++i)
          blockRows.push_back(e.add(row, i));
        lowerBlock(blockRows, firstRow, end, column);
      });
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
      return e.broadcast(e.loadScalar(scales, e.sub(row, firstRow), e.f32()));
    };
  }

  void lowerBlock(const Values &blockRows, Value firstRow, Value end,
                  Value column) {
    MicroBlock block;
    block.a = x;
    for (Value row : blockRows)
      block.aRows.push_back(rowStart(e.minimum(row, end), firstRow));
    block.b = weight;
    block.bBase = e.mul(e.divide(column, core.panel), core.depth * core.panel);
    block.bStride = core.panel;
    int64_t lanes = e.level().microLanes;
    block.bMasks.assign(kMicroColumns / lanes, Value());
    Values sums(blockRows.size() * block.bMasks.size(), e.splat(0, lanes));
    sums = emitMicroBlock(e, block, e.integer(core.depth), sums);
    for (auto [i, row] : llvm::enumerate(blockRows))
      e.when(e.lessEqual(row, end), [&, i = i, row = row] {
        Values rowSums;
        for (size_t j = 0; j < block.bMasks.size(); ++j)
          rowSums.append(e.split(sums[i * block.bMasks.size() + j]));
        storeRow(rowSums, row, column);
      });
  }

  /// Whole groups of columns are stored as they are; the last panel may end
  /// inside one.
  void storeRow(const Values &sums, Value row, Value column) {
    int64_t tail = core.columns % kMicroColumns;
    auto whole = [&] {
      for (auto [j, sum] : llvm::enumerate(sums))
        epilogue.finish(sum, row, e.add(column, int64_t(j) * kLanes), {});
    };
    auto partial = [&] {
      for (auto [j, sum] : llvm::enumerate(sums)) {
        int64_t left = tail - int64_t(j) * kLanes;
        if (left > 0)
          epilogue.finish(sum, row, e.add(column, int64_t(j) * kLanes),
                          left < kLanes ? e.laneMask(left) : Value());
      }
    };
    if (tail == 0)
      return whole();
    Value last = e.integer(core.columns - tail);
    e.when(e.less(column, last), whole, partial);
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
