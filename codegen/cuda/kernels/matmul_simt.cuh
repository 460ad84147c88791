//===- matmul_simt.cuh - Rows times a transposed weight, in f32 registers -===//
//
// The path of f32 (no TF32) and of shapes that the tensor cores' 16-byte
// accesses cannot reach. A block takes 64 x 64 results, a thread 4 x 4;
// products are added one k after another, so that no tile changes bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "base.cuh"

namespace betz {

/// Spec: rows(extents), depth, columns, loadX(values, row, k, valid),
/// loadWeight(values, n, k, valid), and what MatmulTile's Spec says of squares.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
matmulSimt(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  constexpr int tile = 64, chunk = 16, pitch = tile + 4;
  __shared__ __align__(16) float left[chunk][pitch], right[chunk][pitch];
  __shared__ float scales[tile];
  constexpr int columnTiles = (Spec::columns + tile - 1) / tile;
  const int64 firstRow = int64(blockIdx.x / columnTiles) * tile;
  const int firstColumn = int(blockIdx.x % columnTiles) * tile;
  const int64 rows = Spec::rows(extents);
  if (firstRow >= rows)
    return;

  const int thread = threadIdx.x;
  const int loadRow = thread / 4, loadK = thread % 4 * 4;
  const int row = thread / 16 * 4, column = thread % 16 * 4;
  float sums[4][4] = {};
  for (int k = 0; k < Spec::depth; k += chunk) {
    float a[4], b[4];
    const int left4 = Spec::depth - k - loadK;
    const int valid = left4 < 0 ? 0 : left4 < 4 ? left4 : 4;
    spec.loadX(a, firstRow + loadRow, k + loadK,
               firstRow + loadRow < rows ? valid : 0);
    spec.loadWeight(b, firstColumn + loadRow, k + loadK,
                    firstColumn + loadRow < Spec::columns ? valid : 0);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; ++i)
      left[loadK + i][loadRow] = a[i], right[loadK + i][loadRow] = b[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < chunk; ++i) {
      const float4 x = *reinterpret_cast<const float4 *>(&left[i][row]);
      const float4 w = *reinterpret_cast<const float4 *>(&right[i][column]);
      const float xs[4] = {x.x, x.y, x.z, x.w}, ws[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n)
          sums[m][n] = fmaf(xs[m], ws[n], sums[m][n]);
    }
  }
  if constexpr (Spec::readsSquares) {
    if (thread < tile && firstRow + thread < rows) {
      const float *groups =
          spec.squares + (firstRow + thread) * Spec::squareGroups;
      float sum = 0;
      for (int i = 0; i < Spec::squareGroups; ++i)
        sum += groups[i];
      scales[thread] = 1.0f / sqrtf(sum / float(Spec::depth) + Spec::eps);
    }
    __syncthreads();
  }
  const int left4 = Spec::columns - firstColumn - column;
  const int valid = left4 < 0 ? 0 : left4 < 4 ? left4 : 4;
#pragma unroll
  for (int m = 0; m < 4; ++m) {
    const bool isThere = firstRow + row + m < rows && valid > 0;
    if (isThere)
      epilogue.finish(sums[m], firstRow + row + m, firstColumn + column, valid,
                      Spec::readsSquares ? scales[row + m] : 1.0f);
    if constexpr (Spec::writesSquares) {
      // Eight threads have the 32 columns of a group.
      float sum = 0;
#pragma unroll
      for (int n = 0; n < 4; ++n)
        sum = fmaf(sums[m][n], sums[m][n], sum);
#pragma unroll
      for (int distance = 1; distance < 8; distance *= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      if (isThere && thread % 8 == 0)
        spec.ownSquares[(firstRow + row + m) * (Spec::columns / 32) +
                        (firstColumn + column) / 32] = sum;
    }
  }
}

} // namespace betz
