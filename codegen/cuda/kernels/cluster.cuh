//===- cluster.cuh - Blocks that read each other's shared memory ----------===//
//
// PTX ISA: barrier.cluster, mapa, ld.shared::cluster; sm_90. Where clusters are
// not used they have one block, and the same code is generated for it alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "base.cuh"

namespace betz {

__device__ __forceinline__ uint32 blockOfCluster() {
  uint32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// All threads of all blocks of the cluster meet.
__device__ __forceinline__ void syncCluster() {
  asm volatile("barrier.cluster.arrive.aligned;\n"
               "barrier.cluster.wait.aligned;" ::
                   : "memory");
}

/// Four floats of another block's shared memory; `address` is that of the same
/// place in this block, a multiple of 16.
__device__ __forceinline__ float4 readBlock(uint32 address, int block) {
  float4 value;
  asm volatile("{\n"
               ".reg .b32 there;\n"
               "mapa.shared::cluster.u32 there, %4, %5;\n"
               "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n"
               "}"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(address), "r"(block)
               : "memory");
  return value;
}

/// What blocks wrote to shared memory is there for all of the cluster, or they
/// have all read it.
template <int blocks> __device__ __forceinline__ void meetBlocks() {
  if constexpr (blocks > 1)
    syncCluster();
  else
    __syncthreads();
}

/// The sum of V floats that each block has at `own`, in the order of blocks; V
/// is a multiple of 4.
template <int blocks, int V>
__device__ __forceinline__ void sumBlocks(float (&sums)[V], const float *own) {
#pragma unroll
  for (int i = 0; i < V; i += 4) {
    float4 sum = *reinterpret_cast<const float4 *>(own + i);
    if constexpr (blocks > 1) {
      sum = readBlock(sharedAddress(own + i), 0);
#pragma unroll
      for (int block = 1; block < blocks; ++block) {
        const float4 part = readBlock(sharedAddress(own + i), block);
        sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
      }
    }
    sums[i] = sum.x, sums[i + 1] = sum.y;
    sums[i + 2] = sum.z, sums[i + 3] = sum.w;
  }
}

} // namespace betz
