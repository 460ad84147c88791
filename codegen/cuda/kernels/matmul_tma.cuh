//===- matmul_tma.cuh - Rows times a weight on Hopper ---------------------===//
//
// One warp starts bulk copies; each warpgroup of the others multiplies its rows
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

/// Spec: as MatmulTile, and warpgroups, which divide the rows; columns is a
/// multiple of 32; weightIsConstant: nothing in the step writes it. Beside the
/// warpgroups a warp copies. Behind the stages lie their barriers.
template <typename Spec> class MatmulTma : MatmulTile<Spec> {
  using Tile = MatmulTile<Spec>;
  static constexpr int NT = Tile::BN / 8, stages = Tile::stages;
  static constexpr int threads = Spec::warpgroups * 128;
  static constexpr int groupRows = Tile::BM / Spec::warpgroups;
  static constexpr int MT = groupRows / 64;
  static_assert(groupRows % 64 == 0, "an instruction has 64 rows");
  static_assert(Spec::columns % 32 == 0, "whole groups are interleaved");

public:
  __device__ __forceinline__ MatmulTma(const Spec &spec, const int64 *extents,
                                       unsigned char *shared)
      : Tile(spec, extents, shared),
        full(this->base + stages * Tile::stageBytes), empty(full + stages * 8) {
  }

  template <typename Epilogue>
  __device__ __forceinline__ void
  run(const Epilogue &epilogue, const TensorMap &x, const TensorMap &weight) {
    if (threadIdx.x == threads) {
      for (int s = 0; s < stages; ++s) {
        initBarrier(full + s * 8, 1);
        initBarrier(empty + s * 8, threads / 32);
      }
      showBarriers();
    }
    __syncthreads();
    const bool hasRows = this->firstRow < this->rows;
    if (warpOf(threadIdx.x) == threads / 32) {
      if (laneOf(threadIdx.x) == 0 && hasRows)
        copyStages(x, weight);
      else
        followPrevious();
      return;
    }
    followPrevious();
    if (!hasRows)
      return;
    const auto all = this->template beginRows<64, MT>(firstRowOfWarp(), 0);
    typename Epilogue::template Reads<8> reads[2][2 * MT];
    this->readGroup(epilogue, all, 0, reads[0]);
    multiplyStages();
    this->finish(epilogue, all, reads, sums);
  }

private:
  __device__ __forceinline__ static int firstRowOfWarp() {
    const int warp = warpOf(threadIdx.x);
    return warp / 4 * groupRows + warp % 4 * 16;
  }

  /// The first stages of a constant weight are fetched while the kernel before
  /// this one still runs.
  __device__ __forceinline__ void copyStages(const TensorMap &x,
                                             const TensorMap &weight) const {
    constexpr int early = !Spec::weightIsConstant ? 0
                          : stages < Tile::steps  ? stages
                                                  : Tile::steps;
    for (int step = 0; step < early; ++step)
      copyWeight(weight, step);
    followPrevious();
    for (int step = 0; step < Tile::steps; ++step) {
      const int slot = step % stages;
      if (step >= stages)
        waitFor(empty + slot * 8, (step / stages - 1) & 1);
      if (step >= early)
        copyWeight(weight, step);
      copyBox(this->left(slot), x, step * Tile::BK, int(this->firstRow),
              full + slot * 8);
    }
  }
  __device__ __forceinline__ void copyWeight(const TensorMap &weight,
                                             int step) const {
    const int slot = step % stages;
    expectBytes(full + slot * 8, Tile::stageBytes);
    copyInterleaved(this->right(slot), weight, step * Tile::BK,
                    this->firstColumn / 32, full + slot * 8);
  }

  __device__ __forceinline__ void multiplyStages() {
    for (int step = 0; step < Tile::steps; ++step) {
      const int slot = step % stages;
      waitFor(full + slot * 8, (step / stages) & 1);
      multiplyTiles(
          sums, this->left(slot) + warpOf(threadIdx.x) / 4 * (groupRows * 128),
          this->right(slot));
      waitMultiply<1>();
      if (step > 0)
        release((step - 1) % stages);
    }
    waitMultiply<0>();
  }

  /// Tells the copying warp that this warp has done with a slot.
  __device__ __forceinline__ void release(int slot) const {
    __syncwarp();
    if (laneOf(threadIdx.x) == 0)
      arrive(empty + slot * 8);
  }

  uint32 full, empty;
  float sums[MT][NT][4] = {};
};

} // namespace betz
