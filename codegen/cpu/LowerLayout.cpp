//===- LowerLayout.cpp - Weights and gradients laid out in a step ---------===//
#include "codegen/cpu/LowerKernel.h"
#include "runtime/base/Hash.h"

namespace betz::cpu {

/// Runs `body(row, first, end)` for the rows of each task and its columns.
static void forTaskTiles(Emitter &e,
                         llvm::function_ref<void(Value, Value, Value)> body) {
  const OperandSpec &result = e.spec().result();
  const TileConfig &tile = e.spec().tile;
  int64_t across = (result.columns + tile.columns - 1) / tile.columns;
  e.loop(e.beginTask(), e.endTask(), 1, [&](Value task) {
    Value firstRow = e.mul(e.divide(task, across), tile.rows);
    Value endRow =
        e.minimum(e.add(firstRow, tile.rows), e.evaluate(result.rows));
    Value first = e.mul(e.remainder(task, across), tile.columns);
    Value end =
        e.minimum(e.add(first, tile.columns), e.integer(result.columns));
    e.loop(firstRow, endRow, 1, [&](Value row) { body(row, first, end); });
  });
}

namespace {

/// One loop over parts that a table describes: code for each would take LLVM
/// seconds.
class JoinLowering {
public:
  JoinLowering(Emitter &e, const JoinCore &core) : e(e), epilogue(e) {
    int64_t done = 0;
    auto addGap = [&](int64_t to) {
      if (done < to)
        gaps.append({done, to});
    };
    for (auto [part, from] : llvm::zip_equal(core.parts, core.columns)) {
      const OperandSpec &operand = e.spec().operands[size_t(part)];
      addGap(from);
      done = from + operand.columns;
      parts.append({from, done, part, operand.offset, operand.rowStride});
    }
    addGap(e.spec().result().columns);
  }

  void lower() {
    forTaskTiles(e, [&](Value row, Value first, Value end) {
      forRanges("parts", parts, kPartNumbers, [&](const Values &part) {
        Value source = e.basePointer(part[2]);
        Value start = e.sub(e.add(part[3], e.mul(row, part[4])), part[0]);
        forColumns(part, row, first, end, [&](Value column, Value mask) {
          return e.loadMasked(source, e.add(start, column), mask,
                              e.vectorF32());
        });
      });
      forRanges("gaps", gaps, kGapNumbers, [&](const Values &gap) {
        forColumns(gap, row, first, end,
                   [&](Value, Value) { return e.splat(0); });
      });
    });
  }

private:
  /// Of a part: first and end column, operand, its offset, its row stride. Of a
  /// gap: first and end column.
  static constexpr int64_t kPartNumbers = 5, kGapNumbers = 2;

  void forRanges(llvm::StringRef name, llvm::ArrayRef<int64_t> ranges,
                 int64_t numbers,
                 llvm::function_ref<void(const Values &)> body) {
    if (ranges.empty())
      return;
    std::string bytes(reinterpret_cast<const char *>(ranges.data()),
                      ranges.size() * sizeof(int64_t));
    Value table =
        e.table(("join_" + name + "_" + toHex(hashBytes(bytes))).str(), ranges);
    const int64_t count = int64_t(ranges.size()) / numbers;
    e.loop(e.integer(0), e.integer(count), 1, [&](Value range) {
      Values values;
      for (int64_t i = 0; i < numbers; ++i)
        values.push_back(e.loadScalar(table, e.add(e.mul(range, numbers), i),
                                      e.builder.getI64Type()));
      body(values);
    });
  }

  /// The columns of a range that lie in the task.
  void forColumns(const Values &range, Value row, Value first, Value end,
                  llvm::function_ref<Value(Value, Value)> value) {
    e.forColumns(e.maximum(first, range[0]), e.minimum(end, range[1]),
                 [&](Value column, Value mask) {
                   epilogue.finish(value(column, mask), row, column, mask);
                 });
  }

  Emitter &e;
  Epilogue epilogue;
  llvm::SmallVector<int64_t> parts, gaps;
};

} // namespace

void lowerJoin(Emitter &e, const JoinCore &core) {
  JoinLowering(e, core).lower();
}

void lowerFill(Emitter &e, const FillCore &core) {
  Epilogue epilogue(e);
  forTaskTiles(e, [&](Value row, Value first, Value end) {
    e.forColumns(first, end, [&](Value column, Value mask) {
      epilogue.finish(e.splat(core.value), row, column, mask);
    });
  });
}

namespace {

/// A task is a panel, or rows of a plain transposed matrix.
class PackLowering {
public:
  PackLowering(Emitter &e, const PackCore &core)
      : e(e), core(core), operand(e.spec().operands[size_t(core.x)]),
        x(e.pointer(core.x)), result(e.pointer(e.spec().resultIndex())) {}

