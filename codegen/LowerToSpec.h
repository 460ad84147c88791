//===- LowerToSpec.h - From a betz.kernel to a KernelSpec -----------------===//
#pragma once

#include "codegen/common/KernelSpec.h"
#include "ir/Module.h"

namespace betz {

/// A kernel's spec, without tile and plan (the target chooses those), and the
/// value behind each of its operands once views are folded into their layout.
struct LoweredKernel {
  KernelSpec spec;
  std::vector<mlir::Value> operands;
  /// Of each operand, bytes from the start of its value, a multiple of
  /// kTensorAlignment: where a part of a flat vector begins, so that kernels
  /// that differ in it alone share their code.
  std::vector<int64_t> offsets;
};

/// The error names what of the kernel no code generator covers.
Result<LoweredKernel> lowerToSpec(ir::KernelOp kernel);

/// Symbols of a module, in order.
std::vector<std::string> symbolsOf(mlir::ModuleOp module);

/// The element type as the runtime names it.
Result<DType> dtypeOf(mlir::Type element);

/// A tensor's dimensions in terms of the module's symbols.
std::vector<Dim> dimsOf(ir::Tensor type,
                        const std::vector<std::string> &symbols);

} // namespace betz
