//===- attention_wgmma.cuh - Attention's products on Hopper ---------------===//
#pragma once

#include "attention_tile.cuh"
#include "wgmma.cuh"

namespace betz {

/// For heads of 64: a row is 128 bytes, swizzled as in mma.cuh. A warpgroup
/// multiplies its 64 queries.
struct AttentionWgmma {
  static constexpr int D = 64, pitch = 128, together = 64, BK = 64;

  __device__ __forceinline__ static uint32 place(int row, int chunk) {
    return swizzled(row, chunk);
  }
  __device__ __forceinline__ static void show() { showToMatrixUnit(); }

  __device__ __forceinline__ static void
  score(float (&scores)[BK / 8][4], uint32 queries, uint32 keyTile) {
    const uint32 own = queries + warpOf(threadIdx.x) / 4 * (64 * pitch);
    beginMultiply();
#pragma unroll
    for (int k = 0; k < D / 16; ++k)
      multiplyAsync(scores, matrixAt(own + k * 32), matrixAt(keyTile + k * 32));
    commitMultiply();
    waitMultiply<0>();
  }

  __device__ __forceinline__ static void
  add(float (&sums)[D / 8][4], const float (&weights)[BK / 8][4],
      uint32 valueTile) {
    uint32 a[BK / 16][4];
#pragma unroll
    for (int k = 0; k < BK / 16; ++k)
      packFragment(a[k], weights[2 * k], weights[2 * k + 1]);
    beginMultiply();
#pragma unroll
    for (int k = 0; k < BK / 16; ++k)
      multiplyRowsAsync(sums, a[k], matrixAt(valueTile + k * (16 * pitch)));
    commitMultiply();
    waitMultiply<0>();
  }
};

} // namespace betz
