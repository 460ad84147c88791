//===- matmul_wgmma.cuh - Rows times a weight on Hopper's matrix unit -----===//
//
// Each warpgroup takes 64 rows and all columns of the tile. One stage's
// products are under way while the next stage is awaited, so that the barrier
// does not leave the matrix unit idle; a stage's memory is free for new copies
// two steps later. A result's products are added in steps of 16 k in order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul_tile.cuh"
#include "wgmma.cuh"

namespace betz {

/// Spec: as MatmulTile; threads is 2 * tileRows; tileColumns 64, 128 or 256.
template <typename Spec> class MatmulWgmma : MatmulTile<Spec> {
  using Tile = MatmulTile<Spec>;
  static constexpr int NT = Tile::BN / 8;
  static constexpr int ahead = Tile::stages - 2;
  static_assert(Tile::threads == 2 * Tile::BM, "a warpgroup has 64 rows");

public:
  __device__ __forceinline__ MatmulWgmma(const Spec &spec, const int64 *extents,
                                         unsigned char *shared)
      : Tile(spec, extents, shared) {}

  template <typename Epilogue>
  __device__ __forceinline__ void run(const Epilogue &epilogue) {
    if (this->firstRow >= this->rows)
      return;
#pragma unroll
    for (int s = 0; s < ahead; ++s)
      this->loadStage(s);
    for (int step = 0; step < Tile::steps; ++step) {
      waitCopies<ahead - 1>();
      showToMatrixUnit();
      __syncthreads();
      multiplyStage(step % Tile::stages);
      this->loadStage(step + ahead);
      this->measureStage(step % Tile::stages);
      waitMultiply<1>();
    }
    waitMultiply<0>();
    waitCopies<0>();
    __syncthreads();
    this->stageResults(sums, warpOf(threadIdx.x) * 16, 0);
    __syncthreads();
    this->finishRows(epilogue);
  }

private:
  __device__ __forceinline__ void multiplyStage(int slot) {
    const uint32 left = this->left(slot) + warpOf(threadIdx.x) / 4 * (64 * 128);
    const uint32 right = this->right(slot);
    beginMultiply();
#pragma unroll
    for (int k = 0; k < Tile::BK / 16; ++k)
      multiplyAsync(sums[0], matrixAt(left + k * 32), matrixAt(right + k * 32));
    commitMultiply();
  }

  float sums[1][NT][4] = {};
};

} // namespace betz
