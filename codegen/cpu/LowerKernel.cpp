#include "codegen/cpu/LowerKernel.h"
#include "codegen/common/Overloaded.h"

namespace betz::cpu {

namespace {

/// Stack that a kernel may use for scratch; KernelAbi.h allows a little more
/// for everything. Normalised rows take half of it where that is enough.
constexpr int64_t kScratchBytes = 224 * 1024;
constexpr int64_t kRowScratchBytes = 128 * 1024;

int64_t scratchBytes(const KernelSpec &spec) {
  const int64_t rows = spec.tile.rows, keys = spec.plan.keyBlock;
  if (const auto *core = std::get_if<AttentionGradCore>(&spec.core)) {
    // Two blocks of scores, one transposed; two of keys; sums of each.
    int64_t wide = paddedToPanels(core->forward.headSize);
    return 4 * (3 * rows * keys + (rows + 4 * keys) * wide);
  }
  if (std::holds_alternative<ContractRowsCore>(spec.core))
    return 4 * ((rows + spec.tile.columns) * spec.plan.rowChunk +
                rows * spec.tile.columns);
  if (const auto *core = std::get_if<AttentionCore>(&spec.core))
    return 4 * (rows * keys + (rows + keys) * paddedToPanels(core->headSize) +
                2 * rows);
  if (const auto *core = std::get_if<MatmulCore>(&spec.core))
    return 4 * rows *
           ((spec.prologue ? core->depth : 0) + (spec.rowScale ? 1 : 0));
  if (const auto *core = std::get_if<GatherCore>(&spec.core))
    return core->reduce ? 4 * spec.operands[size_t(core->tables[0])].columns
                        : 0;
  return 0;
}

int64_t matmulRows(const KernelSpec &spec, const MatmulCore &core) {
  int64_t rows = 48;
  if (spec.prologue && core.depth > 0)
    rows = std::min(rows, kRowScratchBytes / 4 / core.depth);
  return rows >= 6 ? rows / 6 * 6 : std::max<int64_t>(rows, 1);
}

/// Wide, so that a task's rows, and their statistics, serve many columns; but
/// no single column tile, or one window would not occupy several threads.
int64_t matmulColumns(const MatmulCore &core) {
  constexpr int64_t kNarrowest = 128, kWidest = 512;
  int64_t half = (core.columns + 1) / 2;
  int64_t columns = (half + kNarrowest - 1) / kNarrowest * kNarrowest;
  return std::clamp(columns, kNarrowest, kWidest);
}

/// Square blocks of queries and keys.
void chooseAttentionGradTile(KernelSpec &spec) {
  int64_t &size = spec.plan.keyBlock;
  for (size = 64; size > kMicroColumns; size /= 2) {
    spec.tile = {size, 0};
    if (scratchBytes(spec) <= kScratchBytes)
      break;
  }
  spec.tile = {size, 0};
}

/// Large tiles use what they pack more often; small results get more of them.
void chooseContractionTile(KernelSpec &spec) {
  spec.plan.rowChunk = 128;
  spec.tile.rows = spec.result().rows.plus >= 384 ? 96 : 48;
  spec.tile.columns = spec.result().columns >= 256 ? 128 : 64;
}

/// Elements of a task that touches each once.
constexpr int64_t kElements = 1 << 14;

/// Very wide heads get smaller blocks. Key blocks are halved, so that each lies
/// in one column of a block map.
void chooseAttentionTile(KernelSpec &spec) {
  spec.plan.keyBlock = 64;
  spec.tile = {64, 0};
  while (scratchBytes(spec) > kScratchBytes && spec.tile.rows > 4)
    spec.tile.rows -= 4;
  while (scratchBytes(spec) > kScratchBytes &&
         spec.plan.keyBlock > kMicroColumns)
    spec.plan.keyBlock /= 2;
}

} // namespace

void chooseTile(KernelSpec &spec) {
  spec.plan = {};
  std::visit(
      Overloaded{
          [&](const MatmulCore &core) {
            spec.plan.depthChunk = core.depth;
            spec.tile.rows = matmulRows(spec, core);
            spec.tile.columns = matmulColumns(core);
          },
          [&](const AttentionCore &) { chooseAttentionTile(spec); },
          [&](const NormCore &) { spec.tile = {16, 0}; },
          [&](const NormScaleCore &) { spec.tile = {64, 0}; },
          [&](const GatherCore &) { spec.tile = {64, 0}; },
          [&](const SegmentSubCore &) { spec.tile = {4096, 0}; },
          [&](const ContractRowsCore &) { chooseContractionTile(spec); },
          [&](const ColumnSumCore &) {
            spec.plan.rowChunk = 256;
            spec.tile = {1, 64};
          },
          [&](const ScatterSumCore &) {
            spec.tile = {std::max<int64_t>(spec.result().rows.plus, 1), 32};
          },
          [&](const NormGradCore &) { spec.tile = {16, 0}; },
          [&](const AttentionGradCore &) { chooseAttentionGradTile(spec); },
          [&](const JoinCore &) { spec.tile = {16, kElements}; },
          [&](const AdamwCore &) { spec.tile = {1, kElements}; },
          [&](const FillCore &) { spec.tile = {16, kElements}; },
          [&](const PackCore &core) {
            const int64_t rows = spec.result().rows.plus;
            const int64_t depth = core.transposed
                                      ? spec.operands[size_t(core.x)].rows.plus
                                      : spec.operands[size_t(core.x)].columns;
            spec.tile = {core.panel > 0 ? depth : std::min<int64_t>(rows, 16),
                         0};
          },
          [&](const auto &) { spec.tile = {64, 0}; },
      },
      spec.core);
  const auto *gather = std::get_if<GatherCore>(&spec.core);
  if (spec.prologue || spec.rowScale || (gather && gather->reduce) ||
      std::holds_alternative<NormCore>(spec.core) ||
      std::holds_alternative<NormGradCore>(spec.core) ||
      std::holds_alternative<NormScaleCore>(spec.core))
    spec.plan.statisticLanes = kLanes;
}

Status lowerKernel(Emitter &e, llvm::StringRef name, const KernelSpec &spec) {
  for (const OperandSpec &operand : spec.operands)
    if (operand.dtype != DType::F32 && operand.dtype != DType::I32)
      return invalidArgument(
          ("the CPU generates no code for elements of type " +
           llvm::Twine(std::string(toString(operand.dtype))))
              .str());
  if (scratchBytes(spec) > kScratchBytes)
    return invalidArgument("its rows or heads are too wide for the CPU");
  if (spec.squareGroup > 0 || (spec.rowScale && spec.rowScale->squares >= 0))
    return invalidArgument("sums of squares between matmuls, which CPU kernels "
                           "do not leave; compile from the model phase");
  e.beginKernel(name, spec);
  std::visit(
      Overloaded{
          [&](const MatmulCore &core) { lowerMatmul(e, core); },
          [&](const AttentionCore &core) { lowerAttention(e, core); },
          [&](const NormCore &core) { lowerNorm(e, core); },
          [&](const NormScaleCore &core) { lowerNormScale(e, core); },
          [&](const GatherCore &core) { lowerGather(e, core); },
          [&](const IdentityCore &core) { lowerIdentity(e, core); },
          [&](const RotaryCore &core) { lowerRotary(e, core); },
          [&](const SegmentSubCore &core) { lowerSegmentSub(e, core); },
          [&](const ContractRowsCore &core) { lowerContractRows(e, core); },
          [&](const ColumnSumCore &core) { lowerColumnSum(e, core); },
          [&](const ScatterSumCore &core) { lowerScatterSum(e, core); },
          [&](const NormGradCore &core) { lowerNormGrad(e, core); },
          [&](const AttentionGradCore &core) { lowerAttentionGrad(e, core); },
          [&](const HeadDotsCore &core) { lowerHeadDots(e, core); },
          [&](const JoinCore &core) { lowerJoin(e, core); },
          [&](const LossCore &core) { lowerLoss(e, core); },
          [&](const SquareSumCore &core) { lowerSquareSum(e, core); },
          [&](const AdamwCore &core) { lowerAdamw(e, core); },
          [&](const PackCore &core) { lowerPack(e, core); },
          [&](const FillCore &core) { lowerFill(e, core); },
      },
      spec.core);
  e.endKernel();
  return Status::ok();
}

void forTaskRows(Emitter &e, llvm::function_ref<void(Value)> body) {
  int64_t tile = e.spec().tile.rows;
  Value rows = e.evaluate(e.spec().result().rows);
  Value from = e.mul(e.beginTask(), tile);
  Value to = e.minimum(e.mul(e.endTask(), tile), rows);
  e.loop(from, to, 1, body);
}

//===----------------------------------------------------------------------===//
// Norm
//===----------------------------------------------------------------------===//

Value RowStatistics::load(Value row, Value column, Value mask) {
  return e.loadMasked(x, e.add(e.mul(row, stride), column), mask,
                      e.vectorF32());
}

RowStatistics::Moments RowStatistics::measure(Value row) {
  auto sum = [&](llvm::function_ref<Value(Value, Value)> term) {
    Values lanes = e.forColumns(
        columns, {e.splat(0)}, [&](Value column, Value mask, Values carried) {
          Value value = load(row, column, mask);
          return Values{e.fadd(carried[0], term(value, mask))};
        });
    return e.sumLanes(lanes[0]);
  };
  Value count = e.real(double(columns));
  Moments moments;
  if (spec.form == NormForm::Layer)
    moments.mean = e.broadcast(
        e.fdiv(sum([](Value value, Value) { return value; }), count));
  Value squares = sum([&](Value value, Value mask) {
    if (moments.mean)
      value = e.fsub(value, moments.mean);
    // Lanes past the last column are zero, and must be so less the mean.
    if (moments.mean && mask)
      value = e.select(mask, value, e.splat(0));
    return e.fmul(value, value);
  });
  Value variance = e.fadd(e.fdiv(squares, count), e.real(spec.eps));
  moments.scale = e.fdiv(e.real(1.0), e.sqrt(variance));
  return moments;
}

RowNorm::RowNorm(Emitter &e, const NormSpec &norm, int32_t x, int64_t columns)
    : e(e), statistics(e, {norm.form, norm.eps}, e.pointer(x),
                       e.spec().operands[size_t(x)].rowStride, columns),
      gain(e.pointer(norm.gain)) {
  if (norm.shift >= 0)
    shift = e.pointer(norm.shift);
}

Value RowNorm::normalise(const RowStatistics::Moments &moments, Value row,
                         Value column, Value mask) {
  Value value = statistics.load(row, column, mask);
  if (moments.mean)
    value = e.fsub(value, moments.mean);
  value = e.fmul(value, e.broadcast(moments.scale));
  value = e.fmul(value, e.loadMasked(gain, column, mask, e.vectorF32()));
  if (shift)
    value = e.fadd(value, e.loadMasked(shift, column, mask, e.vectorF32()));
  return value;
}

void lowerNorm(Emitter &e, const NormCore &core) {
  int64_t columns = e.spec().result().columns;
  RowNorm norm(e, core.norm, core.x, columns);
  Epilogue epilogue(e);
  forTaskRows(e, [&](Value row) {
    RowStatistics::Moments moments = norm.measure(row);
    e.forColumns(columns, [&](Value column, Value mask) {
      epilogue.finish(norm.normalise(moments, row, column, mask), row, column,
                      mask);
    });
  });
}

void lowerNormGrad(Emitter &e, const NormGradCore &core) {
  const OperandSpec &x = e.spec().operands[size_t(core.x)];
  const OperandSpec &dy = e.spec().operands[size_t(core.dy)];
  const int64_t columns = x.columns;
  RowStatistics statistics(e, core.scale, e.pointer(core.x), x.rowStride,
                           columns);
  Value gradient = e.pointer(core.dy), gain = e.pointer(core.gain);
  Epilogue epilogue(e);
  forTaskRows(e, [&](Value row) {
    RowStatistics::Moments moments = statistics.measure(row);
    auto scaled = [&](Value column, Value mask) {
      Value at = e.add(e.mul(row, dy.rowStride), column);
      return e.fmul(e.loadMasked(gradient, at, mask, e.vectorF32()),
                    e.loadMasked(gain, column, mask, e.vectorF32()));
    };
    auto normal = [&](Value column, Value mask) {
      Value value = statistics.load(row, column, mask);
      if (moments.mean)
        value = e.fsub(value, moments.mean);
      return e.fmul(value, e.broadcast(moments.scale));
    };
    Values sums = e.forColumns(
        columns, {e.splat(0), e.splat(0)},
        [&](Value column, Value mask, Values carried) {
          Value g = scaled(column, mask);
          return Values{e.fadd(carried[0], g),
                        e.fma(g, normal(column, mask), carried[1])};
        });
    auto mean = [&](Value lanes) {
      return e.broadcast(e.fdiv(e.sumLanes(lanes), e.real(double(columns))));
    };
    Value slope = mean(sums[1]);
    Value offset = moments.mean ? mean(sums[0]) : Value();
    e.forColumns(columns, [&](Value column, Value mask) {
      Value value = scaled(column, mask);
      if (offset)
        value = e.fsub(value, offset);
      value = e.fsub(value, e.fmul(normal(column, mask), slope));
      epilogue.finish(e.fmul(value, e.broadcast(moments.scale)), row, column,
                      mask);
    });
  });
}

void lowerNormScale(Emitter &e, const NormScaleCore &core) {
  const OperandSpec &x = e.spec().operands[size_t(core.x)];
  RowStatistics statistics(e, core.scale, e.pointer(core.x), x.rowStride,
                           x.columns);
  Value result = e.pointer(e.spec().resultIndex());
  forTaskRows(e, [&](Value row) {
    e.store(statistics.measure(row).scale, result, row);
  });
}

} // namespace betz::cpu
