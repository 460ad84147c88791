//===- contract_tile.cuh - Results of sums of rows' outer products --------===//
//
// result[n][k] is the sum over rows r of a[r][n] b[r][k]. A task is a tile of
// the result; the blocks of its cluster take chunks of rows in turns, and each
// finishes an equal share of the tile's rows, adding the blocks' sums in order.
// Chunk and cluster are the same for every tile and bucket, so the bits are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cluster.cuh"

namespace betz {

/// Where a block works. Spec: inputRows(extents); resultRows and columns;
/// tileRows, tileColumns, blocks, threads.
template <typename Spec> struct ContractTile {
  static constexpr int BN = Spec::tileRows, BK = Spec::tileColumns;
  static constexpr int blocks = Spec::blocks;
  /// Floats from row to row of a block's sums: rows of fragments lie in
  /// different banks.
  static constexpr int pitch = BK + 8;

  __device__ __forceinline__ ContractTile(const int64 *extents)
      : rows(Spec::inputRows(extents)), block(int(blockIdx.x % blocks)) {
    constexpr int across = (Spec::columns + BK - 1) / BK;
    const int tile = int(blockIdx.x / blocks);
    firstRow = tile / across * BN;
    firstColumn = tile % across * BK;
  }

  /// `partial` holds this block's sums, BN rows `pitch` apart.
  template <typename Epilogue>
  __device__ __forceinline__ void finish(const Epilogue &epilogue,
                                         const float *partial) const {
    constexpr int share = BN / blocks, groups = BK / 8;
    meetBlocks<blocks>();
    for (int i = threadIdx.x; i < share * groups; i += Spec::threads) {
      const int inTile = block * share + i / groups;
      const int row = firstRow + inTile, column = firstColumn + i % groups * 8;
      if (row >= Spec::resultRows || column >= Spec::columns)
        continue;
      float sums[8];
      sumBlocks<blocks>(sums, partial + inTile * pitch + i % groups * 8);
      epilogue.finish(sums, row, column, min(Spec::columns - column, 8));
    }
    meetBlocks<blocks>(); // none leaves while another reads its memory
  }

  int64 rows;
  int block, firstRow, firstColumn;
};

} // namespace betz
