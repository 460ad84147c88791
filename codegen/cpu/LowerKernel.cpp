#include "codegen/cpu/LowerKernel.h"

namespace betz::cpu {

namespace {

template <typename... Ts> struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts> Overloaded(Ts...) -> Overloaded<Ts...>;

/// Stack that a kernel may use for scratch; KernelAbi.h allows a little more
/// for everything. Normalised rows take half of it where that is enough.
constexpr int64_t kScratchBytes = 224 * 1024;
constexpr int64_t kRowScratchBytes = 128 * 1024;

int64_t scratchBytes(const KernelSpec &spec) {
  const int64_t rows = spec.tile.rows, keys = spec.plan.keyBlock;
  if (const auto *core = std::get_if<AttentionCore>(&spec.core))
    return 4 * (rows * keys + (rows + keys) * paddedToPanels(core->headSize) +
                2 * rows);
  if (const auto *core = std::get_if<MatmulCore>(&spec.core))
    return spec.prologue ? 4 * rows * core->depth : 0;
  return 0;
}

int64_t matmulRows(const KernelSpec &spec, const MatmulCore &core) {
  int64_t rows = 48;
  if (spec.prologue && core.depth > 0)
    rows = std::min(rows, kRowScratchBytes / 4 / core.depth);
  return rows >= 6 ? rows / 6 * 6 : std::max<int64_t>(rows, 1);
}

/// Very wide heads get smaller blocks.
void chooseAttentionTile(KernelSpec &spec) {
  spec.plan.keyBlock = 64;
  spec.tile = {48, 0};
  while (scratchBytes(spec) > kScratchBytes && spec.tile.rows > 6)
    spec.tile.rows -= 6;
  while (scratchBytes(spec) > kScratchBytes &&
         spec.plan.keyBlock > kMicroColumns)
    spec.plan.keyBlock -= kMicroColumns;
}

} // namespace

void chooseTile(KernelSpec &spec) {
  spec.plan = {};
  std::visit(Overloaded{
                 [&](const MatmulCore &core) {
                   spec.plan.depthChunk = core.depth;
                   spec.tile.rows = matmulRows(spec, core);
                   // Wider where each column block normalises its rows again.
                   spec.tile.columns = spec.prologue ? 512 : 256;
                 },
                 [&](const AttentionCore &) { chooseAttentionTile(spec); },
                 [&](const NormCore &) { spec.tile = {16, 0}; },
                 [&](const GatherCore &) { spec.tile = {64, 0}; },
                 [&](const SegmentSubCore &) { spec.tile = {4096, 0}; },
                 [&](const auto &) { spec.tile = {64, 0}; },
             },
             spec.core);
  if (spec.prologue || std::holds_alternative<NormCore>(spec.core))
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
  e.beginKernel(name, spec);
  std::visit(Overloaded{
                 [&](const MatmulCore &core) { lowerMatmul(e, core); },
                 [&](const AttentionCore &core) { lowerAttention(e, core); },
                 [&](const NormCore &core) { lowerNorm(e, core); },
                 [&](const GatherCore &core) { lowerGather(e, core); },
                 [&](const IdentityCore &core) { lowerIdentity(e, core); },
                 [&](const RotaryCore &core) { lowerRotary(e, core); },
                 [&](const SegmentSubCore &core) { lowerSegmentSub(e, core); },
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

RowNorm::RowNorm(Emitter &e, const NormSpec &norm, int32_t operand,
                 int64_t columns)
    : e(e), norm(norm), columns(columns),
      stride(e.spec().operands[size_t(operand)].rowStride),
      x(e.pointer(operand)), gain(e.pointer(norm.gain)) {
  if (norm.shift >= 0)
    shift = e.pointer(norm.shift);
}

/// x - mean, zero where the mask is off so that sums may take it.
Value RowNorm::centred(Value value, Value mean, Value mask) {
  Value distance = e.fsub(value, mean);
  return mask ? e.select(mask, distance, e.splat(0)) : distance;
}

RowNorm::Statistics RowNorm::measure(Value row) {
  Value first = e.mul(row, stride);
  auto sum = [&](llvm::function_ref<Value(Value, Value)> term) {
    Values lanes = e.forColumns(
        columns, {e.splat(0)}, [&](Value column, Value mask, Values carried) {
          Value value =
              e.loadMasked(x, e.add(first, column), mask, e.vectorF32());
          return Values{e.fadd(carried[0], term(value, mask))};
        });
    return e.sumLanes(lanes[0]);
  };
  Value count = e.real(double(columns));
  Statistics statistics;
  if (norm.form == NormForm::Layer)
    statistics.mean = e.broadcast(
        e.fdiv(sum([](Value value, Value) { return value; }), count));
  Value squares = sum([&](Value value, Value mask) {
    Value distance =
        statistics.mean ? centred(value, statistics.mean, mask) : value;
    return e.fmul(distance, distance);
  });
  Value variance = e.fadd(e.fdiv(squares, count), e.real(norm.eps));
  statistics.scale = e.broadcast(e.fdiv(e.real(1.0), e.sqrt(variance)));
  return statistics;
}

Value RowNorm::normalise(const Statistics &statistics, Value row, Value column,
                         Value mask) {
  Value value =
      e.loadMasked(x, e.add(e.mul(row, stride), column), mask, e.vectorF32());
  if (statistics.mean)
    value = e.fsub(value, statistics.mean);
  value = e.fmul(value, statistics.scale);
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
    RowNorm::Statistics statistics = norm.measure(row);
    e.forColumns(columns, [&](Value column, Value mask) {
      epilogue.finish(norm.normalise(statistics, row, column, mask), row,
                      column, mask);
    });
  });
}

} // namespace betz::cpu
