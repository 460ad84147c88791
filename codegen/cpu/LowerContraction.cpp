//===- LowerContraction.cpp - Sums over rows of outer products ------------===//
//
// A task is a tile of the result. Rows are taken a chunk at a time: the chunk's
// part of the left matrix is transposed and that of the right one laid out in
// panels, so that the register block of matmul multiplies them; its sums are
// added to the tile's, chunk after chunk.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/LowerKernel.h"

namespace betz::cpu {

namespace {

class ContractionLowering {
public:
  ContractionLowering(Emitter &e, const ContractRowsCore &core)
      : e(e), tile(e.spec().tile), chunk(e.spec().plan.rowChunk), epilogue(e),
        left(e.pointer(core.a)), right(e.pointer(core.b)),
        leftStride(e.spec().operands[size_t(core.a)].rowStride),
        rightStride(e.spec().operands[size_t(core.b)].rowStride),
        rows(e.evaluate(e.spec().operands[size_t(core.a)].rows)),
        turned(e.scratch(tile.rows * chunk)),
        panels(e.scratch(tile.columns * chunk)),
        sums(e.scratch(tile.rows * tile.columns)) {}

  void lower() {
    const OperandSpec &result = e.spec().result();
    int64_t across = (result.columns + tile.columns - 1) / tile.columns;
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
      firstRow = e.mul(e.divide(task, across), tile.rows);
      endRow = e.minimum(e.add(firstRow, tile.rows), e.evaluate(result.rows));
      firstColumn = e.mul(e.remainder(task, across), tile.columns);
      endColumn = e.minimum(e.add(firstColumn, tile.columns),
                            e.integer(result.columns));
      lowerTile();
    });
  }

private:
  void lowerTile() {
    e.loop(e.integer(0), e.integer(tile.rows * tile.columns), kLanes,
           [&](Value at) { e.store(e.splat(0), sums, at); });
    e.loop(e.integer(0), rows, chunk, [&](Value row) {
      Value count = e.minimum(e.sub(rows, row), e.integer(chunk));
      packLeft(row);
      packRight(row, count);
      multiply(count);
    });
    e.loop(firstRow, endRow, 1, [&](Value row) {
      Value start = e.mul(e.sub(row, firstRow), tile.columns);
      e.forColumns(firstColumn, endColumn, [&](Value column, Value mask) {
        Value at = e.add(start, e.sub(column, firstColumn));
        epilogue.finish(e.load(sums, at), row, column, mask);
      });
    });
  }

  /// turned[n][r]; rows past the end repeat the last and are not multiplied.
  void packLeft(Value row) {
    Value last = e.sub(rows, e.integer(1));
    transposeRows(
        e, left,
        [&](Value r) {
          return e.mul(e.minimum(e.add(row, r), last), leftStride);
        },
        chunk, firstRow, endRow, turned,
        [&](Value r, Value n) {
          return e.add(e.mul(e.sub(n, firstRow), chunk), r);
        });
  }

  /// Columns past the end are multiplied but not stored.
  void packRight(Value row, Value count) {
    e.loop(e.integer(0), count, 1, [&](Value r) {
      Value start = e.mul(e.add(row, r), rightStride);
      e.forColumns(firstColumn, endColumn, [&](Value column, Value mask) {
        Value k = e.sub(column, firstColumn);
        Value panel = e.mul(e.divide(k, kMicroColumns), kMicroColumns * chunk);
        Value at =
            e.add(e.mul(r, kMicroColumns), e.remainder(k, kMicroColumns));
        e.store(e.loadMasked(right, e.add(start, column), mask, e.vectorF32()),
                panels, e.add(panel, at));
      });
    });
  }

  void multiply(Value count) {
    int64_t lanes = e.level().microLanes, width = blockColumns(e.level());
    mlir::VectorType type = e.vectorType(e.f32(), lanes);
    Value wanted = e.sub(endColumn, firstColumn);
    Value last = e.sub(e.sub(endRow, firstRow), e.integer(1));
    e.loop(e.integer(0), wanted, width, [&](Value column) {
      forRowBlocks(e, e.integer(0), e.sub(endRow, firstRow),
                   [&](Values block, bool whole) {
                     if (!whole)
                       for (Value &row : block)
                         row = e.minimum(row, last);
                     MicroBlock product;
                     product.a = turned;
                     product.rows =
                         microRows(block, whole, chunk, [&](Value row) {
                           return e.mul(row, chunk);
                         });
                     product.b = panels;
                     product.bStride = kMicroColumns;
                     product.columns =
                         panelColumns(e, e.mul(column, chunk), width, chunk);
                     Values zeros(block.size() * product.columns.size(),
                                  e.splat(0, lanes));
                     Values partial = emitMicroBlock(e, product, count, zeros);
                     addPartial(block, column, partial, type);
                   });
    });
  }

  /// Rows that a block repeats would be added twice: all sums are read before
  /// any is written.
  void addPartial(const Values &block, Value column, const Values &partial,
                  mlir::VectorType type) {
    size_t vectors = partial.size() / block.size();
    Values places, added;
    for (auto [i, value] : llvm::enumerate(partial)) {
      Value start = e.add(e.mul(block[i / vectors], tile.columns), column);
      places.push_back(
          e.add(start, int64_t(i % vectors) * e.level().microLanes));
      added.push_back(e.fadd(e.load(sums, places.back(), type), value));
    }
    for (auto [place, value] : llvm::zip_equal(places, added))
      e.store(value, sums, place);
  }

  Emitter &e;
  const TileConfig &tile;
  int64_t chunk;
  Epilogue epilogue;
  Value left, right;
  int64_t leftStride, rightStride;
  Value rows, turned, panels, sums;
  // Of the current task.
  Value firstRow, endRow, firstColumn, endColumn;
};

} // namespace

void lowerContractRows(Emitter &e, const ContractRowsCore &core) {
  ContractionLowering(e, core).lower();
}

} // namespace betz::cpu
