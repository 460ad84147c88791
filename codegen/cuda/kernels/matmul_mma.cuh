//===- matmul_mma.cuh - Rows times a weight on mma.sync -------------------===//
//
// Each warp takes 16-row and 8-column fragments of the tile. A result's
// products are added in steps of 16 k in order, so that no tile changes bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "matmul_tile.cuh"

namespace betz {

/// Spec: as MatmulTile, and threads, warpRows, warpColumns (warps along each).
template <typename Spec> class MatmulMma : MatmulTile<Spec> {
  using Tile = MatmulTile<Spec>;
  static constexpr int WM = Tile::BM / Spec::warpRows;
  static constexpr int WN = Tile::BN / Spec::warpColumns;
  static constexpr int MT = WM / 16, NT = WN / 8;
  static_assert(WM % 16 == 0 && WN % 32 == 0, "whole groups of columns");

public:
  __device__ __forceinline__ MatmulMma(const Spec &spec, const int64 *extents,
                                       unsigned char *shared)
      : Tile(spec, extents, shared),
        warpRow(warpOf(threadIdx.x) / Spec::warpColumns * WM),
        warpColumn(warpOf(threadIdx.x) % Spec::warpColumns * WN) {}

  template <typename Epilogue>
  __device__ __forceinline__ void run(const Epilogue &epilogue) {
    if (this->firstRow >= this->rows)
      return;
#pragma unroll
    for (int s = 0; s < Tile::stages - 1; ++s)
      loadStage(s);
    const auto all = this->template beginRows<16, MT>(warpRow, warpColumn);
    for (int step = 0; step < Tile::steps; ++step) {
      waitCopies<Tile::stages - 2>();
      __syncthreads();
      loadStage(step + Tile::stages - 1);
      multiplyStage(step % Tile::stages);
    }
    waitCopies<0>();
    typename Epilogue::template Reads<8> reads[2][2 * MT];
    this->readGroup(epilogue, all, 0, reads[0]);
    this->finish(epilogue, all, reads, sums);
  }

private:
  /// Starts the copies of a stage, and ends their group whether it had any.
  __device__ __forceinline__ void loadStage(int step) const {
    if (step < Tile::steps) {
      const int slot = step % Tile::stages, k = step * Tile::BK;
      loadRows<Tile::BM, false>(this->left(slot), this->spec.x, Spec::xStride,
                                this->firstRow, this->rows, k);
      loadRows<Tile::BN, true>(this->right(slot), this->spec.weight,
                               Spec::depth, int64(this->firstColumn),
                               int64(Spec::columns), k);
    }
    commitCopies();
  }

  /// Columns [k, k + 64) of `count` rows; zeros outside the matrix.
  template <int count, bool interleaved>
  __device__ __forceinline__ static void loadRows(uint32 to, const bf16 *matrix,
                                                  int64 stride, int64 first,
                                                  int64 end, int k) {
#pragma unroll
    for (int i = 0; i < count * 8 / Spec::threads; ++i) {
      const int place = i * Spec::threads + int(threadIdx.x);
      const int row = place / 8, chunk = place % 8;
      const int64 from = first + (interleaved ? interleavedColumn(row) : row);
      const bool valid = from < end && k + chunk * 8 < Spec::depth;
      copyAsync(to + swizzled(row, chunk),
                matrix + (valid ? from * stride + k + chunk * 8 : 0),
                valid ? 16 : 0);
    }
  }

  __device__ __forceinline__ void multiplyStage(int slot) {
    const uint32 left = this->left(slot), right = this->right(slot);
    const int lane = laneOf(threadIdx.x);
#pragma unroll
    for (int k = 0; k < Tile::BK / 16; ++k) {
      uint32 a[MT][4], b[NT / 2][4];
#pragma unroll
      for (int m = 0; m < MT; ++m)
        loadMatrices(a[m], left + swizzled(warpRow + m * 16 + lane % 16,
                                           k * 2 + lane / 16));
#pragma unroll
      for (int n = 0; n < NT / 2; ++n)
        loadMatrices(b[n], right + swizzled(warpColumn + n * 16 + lane % 8 +
                                                lane / 16 * 8,
                                            k * 2 + lane / 8 % 2));
#pragma unroll
      for (int m = 0; m < MT; ++m)
#pragma unroll
        for (int n = 0; n < NT; ++n)
          multiplyAdd(sums[m][n], a[m], b[n / 2][n % 2 * 2],
                      b[n / 2][n % 2 * 2 + 1]);
    }
  }

  int warpRow, warpColumn;
  float sums[MT][NT][4] = {};
};

} // namespace betz
