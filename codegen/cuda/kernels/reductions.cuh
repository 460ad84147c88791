//===- reductions.cuh - Sums over the rows of a tensor --------------------===//
//
// No sum is shared between tasks. A task is a block, or a cluster whose blocks
// take turns; lanes take turns within a block, and trees that are always the
// same add what lanes, warps and blocks have. So the rows alone fix the bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cluster.cuh"
#include "rows.cuh"

namespace betz {

/// The sum over a block of `warps` warps, in every thread.
template <int warps> __device__ __forceinline__ float sumBlock(float x) {
  __shared__ float parts[warps];
  x = sumLanes(x);
  __syncthreads(); // of a sum before this one
  if (laneOf(threadIdx.x) == 0)
    parts[warpOf(threadIdx.x)] = x;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < warps; ++i)
    sum += parts[i];
  return sum;
}

/// The sum over the blocks of a cluster of what each of their threads has, in
/// the first block's threads.
template <int warps, int blocks>
__device__ __forceinline__ float sumCluster(float x) {
  __shared__ __align__(16) float own[4];
  const float sum = sumBlock<warps>(x);
  if (threadIdx.x < 4)
    own[threadIdx.x] = sum;
  meetBlocks<blocks>();
  float sums[4] = {sum};
  if (blockIdx.x % blocks == 0)
    sumBlocks<blocks>(sums, own);
  meetBlocks<blocks>();
  return sums[0];
}

/// The sum of `term(row, column, valid)` over groups of 8 columns, in the
/// threads of the cluster's first block. Spec: columns, warps, blocks.
template <typename Spec, typename Term>
__device__ __forceinline__ float sumGroups(int64 rows, Term term) {
  constexpr int groups = (Spec::columns + 7) / 8, threads = Spec::warps * 32;
  const int64 all = rows * groups;
  float sum = 0;
#pragma unroll 4 // so that several loads are under way
  for (int64 i = blockIdx.x % Spec::blocks * threads + threadIdx.x; i < all;
       i += Spec::blocks * threads) {
    const int64 row = Spec::oneRow ? 0 : i / groups;
    const int column = int(i - row * groups) * 8;
    sum += term(row, column, Spec::columns - column < 8 ? Spec::columns - column
                                                        : 8);
  }
  return sumCluster<Spec::warps, Spec::blocks>(sum);
}

/// SquareSumCore: Spec as sumGroups, and inputRows(extents), loadX.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
squareSum(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  float value[1] = {sumGroups<Spec>(
      Spec::inputRows(extents), [&](int64 row, int column, int valid) {
        float values[8], sum = 0;
        spec.loadX(values, row, column, valid);
#pragma unroll
        for (int i = 0; i < 8; ++i)
          sum = fmaf(values[i], values[i], sum);
        return sum;
      })};
  if (blockIdx.x == 0 && threadIdx.x == 0)
    epilogue.finish(value, 0, 0, 1);
}

/// The mean squared error: Spec as squareSum, and loadTarget.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
mseLoss(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  const int64 rows = Spec::inputRows(extents);
  const float sum =
      sumGroups<Spec>(rows, [&](int64 row, int column, int valid) {
        float values[8], target[8], total = 0;
        spec.loadX(values, row, column, valid);
        spec.loadTarget(target, row, column, valid);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float error = values[i] - target[i];
          total = fmaf(error, error, total);
        }
        return total;
      });
  float value[1] = {rows > 0 ? sum / (float(rows) * float(Spec::columns))
                             : 0.0f};
  if (blockIdx.x == 0 && threadIdx.x == 0)
    epilogue.finish(value, 0, 0, 1);
}

/// How many of `rows` labels are not negative.
template <int warps, typename Spec>
__device__ __forceinline__ float countLabels(const Spec &spec, int64 rows) {
  int count = 0;
  for (int64 row = threadIdx.x; row < rows; row += warps * 32)
    count += spec.label[row] >= 0;
  return sumBlock<warps>(float(count));
}

/// The logarithm of the sum of a row's exponentials, in every lane.
template <typename Spec>
__device__ __forceinline__ float logSumOfRow(const Spec &spec, int64 row) {
  float largest = -kInfinity;
  forLaneColumns<8, Spec::columns>([&](int column, int valid) {
    float values[8];
    spec.loadX(values, row, column, valid);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (i < valid)
        largest = fmaxf(largest, values[i]);
  });
  largest = maxLanes(largest);
  float sum = 0;
  forLaneColumns<8, Spec::columns>([&](int column, int valid) {
    float values[8];
    spec.loadX(values, row, column, valid);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (i < valid)
        sum += expf(values[i] - largest);
  });
  return largest + logf(sumLanes(sum));
}

/// The mean cross-entropy: one block, a warp a row. Spec has columns, warps,
/// inputRows(extents), loadX and label (i32, a row each).
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void crossEntropy(const Spec &spec,
                                             const Epilogue &epilogue,
                                             const int64 *extents) {
  const int64 rows = Spec::inputRows(extents);
  float sum = 0;
  for (int64 row = warpOf(threadIdx.x); row < rows; row += Spec::warps) {
    const int label = spec.label[row];
    if (label < 0)
      continue;
    const float total = logSumOfRow(spec, row);
    float chosen[1];
    spec.loadX(chosen, row, label, 1);
    if (laneOf(threadIdx.x) == 0)
      sum += total - chosen[0];
  }
  sum = sumBlock<Spec::warps>(sum);
  const float count = countLabels<Spec::warps>(spec, rows);
  float value[1] = {count > 0.0f ? sum / count : 0.0f};
  if (threadIdx.x == 0)
    epilogue.finish(value, 0, 0, 1);
}

