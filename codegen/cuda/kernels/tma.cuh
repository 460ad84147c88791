//===- tma.cuh - Bulk copies of tiles and the barriers they complete on ---===//
//
// PTX ISA: mbarrier, cp.async.bulk.tensor.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "base.cuh"

namespace betz {

/// A CUtensorMap as a kernel parameter.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

/// runtime/program/KernelAbi.h, CudaTensorMap.
struct MapDescription {
  uint32 operand, offsetBytes, columns, rowBytes, boxRows;
};

__device__ __forceinline__ void initBarrier(uint32 barrier, uint32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier),
               "r"(arrivals)
               : "memory");
}
/// Barriers of this block are seen by bulk copies.
__device__ __forceinline__ void showBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void expectBytes(uint32 barrier, uint32 bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
      "r"(bytes)
      : "memory");
}
__device__ __forceinline__ void arrive(uint32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
/// Waits for the end of the barrier's phase of this parity.
__device__ __forceinline__ void waitFor(uint32 barrier, uint32 parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again;\n"
               "}" ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/// Copies a box at (column, row) into this block.
__device__ __forceinline__ void copyBox(uint32 to, const TensorMap &map,
                                        int column, int row, uint32 barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
               "l"(&map), "r"(column), "r"(row), "r"(barrier)
               : "memory");
}
/// A barrier of the first `threads` threads of the block.
template <int threads> __device__ __forceinline__ void syncFirst() {
  asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory");
}

} // namespace betz
