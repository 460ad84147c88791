//===- contract_mma.cuh - Sums of outer products on mma.sync --------------===//
//
// Rows lie in shared memory as in global memory; ldmatrix transposes both
// operands' fragments. A stage is 64 rows, whose products are added 16 rows at a
// time in order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "contract_tile.cuh"
#include "mma.cuh"

namespace betz {

/// Spec: as ContractTile with tiles that are multiples of 64, and a and b
/// (16-byte aligned bf16), aStride, bStride, stages, warpRows, warpColumns
/// (warps along each side). Shared memory holds the stages, or the sums.
template <typename Spec> class ContractMma {
  using Tile = ContractTile<Spec>;
  static constexpr int BN = Tile::BN, BK = Tile::BK, chunk = 64;
  static constexpr int leftBytes = chunk * BN * 2, rightBytes = chunk * BK * 2;
  static constexpr int WN = BN / Spec::warpRows, WK = BK / Spec::warpColumns;
  static constexpr int NT = WN / 16, KT = WK / 8;
  static_assert(WN % 16 == 0 && WK % 16 == 0, "whole fragments");

public:
  __device__ __forceinline__ ContractMma(const Spec &spec, const int64 *extents,
                                         unsigned char *shared)
      : spec(spec), tile(extents), memory(shared),
        stagesAt(sharedAddress(shared)),
        warpRow(warpOf(threadIdx.x) / Spec::warpColumns * WN),
        warpColumn(warpOf(threadIdx.x) % Spec::warpColumns * WK) {}

  template <typename Epilogue>
  __device__ __forceinline__ void run(const Epilogue &epilogue) {
    const int64 chunks = (tile.rows + chunk - 1) / chunk;
    const int steps = int((chunks + Tile::blocks - 1 - tile.block) /
                          Tile::blocks);
#pragma unroll
    for (int s = 0; s < Spec::stages - 1; ++s)
      loadStage(s, steps);
    for (int step = 0; step < steps; ++step) {
      waitCopies<Spec::stages - 2>();
      __syncthreads();
      loadStage(step + Spec::stages - 1, steps);
      multiplyStage(step % Spec::stages);
    }
    waitCopies<0>();
    __syncthreads(); // the sums lie over the stages
    float *partial = reinterpret_cast<float *>(memory);
    storeSums(partial);
    tile.finish(epilogue, partial);
  }

private:
  __device__ __forceinline__ uint32 left(int slot) const {
    return stagesAt + slot * (leftBytes + rightBytes);
  }
  __device__ __forceinline__ uint32 right(int slot) const {
    return left(slot) + leftBytes;
  }

  /// Byte offset of 8 columns of a row; 64 columns of all rows lie together.
  __device__ __forceinline__ static uint32 place(int row, int group) {
    return uint32(group / 8 * (chunk * 128)) + swizzled(row, group % 8);
  }

  /// Starts the copies of a stage, and ends their group whether it had any.
  __device__ __forceinline__ void loadStage(int step, int steps) const {
    if (step < steps) {
      const int slot = step % Spec::stages;
      const int64 first =
          (int64(step) * Tile::blocks + tile.block) * chunk;
      loadRows<BN>(left(slot), spec.a, Spec::aStride, first, tile.firstRow,
                   Spec::resultRows);
      loadRows<BK>(right(slot), spec.b, Spec::bStride, first, tile.firstColumn,
                   Spec::columns);
    }
    commitCopies();
  }

  /// `width` columns from `column` on; zeros outside the matrix.
  template <int width>
  __device__ __forceinline__ void
  loadRows(uint32 to, const bf16 *matrix, int64 stride, int64 first, int column,
           int columns) const {
    constexpr int groups = width / 8;
#pragma unroll
    for (int i = 0; i < chunk * groups / Spec::threads; ++i) {
      const int at = i * Spec::threads + int(threadIdx.x);
      const int row = at / groups, group = at % groups;
      const int from = column + group * 8;
      const bool valid = first + row < tile.rows && from < columns;
      copyAsync(to + place(row, group),
                matrix + (valid ? (first + row) * stride + from : 0),
                valid ? 16 : 0);
    }
  }

  __device__ __forceinline__ void multiplyStage(int slot) {
    const int lane = laneOf(threadIdx.x);
#pragma unroll
    for (int r = 0; r < chunk; r += 16) {
      uint32 a[NT][4], b[KT / 2][4];
#pragma unroll
      for (int n = 0; n < NT; ++n)
        loadTransposed(a[n],
                       left(slot) + place(r + lane % 8 + lane / 16 * 8,
                                          (warpRow + n * 16) / 8 +
                                              lane / 8 % 2));
#pragma unroll
      for (int k = 0; k < KT / 2; ++k)
        loadTransposed(b[k], right(slot) + place(r + lane % 16,
                                                 (warpColumn + k * 16) / 8 +
                                                     lane / 16));
#pragma unroll
      for (int n = 0; n < NT; ++n)
#pragma unroll
        for (int k = 0; k < KT; ++k)
          multiplyAdd(sums[n][k], a[n], b[k / 2][k % 2 * 2],
                      b[k / 2][k % 2 * 2 + 1]);
    }
  }

  __device__ __forceinline__ void storeSums(float *partial) const {
    const int lane = laneOf(threadIdx.x);
#pragma unroll
    for (int n = 0; n < NT; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float *row = partial +
                     (warpRow + n * 16 + lane / 4 + half * 8) * Tile::pitch +
                     warpColumn + lane % 4 * 2;
#pragma unroll
        for (int k = 0; k < KT; ++k)
          *reinterpret_cast<float2 *>(row + k * 8) =
              make_float2(sums[n][k][half * 2], sums[n][k][half * 2 + 1]);
      }
  }

  const Spec &spec;
  const Tile tile;
  unsigned char *memory;
  uint32 stagesAt;
  int warpRow, warpColumn;
  float sums[NT][KT][4] = {};
};

} // namespace betz
