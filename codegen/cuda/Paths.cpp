#include "codegen/cuda/Paths.h"
#include "codegen/common/Overloaded.h"

namespace betz::cuda {

bool isHopper(const Architecture &architecture) {
  return std::string_view(architecture.isa) == "sm_90a";
}

bool isAligned(const OperandSpec &operand) {
  const int64_t bytes = int64_t(sizeOf(operand.dtype));
  return operand.rowStride * bytes % 16 == 0 &&
         operand.offset * bytes % 16 == 0 && operand.columns % 8 == 0;
}

const AttentionCore *attentionOf(const KernelSpec &spec) {
  if (const auto *grad = std::get_if<AttentionGradCore>(&spec.core))
    return &grad->forward;
  return std::get_if<AttentionCore>(&spec.core);
}

namespace {

/// Whether tensor cores can read an operand.
bool fits(const KernelSpec &spec, int32_t number) {
  const OperandSpec &operand = spec.operands[size_t(number)];
  return operand.dtype == DType::BF16 && isAligned(operand);
}

Path attentionPath(const KernelSpec &spec, bool isHopper) {
  const AttentionCore &core = *attentionOf(spec);
  const auto *grad = std::get_if<AttentionGradCore>(&spec.core);
  const bool ofKeys = grad && grad->part == AttentionPart::KeyValueGrad;
  bool tensors = core.headSize % 16 == 0 && core.headSize <= 128 &&
                 core.scale > 0 && fits(spec, core.q) && fits(spec, core.k);
  if (!grad || grad->part != AttentionPart::LogSum)
    tensors = tensors && fits(spec, core.v);
  if (grad && grad->dout >= 0)
    tensors = tensors && fits(spec, grad->dout);
  // Sums of keys and values of large heads leave no registers for times.
  const bool held = core.keyTime < 0 || core.headSize <= 96;
  if (ofKeys)
    return tensors && held ? Path::AttentionKeysMma : Path::AttentionKeysSimt;
  if (!tensors)
    return Path::AttentionSimt;
  return isHopper && core.headSize == 64 ? Path::AttentionWgmma
                                         : Path::AttentionMma;
}

Path matmulPath(const KernelSpec &spec, const MatmulCore &core, bool isHopper) {
  if (!fits(spec, core.x) || !fits(spec, core.weight))
    return Path::MatmulSimt;
  return isHopper && core.columns % 32 == 0 ? Path::MatmulTma : Path::MatmulMma;
}

} // namespace

Path choosePath(const KernelSpec &spec, const Architecture &architecture) {
  const bool hopper = isHopper(architecture);
  return std::visit(
      Overloaded{
          [&](const MatmulCore &core) {
            return matmulPath(spec, core, hopper);
          },
          [&](const AttentionCore &) { return attentionPath(spec, hopper); },
          [&](const AttentionGradCore &) {
            return attentionPath(spec, hopper);
          },
          [&](const ContractRowsCore &core) {
            return fits(spec, core.a) && fits(spec, core.b)
                       ? Path::ContractMma
                       : Path::ContractSimt;
          },
          [](const SegmentSubCore &) { return Path::SegmentSub; },
          [](const ColumnSumCore &) { return Path::Columns; },
          [](const ScatterSumCore &) { return Path::Scatter; },
          [](const SquareSumCore &) { return Path::Total; },
          [](const LossCore &core) {
            return core.dloss < 0 ? Path::Total : Path::Rows;
          },
          [](const PackCore &core) {
            return core.transposed ? Path::Transpose : Path::Rows;
          },
          [](const JoinCore &) { return Path::Elements; },
          [](const FillCore &) { return Path::Elements; },
          [](const AdamwCore &) { return Path::Elements; },
          [](const auto &) { return Path::Rows; },
      },
      spec.core);
}

} // namespace betz::cuda
