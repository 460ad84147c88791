//===- matmul_tile.cuh - What the tensor core matmuls share ---------------===//
//
// All multiply 16 x 8 fragments of which a thread holds pairs of columns. The
// weight's rows are interleaved on their way to shared memory, so that a thread
// holds eight neighbouring columns of a row in four fragments: rows are then
// finished in registers, sixteen bytes of bf16 at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma.cuh"

namespace betz {

/// The column that row `place` of a weight tile in shared memory gives; in the
/// tensor maps of runtime/program/KernelAbi.h this is `interleaved`.
__device__ __forceinline__ constexpr int interleavedColumn(int place) {
  return place / 32 * 32 + place % 8 / 2 * 8 + place % 32 / 8 * 2 + place % 2;
}

/// A block's tile of tileRows x tileColumns results; K comes in stages of 64,
/// rows of x and of the weight swizzled as in mma.cuh.
///
/// Spec: rows(extents), depth (a multiple of 8), columns, tileRows,
/// tileColumns, tileDepth (64), stages, x and weight (16-byte aligned bf16),
/// readsSquares (then squares, squareGroups and eps), writesSquares (then
/// ownSquares).
template <typename Spec> class MatmulTile {
protected:
  static constexpr int BM = Spec::tileRows, BN = Spec::tileColumns;
  static constexpr int BK = Spec::tileDepth;
  static constexpr int stages = Spec::stages;
  static constexpr int steps = (Spec::depth + BK - 1) / BK;
  static constexpr int stageBytes = (BM + BN) * 128;
  static_assert(BK == 64, "a row of a stage is 128 bytes");

  __device__ __forceinline__ MatmulTile(const Spec &spec, const int64 *extents,
                                        unsigned char *shared)
      : spec(spec), rows(Spec::rows(extents)), base(sharedAddress(shared)) {
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

  /// The rows of a thread: those of its fragments at firstRow + row + rowStep m
  /// and eight rows below them.
  template <int rowStep, int MT> struct Rows {
    static constexpr int count = 2 * MT;
    int64 first;
    int column; // of the thread's first eight
    float scales[count];

    __device__ __forceinline__ int64 row(int i) const {
      return first + i / 2 * rowStep + i % 2 * 8;
    }
  };

  /// What finishing needs of the rows: read early, so that it has come by then.
  template <int rowStep, int MT>
  __device__ __forceinline__ Rows<rowStep, MT> beginRows(int row,
                                                         int column) const {
    const int lane = laneOf(threadIdx.x);
    Rows<rowStep, MT> all;
    all.first = firstRow + row + lane / 4;
    all.column = firstColumn + column + lane % 4 * 8;
#pragma unroll
    for (int i = 0; i < all.count; ++i)
      all.scales[i] = rowScale(all.row(i));
    return all;
  }

  template <typename Epilogue, typename Rows, typename Reads>
  __device__ __forceinline__ void readGroup(const Epilogue &epilogue,
                                            const Rows &all, int group,
                                            Reads *reads) const {
    const int column = all.column + group * 32;
#pragma unroll
    for (int i = 0; i < all.count; ++i)
      reads[i] = epilogue.template read<8>(
          all.row(i), column, all.row(i) < rows ? valid(column) : 0);
  }

  /// Finishes fragments of 8 columns each, in groups of 32; reads[0] is what
  /// readGroup gave for group 0. While a group is finished the next one is
  /// read, if there are registers for both.
  template <typename Epilogue, typename Rows, typename Reads, int MT, int NT>
  __device__ __forceinline__ void
  finish(const Epilogue &epilogue, const Rows &all, Reads (&reads)[2][2 * MT],
         const float (&sums)[MT][NT][4]) const {
    static_assert(NT % 4 == 0, "four fragments give eight columns");
    constexpr bool ahead = sizeof(Reads) * 2 * MT <= 64;
    float squares[2 * MT];
#pragma unroll
    for (int g = 0; g < NT / 4; ++g) {
      if (ahead && g + 1 < NT / 4)
        readGroup(epilogue, all, g + 1, reads[(g + 1) % 2]);
      if (!ahead && g > 0)
        readGroup(epilogue, all, g, reads[g % 2]);
      const int column = all.column + g * 32;
#pragma unroll
      for (int i = 0; i < all.count; ++i) {
        float values[8];
#pragma unroll
        for (int c = 0; c < 8; ++c)
          values[c] = sums[i / 2][g * 4 + c / 2][i % 2 * 2 + c % 2];
        epilogue.finish(values, reads[g % 2][i], all.row(i), column,
                        all.row(i) < rows ? valid(column) : 0, all.scales[i]);
        if constexpr (Spec::writesSquares)
          keepSquares(squares[i], values, g, NT / 4, all.row(i),
                      all.column / 32);
      }
    }
  }

  const Spec &spec;
  int64 rows, firstRow;
  int firstColumn;
  uint32 base;

private:
  /// How many of the eight columns from `column` on there are.
  __device__ __forceinline__ static int valid(int column) {
    if constexpr (Spec::columns % BN == 0)
      return 8;
    const int left = Spec::columns - column;
    return left < 8 ? left : 8;
  }

  /// Lane l of four keeps the sum of group l of four, which are stored at once.
  __device__ __forceinline__ void keepSquares(float &kept,
                                              const float (&values)[8], int g,
                                              int groups, int64 row,
                                              int firstGroup) const {
    const float sum = squaresOf(values);
    const int lane = laneOf(threadIdx.x) % 4;
    kept = lane == g % 4 ? sum : kept;
    if (g % 4 == 3 || g == groups - 1)
      storeSquares(kept, row, firstGroup + g / 4 * 4, g % 4 + 1);
  }

  /// The sum of the squares of 32 columns: eight in order, then the four lanes
  /// that hold them.
  __device__ __forceinline__ static float squaresOf(const float (&values)[8]) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum = fmaf(values[i], values[i], sum);
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    return sum + __shfl_xor_sync(0xffffffffu, sum, 2);
  }

  /// Each of the first `count` lanes of four has the sum of a group.
  __device__ __forceinline__ void storeSquares(float sum, int64 row, int group,
                                               int count) const {
    constexpr int groups = Spec::columns / 32;
    const int lane = laneOf(threadIdx.x) % 4;
    if (row < rows && lane < count && group + lane < groups)
      spec.ownSquares[row * groups + group + lane] = sum;
  }

  /// The factor of a row of x from the sums of squares that its writer left.
  __device__ __forceinline__ float rowScale(int64 row) const {
    if constexpr (Spec::readsSquares) {
      constexpr int groups = Spec::squareGroups;
      const float *sums = spec.squares + row * groups;
      const int lane = laneOf(threadIdx.x) % 4;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < groups; i += 4)
        if (row < rows && i + lane < groups)
          sum += __ldg(sums + i + lane);
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      return rsqrtf(sum / float(Spec::depth) + Spec::eps);
    }
    return 1.0f;
  }
};

} // namespace betz
