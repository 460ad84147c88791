//===- MemoryPlan.h - Which kernel results live when, and how large -------===//
#pragma once

#include "ir/Module.h"

namespace betz::passes {

/// Arena offsets are multiples of this many bytes: a cache line, and what
/// vector loads of any instruction set want.
inline constexpr int64_t kArenaAlignment = 64;

/// A kernel result that needs arena space.
struct LiveBuffer {
  ir::KernelOp kernel;
  unsigned result = 0;
  ir::Tensor type;
  /// Launch numbers of the writer and of the last reader.
  int64_t first = 0, last = 0;
};

/// The buffers of `@main` in launch order. Outputs of the step are left out.
llvm::SmallVector<LiveBuffer> findLiveBuffers(mlir::func::FuncOp main);

/// The kernel result or argument behind a chain of views.
mlir::Value baseOf(mlir::Value value);

/// Whether `value` (a kernel result) is returned, perhaps through views.
bool isOutput(mlir::Value value);

/// Bytes of `type` in a bucket whose capacities are listed in the order of the
/// module's symbols; -1 if that overflows.
int64_t bytesInBucket(ir::Tensor type, mlir::ModuleOp module,
                      llvm::ArrayRef<int64_t> capacity);

/// Checks buckets and offsets; diagnostics name the kernel.
mlir::LogicalResult verifyMemoryPlan(mlir::ModuleOp module);

} // namespace betz::passes
