//===- contract_simt.cuh - Sums of outer products in f32 registers --------===//
//
// The path of f32 (no TF32) and of columns that 16-byte accesses cannot reach.
// A block takes 64 x 64 results and 16 rows at a time, a thread 4 x 4 results.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "contract_tile.cuh"

namespace betz {

/// Spec: as ContractTile with tiles of 64 x 64 and 256 threads, loadA and
/// loadB (values, row, column, valid).
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void contractSimt(const Spec &spec,
                                             const Epilogue &epilogue,
                                             const int64 *extents) {
  using Tile = ContractTile<Spec>;
  constexpr int chunk = 16, size = 64;
  static_assert(Tile::BN == size && Tile::BK == size, "4 x 4 a thread");
  __shared__ __align__(16) float left[chunk][size], right[chunk][size];
  __shared__ __align__(16) float partial[size * Tile::pitch];
  const Tile tile(extents);
  const int thread = threadIdx.x;
  const int loadRow = thread / 16, loadColumn = thread % 16 * 4;
  const int row = thread / 16 * 4, column = thread % 16 * 4;
  auto valid = [&](int64 at, int left) {
    return at < tile.rows ? max(0, min(left, 4)) : 0;
  };
  float sums[4][4] = {};
  for (int64 first = tile.block * chunk; first < tile.rows;
       first += Tile::blocks * chunk) {
    const int64 at = first + loadRow;
    const int n = tile.firstRow + loadColumn;
    const int k = tile.firstColumn + loadColumn;
    float a[4], b[4];
    spec.loadA(a, at, n, valid(at, Spec::resultRows - n));
    spec.loadB(b, at, k, valid(at, Spec::columns - k));
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      left[loadRow][loadColumn + i] = a[i];
      right[loadRow][loadColumn + i] = b[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < chunk; ++i) {
      const float4 x = *reinterpret_cast<const float4 *>(&left[i][row]);
      const float4 y = *reinterpret_cast<const float4 *>(&right[i][column]);
      const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n)
          sums[m][n] = fmaf(xs[m], ys[n], sums[m][n]);
    }
  }
#pragma unroll
  for (int m = 0; m < 4; ++m)
#pragma unroll
    for (int n = 0; n < 4; ++n)
      partial[(row + m) * Tile::pitch + column + n] = sums[m][n];
  tile.finish(epilogue, partial);
}

} // namespace betz
