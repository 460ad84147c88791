//===- matmul_persistent.cuh - Large matmuls on Hopper --------------------===//
//
// A block for each multiprocessor goes through many tiles. One warpgroup starts
// bulk copies; two others take tiles in turn, so that one multiplies while the
// other finishes its rows. Two blocks form a cluster: they have neighbouring
// rows, and each fetches half of the weight's tile for both. Products are added
// in the order of matmul_tma.cuh.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul_tile.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

namespace betz {

/// Spec: as MatmulTma without warpgroups. Behind the stages lie their barriers.
template <typename Spec> class MatmulPersistent : MatmulTile<Spec> {
  using Tile = MatmulTile<Spec>;
  static constexpr int BM = Tile::BM, BN = Tile::BN;
  static constexpr int MT = BM / 64, NT = BN / 8;
  static constexpr int stages = Tile::stages, steps = Tile::steps;
  static constexpr int columnTiles = (Spec::columns + BN - 1) / BN;
  static constexpr int blocks = 2; // of a cluster
  static constexpr int copied = BN / blocks;
  static_assert(BM % 64 == 0, "an instruction has 64 rows");
  static_assert(Spec::columns % 32 == 0, "whole groups are interleaved");

public:
  __device__ __forceinline__ MatmulPersistent(const Spec &spec,
                                              const int64 *extents,
                                              unsigned char *shared)
      : Tile(spec, extents, shared),
        full(this->base + stages * Tile::stageBytes), empty(full + stages * 8),
        rank(blockOfCluster()),
        tiles(int((this->rows + blocks * BM - 1) / (blocks * BM)) *
              columnTiles) {}

  template <typename Epilogue>
  __device__ __forceinline__ void
  run(const Epilogue &epilogue, const TensorMap &x, const TensorMap &weight) {
    if (threadIdx.x == 0) {
      for (int s = 0; s < stages; ++s) {
        initBarrier(full + s * 8, 1);
        initBarrier(empty + s * 8, blocks * 4);
      }
      showBarriers();
    }
    syncCluster();
    const int group = warpOf(threadIdx.x) / 4;
    if (group == 0) {
      keepRegisters<40>();
      if (threadIdx.x == 0)
        copyTiles(x, weight);
      else
        followPrevious();
      __syncwarp();
    } else {
      takeRegisters<232>();
      followPrevious();
      for (int i = group - 1; select(i); i += 2) {
        const auto all =
            this->template beginRows<64, MT>(warpOf(threadIdx.x) % 4 * 16, 0);
        typename Epilogue::template Reads<8> reads[2][2 * MT];
        this->readGroup(epilogue, all, 0, reads[0]);
        if (i > 0)
          awaitTurn(group);
        multiplyTile(i * steps, 3 - group);
        this->finish(epilogue, all, reads, sums);
      }
    }
    syncCluster(); // the other block may still write here
  }

private:
  /// Makes the cluster's i-th tile the current one, if there is one.
  __device__ __forceinline__ bool select(int i) {
    const int clusters = int(gridDim.x) / blocks;
    const int tile = int(blockIdx.x) / blocks + i * clusters;
    this->firstRow = (int64(tile / columnTiles) * blocks + rank) * BM;
    this->firstColumn = tile % columnTiles * BN;
    return tile < tiles;
  }

  /// The first stages of a constant weight are fetched while the kernel before
  /// this one still runs.
  __device__ __forceinline__ void copyTiles(const TensorMap &x,
                                            const TensorMap &weight) {
    constexpr int early = !Spec::weightIsConstant ? 0
                          : stages < steps        ? stages
                                                  : steps;
    if (select(0))
      for (int step = 0; step < early; ++step)
        copyWeight(weight, step, step);
    followPrevious();
    for (int i = 0; select(i); ++i)
      for (int step = 0; step < steps; ++step) {
        const int index = i * steps + step, slot = index % stages;
        if (index >= stages)
          waitFor(empty + slot * 8, (index / stages - 1) & 1);
        if (index >= early)
          copyWeight(weight, step, slot);
        copyBox(this->left(slot), x, step * Tile::BK, int(this->firstRow),
                full + slot * 8);
      }
  }
  __device__ __forceinline__ void copyWeight(const TensorMap &weight, int step,
                                             int slot) const {
    expectBytes(full + slot * 8, Tile::stageBytes);
    copyInterleavedToAll(this->right(slot) + rank * (copied * 128), weight,
                         step * Tile::BK,
                         (this->firstColumn + int(rank) * copied) / 32,
                         full + slot * 8, (1 << blocks) - 1);
  }

  /// Warpgroups wait for stages in order: a barrier tells only whether the
  /// phase before the current one has ended.
  __device__ __forceinline__ static void awaitTurn(int group) {
    asm volatile("bar.sync %0, 256;" ::"r"(group) : "memory");
  }
  __device__ __forceinline__ static void giveTurn(int group) {
    asm volatile("bar.arrive %0, 256;" ::"r"(group) : "memory");
  }

  /// `index`: of its first stage, counted from the block's first. The turn goes
  /// to warpgroup `next` once all stages have been seen.
  __device__ __forceinline__ void multiplyTile(int index, int next) {
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int i = 0; i < NT * 4; ++i)
        sums[m][i / 4][i % 4] = 0;
    for (int step = 0; step < steps; ++step, ++index) {
      const int slot = index % stages;
      waitFor(full + slot * 8, (index / stages) & 1);
      multiplyTiles(sums, this->left(slot), this->right(slot));
      waitMultiply<1>();
      if (step > 0)
        release((index - 1) % stages);
    }
    giveTurn(next);
    waitMultiply<0>();
    release((index - 1) % stages);
  }

  /// Tells the copying threads of both blocks that this warp is done with a
  /// slot.
  __device__ __forceinline__ void release(int slot) const {
    __syncwarp();
    const int lane = laneOf(threadIdx.x);
    if (lane < blocks)
      arriveAt(empty + slot * 8, uint32(lane));
  }

  uint32 full, empty, rank;
  int tiles;
  float sums[MT][NT][4];
};

} // namespace betz