/// What `lanes` lanes of a block have of `columns` columns, added up in a tree:
/// the first lane's threads end with the sums. `scratch`: lanes * columns.
template <int lanes, int columns>
__device__ __forceinline__ void sumRowLanes(float (&sums)[8], float *scratch,
                                            int lane, int column) {
  float *own = scratch + lane * columns + column;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    own[i] = sums[i];
#pragma unroll 1
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (lane < distance)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        own[i] += own[distance * columns + i];
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    sums[i] = own[i];
}

/// ColumnSumCore: a task is `tileColumns` columns. Spec has columns, warps,
/// blocks, rowLanes (of a block), inputRows(extents) and loadX.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
columnSum(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  constexpr int groups = Spec::tileColumns / 8, lanes = Spec::rowLanes;
  static_assert(groups * lanes == Spec::warps * 32, "a thread a group");
  __shared__ __align__(16) float scratch[lanes * Spec::tileColumns];
  const int64 rows = Spec::inputRows(extents);
  const int lane = threadIdx.x / groups;
  const int inTile = threadIdx.x % groups * 8;
  const int column =
      int(blockIdx.x / Spec::blocks) * Spec::tileColumns + inTile;
  const int valid = max(0, min(Spec::columns - column, 8));
  float sums[8] = {};
#pragma unroll 8 // so that several loads are under way
  for (int64 row = blockIdx.x % Spec::blocks * lanes + lane; row < rows;
       row += Spec::blocks * lanes) {
    float values[8];
    spec.loadX(values, row, column, valid);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sums[i] += values[i];
  }
  sumRowLanes<lanes, Spec::tileColumns>(sums, scratch, lane, inTile);
  meetBlocks<Spec::blocks>();
  if (blockIdx.x % Spec::blocks == 0 && lane == 0 && valid > 0) {
    sumBlocks<Spec::blocks>(sums, scratch + inTile);
    epilogue.finish(sums, 0, column, valid);
  }
  meetBlocks<Spec::blocks>();
}

/// ScatterSumCore: a task is a row of the result and `tileColumns` columns. The
/// block looks through `chunk` indices at a time, lists those that are its
/// row's in their order, and its lanes add what these say in turns. Spec has
/// columns, warps, rowLanes, inputRows(extents), index and loadX.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
scatterSum(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  constexpr int chunk = 8192, warps = Spec::warps, steps = chunk / (warps * 32);
  constexpr int groups = Spec::tileColumns / 8, lanes = Spec::rowLanes;
  static_assert(groups * lanes == warps * 32, "a thread a group");
  static_assert(steps <= 32, "a bit a step");
  __shared__ uint16 list[chunk];
  __shared__ int counts[warps];
  __shared__ __align__(16) float scratch[lanes * Spec::tileColumns];
  constexpr int tiles =
      (Spec::columns + Spec::tileColumns - 1) / Spec::tileColumns;
  const int row = int(blockIdx.x / tiles);
  const int inTile = threadIdx.x % groups * 8;
  const int column = int(blockIdx.x % tiles) * Spec::tileColumns + inTile;
  const int valid = max(0, min(Spec::columns - column, 8));
  const int warp = warpOf(threadIdx.x), lane = laneOf(threadIdx.x);
  const int64 rows = Spec::inputRows(extents);
  float sums[8] = {};
  for (int64 first = 0; first < rows; first += chunk) {
    uint32 found = 0;
    int count = 0;
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      const int64 at = first + (warp * steps + i) * 32 + lane;
      const bool mine = at < rows && spec.index[at] == row;
      found |= uint32(mine) << i;
      count += __popc(__ballot_sync(0xffffffffu, mine));
    }
    if (lane == 0)
      counts[warp] = count;
    __syncthreads(); // and the list of the chunk before is used up
    int place = 0, all = 0;
#pragma unroll
    for (int i = 0; i < warps; ++i) {
      place += i < warp ? counts[i] : 0;
      all += counts[i];
    }
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      const bool mine = (found >> i) & 1;
      const uint32 votes = __ballot_sync(0xffffffffu, mine);
      if (mine)
        list[place + __popc(votes & ((1u << lane) - 1))] =
            uint16((warp * steps + i) * 32 + lane);
      place += __popc(votes);
    }
    __syncthreads();
#pragma unroll 4 // so that several loads are under way
    for (int i = threadIdx.x / groups; i < all; i += lanes) {
      float values[8];
      spec.loadX(values, first + list[i], column, valid);
#pragma unroll
      for (int j = 0; j < 8; ++j)
        sums[j] += values[j];
    }
  }
  const int rowLane = threadIdx.x / groups;
  sumRowLanes<lanes, Spec::tileColumns>(sums, scratch, rowLane, inTile);
  if (rowLane == 0 && valid > 0)
    epilogue.finish(sums, row, column, valid);
}

} // namespace betz
