//===- matmul_tma.cuh - Rows times a weight on Hopper ---------------------===//
//
// One warp starts bulk copies; each warpgroup of the others multiplies 64 rows
// by all columns of the tile, one stage's products under way while the next is
// awaited. A result's products are added in steps of 16 k in order, so that no
// tile changes bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul_tile.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

namespace betz {

/// Spec: as MatmulTile; threads is 2 * tileRows, beside which a warp copies;
/// tileColumns is 64 or 128. Behind the stages lie their barriers.
template <typename Spec> class MatmulTma : MatmulTile<Spec> {
  using Tile = MatmulTile<Spec>;
  static constexpr int NT = Tile::BN / 8, stages = Tile::stages;
  static_assert(Tile::threads == 2 * Tile::BM, "a warpgroup has 64 rows");

public:
  __device__ __forceinline__ MatmulTma(const Spec &spec, const int64 *extents,
                                       unsigned char *shared)
      : Tile(spec, extents, shared),
        full(this->base + stages * Tile::stageBytes), empty(full + stages * 8) {
  }

  template <typename Epilogue>
  __device__ __forceinline__ void
  run(const Epilogue &epilogue, const TensorMap &x, const TensorMap &weight) {
    if (this->firstRow >= this->rows)
      return;
    if (threadIdx.x == 0) {
      for (int s = 0; s < stages; ++s) {
        initBarrier(full + s * 8, 1);
        initBarrier(empty + s * 8, Tile::threads / 32);
      }
      showBarriers();
    }
    __syncthreads();
    if (warpOf(threadIdx.x) == Tile::threads / 32) {
      if (laneOf(threadIdx.x) == 0)
        copyStages(x, weight);
      return;
    }
    multiplyStages();
    syncFirst<Tile::threads>();
    this->stageResults(sums, warpOf(threadIdx.x) * 16, 0);
    syncFirst<Tile::threads>();
    this->finishRows(epilogue);
  }

private:
  __device__ __forceinline__ void copyStages(const TensorMap &x,
                                             const TensorMap &weight) const {
    for (int step = 0; step < Tile::steps; ++step) {
      const int slot = step % stages, k = step * Tile::BK;
      if (step >= stages)
        waitFor(empty + slot * 8, (step / stages - 1) & 1);
      const uint32 barrier = full + slot * 8;
      expectBytes(barrier, Tile::stageBytes);
      copyBox(this->left(slot), x, k, int(this->firstRow), barrier);
      copyBox(this->right(slot), weight, k, this->firstColumn, barrier);
    }
  }

  __device__ __forceinline__ void multiplyStages() {
    for (int step = 0; step < Tile::steps; ++step) {
      const int slot = step % stages;
      waitFor(full + slot * 8, (step / stages) & 1);
      multiplyStage(slot);
      this->measureStage(slot);
      waitMultiply<1>();
      if (step > 0)
        release((step - 1) % stages);
    }
    waitMultiply<0>();
  }

  __device__ __forceinline__ void multiplyStage(int slot) {
    const uint32 left = this->left(slot) + warpOf(threadIdx.x) / 4 * (64 * 128);
    const uint32 right = this->right(slot);
    beginMultiply();
#pragma unroll
    for (int k = 0; k < Tile::BK / 16; ++k)
      multiplyAsync(sums[0], matrixAt(left + k * 32), matrixAt(right + k * 32));
    commitMultiply();
  }

  /// Tells the copying warp that this warp has done with a slot.
  __device__ __forceinline__ void release(int slot) const {
    __syncwarp();
    if (laneOf(threadIdx.x) == 0)
      arrive(empty + slot * 8);
  }

  uint32 full, empty;
  float sums[1][NT][4] = {};
};

} // namespace betz
