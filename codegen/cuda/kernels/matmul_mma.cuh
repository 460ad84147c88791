//===- matmul_mma.cuh - Rows times a weight on mma.sync -------------------===//
//
// A block takes tileRows x tileColumns results, K in stages of 64 through
// cp.async; each warp 16-row and 8-column fragments. A result's products are
// added in steps of 16 k in order, so that no tile changes bits. Results go
// through shared memory, to be finished eight columns at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma.cuh"

namespace betz {

/// Spec: rows(extents), depth (a multiple of 8), columns, tileRows,
/// tileColumns, stages, warpRows, warpColumns (warps along each), x and weight
/// (16-byte aligned bf16), xStride, scalesRows, eps.
template <typename Spec> class MatmulMma {
  static constexpr int BM = Spec::tileRows, BN = Spec::tileColumns, BK = 64;
  static constexpr int stages = Spec::stages;
  static constexpr int warps = Spec::warpRows * Spec::warpColumns;
  static constexpr int threads = warps * 32;
  static constexpr int WM = BM / Spec::warpRows, WN = BN / Spec::warpColumns;
  static constexpr int MT = WM / 16, NT = WN / 8;
  static constexpr int stageBytes = (BM + BN) * 128;
  static constexpr int pitch = BN + 4;
  static constexpr int parts = threads >= BM ? threads / BM : 1;
  static_assert(WM % 16 == 0 && WN % 16 == 0, "whole fragments");
  static_assert(threads >= BM && threads % BM == 0, "a thread has one row");

public:
  __device__ __forceinline__ MatmulMma(const Spec &spec, const int64 *extents,
                                       unsigned char *shared)
      : spec(spec), rows(Spec::rows(extents)), memory(shared),
        base(sharedAddress(shared)) {
    constexpr int columnTiles = (Spec::columns + BN - 1) / BN;
    firstRow = int64(blockIdx.x / columnTiles) * BM;
    firstColumn = int(blockIdx.x % columnTiles) * BN;
  }

  template <typename Epilogue>
  __device__ __forceinline__ void run(const Epilogue &epilogue) {
    if (firstRow >= rows)
      return;
    constexpr int steps = (Spec::depth + BK - 1) / BK;
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) {
      if (s < steps)
        loadStage(s, s);
      commitCopies();
    }
    for (int step = 0; step < steps; ++step) {
      waitCopies<stages - 2>();
      __syncthreads();
      if (step + stages - 1 < steps)
        loadStage(step + stages - 1, (step + stages - 1) % stages);
      commitCopies();
      multiplyStage(step % stages);
    }
    waitCopies<0>();
    __syncthreads();
    stageResults();
    __syncthreads();
    finishRows(epilogue);
  }

private:
  __device__ __forceinline__ void loadStage(int step, int slot) {
    const uint32 left = base + slot * stageBytes, right = left + BM * 128;
    const int k = step * BK;
#pragma unroll
    for (int i = threadIdx.x; i < BM * 8; i += threads) {
      const int row = i / 8, chunk = i % 8;
      const bool valid =
          firstRow + row < rows && k + chunk * 8 < Spec::depth;
      const bf16 *from =
          spec.x + (valid ? (firstRow + row) * Spec::xStride + k + chunk * 8 : 0);
      copyAsync(left + swizzled(row, chunk), from, valid ? 16 : 0);
    }
#pragma unroll
    for (int i = threadIdx.x; i < BN * 8; i += threads) {
      const int row = i / 8, chunk = i % 8;
      const bool valid =
          firstColumn + row < Spec::columns && k + chunk * 8 < Spec::depth;
      const bf16 *from =
          spec.weight +
          (valid ? int64(firstColumn + row) * Spec::depth + k + chunk * 8 : 0);
      copyAsync(right + swizzled(row, chunk), from, valid ? 16 : 0);
    }
  }

  __device__ __forceinline__ void multiplyStage(int slot) {
    const uint32 left = base + slot * stageBytes, right = left + BM * 128;
    const int warp = warpOf(threadIdx.x), lane = laneOf(threadIdx.x);
    const int warpRow = warp / Spec::warpColumns * WM;
    const int warpColumn = warp % Spec::warpColumns * WN;
#pragma unroll
    for (int k = 0; k < BK / 16; ++k) {
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
    if constexpr (Spec::scalesRows) {
      const int row = threadIdx.x % BM, part = threadIdx.x / BM;
#pragma unroll
      for (int c = 0; c < 8 / parts; ++c)
        squares = addSquares(left + swizzled(row, part * (8 / parts) + c),
                             squares);
    }
  }

  /// The sums as rows of `pitch` floats, and behind them the rows' factors.
  __device__ __forceinline__ void stageResults() {
    float *tile = reinterpret_cast<float *>(memory);
    const int warp = warpOf(threadIdx.x), lane = laneOf(threadIdx.x);
    const int row = warp / Spec::warpColumns * WM + lane / 4;
    const int column = warp % Spec::warpColumns * WN + lane % 4 * 2;
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

  /// The parts' sums of squares are added in order.
  __device__ __forceinline__ float rowScale(int row) const {
    if constexpr (!Spec::scalesRows)
      return 1.0f;
    const float *partial = reinterpret_cast<float *>(memory) + BM * pitch + row;
    float sum = partial[0];
#pragma unroll
    for (int part = 1; part < parts; ++part)
      sum += partial[part * BM];
    return 1.0f / sqrtf(sum / float(Spec::depth) + Spec::eps);
  }

  template <typename Epilogue>
  __device__ __forceinline__ void finishRows(const Epilogue &epilogue) {
    constexpr int groups = BN / 8;
    const float *tile = reinterpret_cast<float *>(memory);
    for (int i = threadIdx.x; i < BM * groups; i += threads) {
      const int row = i / groups, column = i % groups * 8;
      const int left = Spec::columns - firstColumn - column;
      if (firstRow + row >= rows || left <= 0)
        continue;
      float values[8];
      const float4 *from =
          reinterpret_cast<const float4 *>(tile + row * pitch + column);
      const float4 low = from[0], high = from[1];
      values[0] = low.x, values[1] = low.y, values[2] = low.z,
      values[3] = low.w, values[4] = high.x, values[5] = high.y,
      values[6] = high.z, values[7] = high.w;
      epilogue.finish(values, firstRow + row, firstColumn + column,
                      left < 8 ? left : 8, rowScale(row));
    }
  }

  const Spec &spec;
  int64 rows, firstRow;
  int firstColumn;
  unsigned char *memory;
  uint32 base;
  float sums[MT][NT][4] = {};
  float squares = 0;
};

} // namespace betz
