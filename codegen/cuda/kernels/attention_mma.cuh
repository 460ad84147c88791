//===- attention_mma.cuh - Attention's products on mma.sync ---------------===//
#pragma once

#include "attention_tile.cuh"

namespace betz {

/// D: the head's size, a multiple of 16 up to 128; BK: rows of a tile of keys.
/// Rows are padded by 16 bytes, so that eight of them lie in different banks.
template <int D, int BK = 64> struct AttentionMma {
  static constexpr int pitch = D * 2 + 16, together = 16;

  __device__ __forceinline__ static uint32 place(int row, int chunk) {
    return uint32(row * pitch + chunk * 16);
  }
  __device__ __forceinline__ static void show() {}

  __device__ __forceinline__ static void
  score(float (&scores)[BK / 8][4], uint32 queries, uint32 keyTile) {
    const int warp = warpOf(threadIdx.x), lane = laneOf(threadIdx.x);
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      // Again for each block: kept, they would not fit in registers.
      uint32 query[4];
      loadMatrices(query,
                   queries + place(warp * 16 + lane % 16, k * 2 + lane / 16));
#pragma unroll
      for (int n = 0; n < BK / 16; ++n) {
        uint32 b[4];
        loadMatrices(b, keyTile + place(n * 16 + lane % 8 + lane / 16 * 8,
                                        k * 2 + lane / 8 % 2));
        multiplyAdd(scores[2 * n], query, b[0], b[1]);
        multiplyAdd(scores[2 * n + 1], query, b[2], b[3]);
      }
    }
  }

  __device__ __forceinline__ static void
  add(float (&sums)[D / 8][4], const float (&weights)[BK / 8][4],
      uint32 valueTile) {
    const int lane = laneOf(threadIdx.x);
#pragma unroll
    for (int k = 0; k < BK / 16; ++k) {
      uint32 a[4];
      packFragment(a, weights[2 * k], weights[2 * k + 1]);
#pragma unroll
      for (int n = 0; n < D / 16; ++n) {
        uint32 b[4];
        loadTransposed(b, valueTile + place(k * 16 + lane % 16,
                                            n * 2 + lane / 16));
        multiplyAdd(sums[2 * n], a, b[0], b[1]);
        multiplyAdd(sums[2 * n + 1], a, b[2], b[3]);
      }
    }
  }
};

} // namespace betz
