//===- attention_simt.cuh - Attention, a warp a query ---------------------===//
//
// The path of f32 and of head sizes that the tensor cores do not take. Keys
// come in blocks of 32, a key a lane, counted from the window's first; an
// online softmax (Milakov and Gimelshein, 2018) carries maximum and total.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "visibility.cuh"

namespace betz {

/// Spec: as visibility.cuh, and heads, kvHeads, headSize, queryTile,
/// scale, loadQ(row, column), loadK(row, column), loadV(row, column).
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void attentionSimt(const Spec &spec,
                                              const Epilogue &epilogue,
                                              const int64 *extents) {
  constexpr int size = Spec::headSize;
  constexpr int perLane = (size + 31) / 32;
  // Narrow heads: a lane keeps sums over its own keys, added up at the end.
  constexpr bool narrow = size <= 8;
  constexpr int held = narrow ? size : perLane;
  __shared__ float query[Spec::warps][size];
  constexpr int tiles = (Spec::queries + Spec::queryTile - 1) / Spec::queryTile;
  const int tile = int(blockIdx.x % tiles);
  const uint32 rest = blockIdx.x / tiles;
  const int head = int(rest % Spec::heads);
  const int64 batch = rest / Spec::heads;
  if (batch >= Spec::batches(extents))
    return;
  const int warp = warpOf(threadIdx.x), lane = laneOf(threadIdx.x);
  const KeyRange keys = keyRange(spec, batch);
  const int kvColumn = head / (Spec::heads / Spec::kvHeads) * size;

  for (int q = tile * Spec::queryTile + warp;
       q < Spec::queries && q < (tile + 1) * Spec::queryTile;
       q += Spec::warps) {
    const int64 queryRow = Spec::sharedQuery ? q : batch * Spec::queries + q;
    __syncwarp();
    for (int i = lane; i < size; i += 32)
      query[warp][i] = spec.loadQ(queryRow, head * size + i) * Spec::scale;
    __syncwarp();
    const QueryView view = viewOf(spec, q, keys);
    float maximum = -kInfinity, total = 0, sums[held] = {};
    for (int block = keys.first; block < keys.end; block += 32) {
      const int key = block + lane;
      int time = 0;
      if constexpr (Spec::timed)
        time = key < keys.end ? spec.keyTime[key] : 0;
      const bool seen = key < keys.end && sees(spec, view, keys, key, time);
      if (__ballot_sync(0xffffffffu, seen) == 0)
        continue;
      float score = -kInfinity;
      if (seen) {
        score = 0;
        for (int i = 0; i < size; ++i)
          score = fmaf(query[warp][i], spec.loadK(key, kvColumn + i), score);
      }
      const float highest = fmaxf(maximum, maxLanes(score));
      const float rescale =
          maximum == -kInfinity ? 0.0f : expf(maximum - highest);
      const float weight = seen ? expf(score - highest) : 0.0f;
      total = total * rescale + sumLanes(weight);
      maximum = highest;
#pragma unroll
      for (int i = 0; i < held; ++i)
        sums[i] *= rescale;
      if constexpr (narrow) {
#pragma unroll
        for (int i = 0; i < held; ++i)
          if (seen)
            sums[i] = fmaf(weight, spec.loadV(key, kvColumn + i), sums[i]);
      } else {
        for (int j = 0; j < 32; ++j) {
          const float w = __shfl_sync(0xffffffffu, weight, j);
          if (w == 0.0f)
            continue;
#pragma unroll
          for (int i = 0; i < held; ++i)
            if (i * 32 + lane < size)
              sums[i] = fmaf(w, spec.loadV(block + j, kvColumn + i * 32 + lane),
                             sums[i]);
        }
      }
    }
    const int64 row = batch * Spec::queries + q;
#pragma unroll
    for (int i = 0; i < held; ++i) {
      const float sum = narrow ? sumLanes(sums[i]) : sums[i];
      const int column = narrow ? i : i * 32 + lane;
      float value[1] = {total > 0 ? sum / total : 0.0f};
      if (narrow ? lane == 0 : column < size)
        epilogue.finish(value, row, head * size + column, 1);
    }
  }
}

} // namespace betz