  void lower() {
    if (core.panel == 0)
      return lowerTransposed();
    e.loop(e.beginTask(), e.endTask(), 1, [&](Value panel) {
      Value first = e.mul(panel, core.panel);
      Value to = e.mul(panel, core.panel * depth());
      core.transposed ? copyColumns(first, to) : turnRows(first, to);
    });
  }

private:
  int64_t rows() const { return operand.rows.plus; }
  int64_t depth() const { return core.transposed ? rows() : operand.columns; }

  /// Panels of the columns of a transposed weight are columns of the weight.
  void copyColumns(Value first, Value to) {
    e.loop(e.integer(0), e.integer(rows()), 1, [&](Value row) {
      for (int64_t i = 0; i < core.panel; i += kLanes) {
        Value column = e.add(first, i);
        Value mask = e.laneMask(e.sub(e.integer(operand.columns), column));
        Value value =
            e.loadMasked(x, e.add(e.mul(row, operand.rowStride), column), mask,
                         e.vectorF32());
        e.store(value, result, e.add(e.add(to, e.mul(row, core.panel)), i));
      }
    });
  }

  void turnRows(Value first, Value to) {
    auto copy = [&](Value k, int64_t row, Value value) {
      e.store(value, result, e.add(e.add(to, e.mul(k, core.panel)), row));
    };
    e.loop(e.integer(0), e.integer(depth()), 1, [&](Value k) {
      for (int64_t i = 0; i < core.panel; ++i) {
        Value row = e.add(first, i);
        Value inside = e.less(row, e.integer(rows()));
        Value safe = e.minimum(row, e.integer(rows() - 1));
        Value value =
            e.loadScalar(x, e.add(e.mul(safe, operand.rowStride), k), e.f32());
        copy(k, i, e.select(inside, value, e.real(0)));
      }
    });
  }

  void lowerTransposed() {
    int64_t width = e.spec().result().columns;
    forTaskRows(e, [&](Value row) {
      e.loop(e.integer(0), e.integer(width), 1, [&](Value column) {
        Value value = e.loadScalar(
            x, e.add(e.mul(column, operand.rowStride), row), e.f32());
        e.store(value, result, e.add(e.mul(row, width), column));
      });
    });
  }

  Emitter &e;
  const PackCore &core;
  const OperandSpec &operand;
  Value x, result;
};

} // namespace

void lowerPack(Emitter &e, const PackCore &core) {
  PackLowering(e, core).lower();
}

void lowerAdamw(Emitter &e, const AdamwCore &core) {
  auto scalar = [&](int32_t operand, int64_t index) {
    return e.loadScalar(e.pointer(operand), e.integer(index), e.f32());
  };
  Value rate = scalar(core.schedule, 0);
  Value scale = scalar(core.schedule, 3);
  if (core.clip > 0) {
    Value norm = e.fmul(scale, e.sqrt(scalar(core.squares, 0)));
    Value factor = e.fdiv(e.real(core.clip), e.fadd(norm, e.real(1e-6)));
    scale = e.fmul(scale, e.fmin(e.real(1), factor));
  }
  Value kept = e.fsub(e.real(1), e.fmul(rate, e.real(core.weightDecay)));
  Value firstStep = e.broadcast(e.fmul(rate, scalar(core.schedule, 1)));
  Value secondScale = e.broadcast(scalar(core.schedule, 2));
  const int32_t results = e.spec().resultIndex();
  Value weights = e.pointer(core.weights), gradient = e.pointer(core.gradient);
  Value moments[] = {e.pointer(core.moment1), e.pointer(core.moment2)};
  Value targets[] = {e.pointer(results), e.pointer(results + 1),
                     e.pointer(results + 2)};
  forTaskTiles(e, [&](Value, Value first, Value end) {
    e.forColumns(first, end, [&](Value at, Value mask) {
      auto load = [&](Value pointer) {
        return e.loadMasked(pointer, at, mask, e.vectorF32());
      };
      Value g = e.fmul(load(gradient), e.broadcast(scale));
      Value first = e.fma(e.splat(core.beta1), load(moments[0]),
                          e.fmul(e.splat(1 - core.beta1), g));
      Value second = e.fma(e.splat(core.beta2), load(moments[1]),
                           e.fmul(e.splat(1 - core.beta2), e.fmul(g, g)));
      Value root = e.sqrt(e.fmul(second, secondScale));
      Value step =
          e.fdiv(e.fmul(first, firstStep), e.fadd(root, e.splat(core.eps)));
      Value weight = e.fsub(e.fmul(load(weights), e.broadcast(kept)), step);
      e.storeMasked(weight, targets[0], at, mask);
      e.storeMasked(first, targets[1], at, mask);
      e.storeMasked(second, targets[2], at, mask);
    });
  });
}

} // namespace betz::cpu
