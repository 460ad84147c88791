//===- matmul_cluster.cuh - Rows times a weight, two blocks together ------===//
//
// For large batches, where traffic from the second-level cache is the limit. A
// cluster of two blocks takes two neighbouring row tiles and the same columns:
// each brings in half of the weight's tile and hands it to both. One warp
// starts bulk copies; two warpgroups multiply, 64 rows each. A result's
// products are added in steps of 16 k in order, as in matmul_wgmma.cuh.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul_tile.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

namespace betz {

/// Spec: as MatmulTile; tileRows is 128 and threads 256, beside which a warp
/// copies. `x` and `weight` come through tensor maps.
template <typename Spec> class MatmulCluster : MatmulTile<Spec> {
  using Tile = MatmulTile<Spec>;
  static constexpr int NT = Tile::BN / 8, cluster = 2;
  static constexpr int stages = Tile::stages;
  static constexpr int halfColumns = Tile::BN / cluster;
  static constexpr int columnTiles = (Spec::columns + Tile::BN - 1) / Tile::BN;
  static_assert(Tile::threads == 256 && Tile::BM == 128, "two warpgroups");

public:
  __device__ __forceinline__ MatmulCluster(const Spec &spec,
                                           const int64 *extents,
                                           unsigned char *shared)
      : Tile(spec, extents, shared), rank(rankInCluster()),
        full(this->base + stages * Tile::stageBytes), empty(full + stages * 8) {
    const unsigned pair = blockIdx.x / cluster;
    this->firstRow = (int64(pair / columnTiles) * cluster + rank) * Tile::BM;
    this->firstColumn = int(pair % columnTiles) * Tile::BN;
  }

  template <typename Epilogue>
  __device__ __forceinline__ void
  run(const Epilogue &epilogue, const TensorMap &x, const TensorMap &weight) {
    if (this->firstRow - rank * Tile::BM >= this->rows)
      return; // both blocks
    if (threadIdx.x == 0) {
      for (int s = 0; s < stages; ++s) {
        initBarrier(full + s * 8, 1);
        initBarrier(empty + s * 8, cluster * Tile::threads / 32);
      }
      showBarriers();
    }
    syncCluster();
    if (warpOf(threadIdx.x) == Tile::threads / 32) {
      if (laneOf(threadIdx.x) == 0)
        copyStages(x, weight);
    } else {
      multiplyStages();
      syncFirst<Tile::threads>();
      this->stageResults(sums, warpOf(threadIdx.x) * 16, 0);
      syncFirst<Tile::threads>();
      this->finishRows(epilogue);
    }
    // No block leaves while the other may still reach into it.
    syncCluster();
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
      copyBoxToAll(this->right(slot) + rank * halfColumns * 128, weight, k,
                   this->firstColumn + int(rank) * halfColumns, barrier, 3);
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

  /// Tells both blocks' copying warps that this warp has done with a slot.
  __device__ __forceinline__ void release(int slot) const {
    __syncwarp();
    if (laneOf(threadIdx.x) < cluster)
      arriveAt(empty + slot * 8, uint32(laneOf(threadIdx.x)));
  }

  uint32 rank, full, empty;
  float sums[1][NT][4] = {};
};

} // namespace betz
