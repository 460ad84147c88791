//===- matmul_tile.cuh - What the tensor core matmuls share ---------------===//
#pragma once

#include "mma.cuh"

namespace betz {

/// A block's tile of tileRows x tileColumns results. K comes in stages of 64
/// through cp.async, rows of x and of the weight swizzled as in mma.cuh.
/// Results go through shared memory, to be finished eight columns at a time.
///
/// Spec: rows(extents), depth (a multiple of 8), columns, tileRows,
/// tileColumns, tileDepth (64), stages, threads (two a row), x and weight
/// (16-byte aligned bf16), xStride, scalesRows, eps.
template <typename Spec> class MatmulTile {
protected:
  static constexpr int BM = Spec::tileRows, BN = Spec::tileColumns;
  static constexpr int BK = Spec::tileDepth;
  static constexpr int stages = Spec::stages, threads = Spec::threads;
  static constexpr int steps = (Spec::depth + BK - 1) / BK;
  static constexpr int stageBytes = (BM + BN) * 128;
  static constexpr int pitch = BN + 8; // floats: no bank twice
  static constexpr int parts = threads / BM;
  static_assert(BK == 64, "a row of a stage is 128 bytes");
  static_assert(threads % BM == 0 && 8 % parts == 0, "a thread has one row");

  __device__ __forceinline__ MatmulTile(const Spec &spec, const int64 *extents,
                                        unsigned char *shared)
      : spec(spec), rows(Spec::rows(extents)), memory(shared),
        base(sharedAddress(shared)) {
    constexpr int columnTiles = (Spec::columns + BN - 1) / BN;
    firstRow = int64(blockIdx.x / columnTiles) * BM;
    firstColumn = int(blockIdx.x % columnTiles) * BN;
  }

  __device__ __forceinline__ uint32 left(int slot) const {
    return base + slot * stageBytes;
  }
  __device__ __forceinline__ uint32 right(int slot) const {
    return left(slot) + BM * 128;
  }

  /// Starts the copies of a stage, and ends their group whether it had any.
  __device__ __forceinline__ void loadStage(int step) const {
    if (step < steps) {
      const int slot = step % stages, k = step * BK;
      loadRows<BM>(left(slot), spec.x, Spec::xStride, firstRow, rows, k);
      loadRows<BN>(right(slot), spec.weight, Spec::depth, int64(firstColumn),
                   int64(Spec::columns), k);
    }
    commitCopies();
  }

  /// Adds the squares of this thread's part of a row of x.
  __device__ __forceinline__ void measureStage(int slot) {
    if constexpr (Spec::scalesRows) {
      const int row = threadIdx.x % BM, part = threadIdx.x / BM;
#pragma unroll
      for (int c = 0; c < 8 / parts; ++c)
        squares = addSquares(left(slot) + swizzled(row, part * (8 / parts) + c),
                             squares);
    }
  }

  /// Fragments of 16 x 8 at (row + 16 m, column + 8 n) as rows of `pitch`
  /// floats, and behind them the rows' partial sums of squares.
  template <int MT, int NT>
  __device__ __forceinline__ void stageResults(const float (&sums)[MT][NT][4],
                                               int row, int column) const {
    float *tile = reinterpret_cast<float *>(memory);
    const int lane = laneOf(threadIdx.x);
    row += lane / 4, column += lane % 4 * 2;
#pragma unroll
    for (int m = 0; m < MT; ++m)
#pragma unroll
      for (int n = 0; n < NT; ++n) {
        float *at = tile + (row + m * 16) * pitch + column + n * 8;
        *reinterpret_cast<float2 *>(at) =
            make_float2(sums[m][n][0], sums[m][n][1]);
        *reinterpret_cast<float2 *>(at + 8 * pitch) =
            make_float2(sums[m][n][2], sums[m][n][3]);
      }
    if constexpr (Spec::scalesRows)
      tile[BM * pitch + threadIdx.x] = squares;
  }

  template <typename Epilogue>
  __device__ __forceinline__ void finishRows(const Epilogue &epilogue) const {
    const bool whole =
        firstRow + BM <= rows && firstColumn + BN <= Spec::columns;
    if (whole)
      finishGroups<true>(epilogue);
    else
      finishGroups<false>(epilogue);
  }

  const Spec &spec;
  int64 rows, firstRow;
  int firstColumn;
  unsigned char *memory;
  uint32 base;
  float squares = 0;

private:
  /// Columns [k, k + 64) of `count` rows; zeros outside the matrix.
  template <int count>
  __device__ __forceinline__ static void loadRows(uint32 to, const bf16 *matrix,
                                                  int64 stride, int64 first,
                                                  int64 end, int k) {
#pragma unroll
    for (int i = 0; i < count * 8 / threads; ++i) {
      const int place = i * threads + int(threadIdx.x);
      const int row = place / 8, chunk = place % 8;
      const bool valid = first + row < end && k + chunk * 8 < Spec::depth;
      const bf16 *from =
          matrix + (valid ? (first + row) * stride + k + chunk * 8 : 0);
      copyAsync(to + swizzled(row, chunk), from, valid ? 16 : 0);
    }
  }

  /// Groups of eight columns, a thread always in the same ones.
  template <bool whole, typename Epilogue>
  __device__ __forceinline__ void finishGroups(const Epilogue &epilogue) const {
    constexpr int groups = BN / 8, rowsAtOnce = threads / groups;
    static_assert(threads % groups == 0 && BM % rowsAtOnce == 0, "whole rows");
    const float *tile = reinterpret_cast<float *>(memory);
    const int column = int(threadIdx.x) % groups * 8;
    const int left = Spec::columns - firstColumn - column;
#pragma unroll 2
    for (int row = int(threadIdx.x) / groups; row < BM; row += rowsAtOnce) {
      if (!whole && (firstRow + row >= rows || left <= 0))
        continue;
      const float4 *from =
          reinterpret_cast<const float4 *>(tile + row * pitch + column);
      const float4 low = from[0], high = from[1];
      float values[8] = {low.x,  low.y,  low.z,  low.w,
                         high.x, high.y, high.z, high.w};
      epilogue.finish(values, firstRow + row, firstColumn + column,
                      whole || left >= 8 ? 8 : left, rowScale(row));
    }
  }

  /// The parts' sums of squares are added in order.
  __device__ __forceinline__ float rowScale(int row) const {
    if constexpr (!Spec::scalesRows)
      return 1.0f;
    const float *partial = reinterpret_cast<float *>(memory) + BM * pitch + row;
    float sum = partial[0];
#pragma unroll
    for (int part = 1; part < parts; ++part)
      sum += partial[part * BM];
    return rsqrtf(sum / float(Spec::depth) + Spec::eps);
  }
};

} // namespace betz
