#include "codegen/cuda/Paths.h"

namespace betz::cuda {

bool isHopper(const Architecture &architecture) {
  return std::string_view(architecture.isa) == "sm_90a";
}

bool isAligned(const OperandSpec &operand) {
  const int64_t bytes = int64_t(sizeOf(operand.dtype));
  return operand.rowStride * bytes % 16 == 0 &&
         operand.offset * bytes % 16 == 0 && operand.columns % 8 == 0;
}

Path choosePath(const KernelSpec &spec, const Architecture &architecture) {
  const bool hopper = isHopper(architecture);
  auto fits = [&](int32_t number) {
    const OperandSpec &operand = spec.operands[size_t(number)];
    return operand.dtype == DType::BF16 && isAligned(operand);
  };
  if (const auto *core = std::get_if<MatmulCore>(&spec.core))
    return !fits(core->x) || !fits(core->weight) ? Path::MatmulSimt
           : hopper && core->columns % 32 == 0   ? Path::MatmulTma
                                                 : Path::MatmulMma;
  if (const auto *core = std::get_if<AttentionCore>(&spec.core)) {
    const bool sizes =
        core->headSize % 16 == 0 && core->headSize <= 128 && core->scale > 0;
    if (!sizes || !fits(core->q) || !fits(core->k) || !fits(core->v))
      return Path::AttentionSimt;
    return hopper && core->headSize == 64 ? Path::AttentionWgmma
                                          : Path::AttentionMma;
  }
  return std::holds_alternative<SegmentSubCore>(spec.core) ? Path::SegmentSub
                                                           : Path::Rows;
}

} // namespace betz::cuda
