//===- tma.cuh - Bulk copies of tiles and the barriers they complete on ---===//
//
// PTX ISA: mbarrier, cp.async.bulk.tensor.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cluster.cuh"

namespace betz {

/// A CUtensorMap as a kernel parameter.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

/// runtime/program/KernelAbi.h, CudaTensorMap.
struct MapDescription {
  uint32 operand, offsetBytes, columns, rowBytes, boxRows, interleaved;
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
/// Copies the groups of 32 rows from `group` on, a group's rows interleaved.
__device__ __forceinline__ void copyInterleaved(uint32 to, const TensorMap &map,
                                                int column, int group,
                                                uint32 barrier) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%2, %4, %4, %4, %3}], [%5];" ::
                   "r"(to),
               "l"(&map), "r"(column), "r"(group), "r"(0), "r"(barrier)
               : "memory");
}

//===----------------------------------------------------------------------===//
// Blocks of a cluster
//===----------------------------------------------------------------------===//

/// Arrives at the same barrier of another block of the cluster.
__device__ __forceinline__ void arriveAt(uint32 barrier, uint32 block) {
  asm volatile("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
               "}" ::"r"(barrier),
               "r"(block)
               : "memory");
}
/// copyInterleaved into the blocks of `mask`, at the same place and barrier.
__device__ __forceinline__ void
copyInterleavedToAll(uint32 to, const TensorMap &map, int column, int group,
                     uint32 barrier, uint16 mask) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::"
               "complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%2, %4, %4, %4, %3}], [%5], %6;" ::"r"(to),
               "l"(&map), "r"(column), "r"(group), "r"(0), "r"(barrier),
               "h"(mask)
               : "memory");
}

/// A warpgroup gives registers back, or takes them.
template <int registers> __device__ __forceinline__ void keepRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers> __device__ __forceinline__ void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

} // namespace betz
