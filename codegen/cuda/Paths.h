//===- Paths.h - Which headers a KernelSpec is built from -----------------===//
#pragma once

#include "codegen/common/KernelSpec.h"
#include "codegen/cuda/CudaCode.h"

namespace betz::cuda {

/// Whether wgmma, bulk tensor copies and clusters may be used.
bool isHopper(const Architecture &architecture);

/// Whether 16-byte accesses reach every row of an operand.
bool isAligned(const OperandSpec &operand);

/// The path that a spec takes.
enum class Path : uint8_t {
  MatmulSimt,
  MatmulMma,
  MatmulTma,
  AttentionSimt,
  AttentionMma,
  AttentionWgmma,
  AttentionKeysSimt, // gradients of keys and values
  AttentionKeysMma,
  ContractSimt,
  ContractMma,
  Rows,       // a warp a row
  SegmentSub, // a thread a row
  Transpose,  // 32 rows a block
  Columns,    // sums of columns
  Scatter,    // sums of rows by index
  Total,      // one number
  Elements,   // rows and columns are cut
};
/// The attention that a spec is, or is a gradient of; null for other kernels.
const AttentionCore *attentionOf(const KernelSpec &spec);

Path choosePath(const KernelSpec &spec, const Architecture &architecture);

} // namespace betz::cuda
