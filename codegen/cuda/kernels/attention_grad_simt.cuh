//===- attention_grad_simt.cuh - Attention's gradients in registers -------===//
//
// The path of f32 and of head sizes that the tensor cores do not take. As in
// attention_simt.cuh a warp takes a query and goes through keys 32 at a time; for
// the gradients of keys and values it takes a key and goes through queries.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "visibility.cuh"

namespace betz {

/// Sums of weighted rows of one head: a lane has every 32nd column, or, of a
/// narrow head, all columns of its own rows.
template <int size> struct HeadSums {
  static constexpr bool narrow = size <= 8;
  static constexpr int held = narrow ? size : (size + 31) / 32;
  float values[held] = {};

  /// Adds `weight` times the row that `load(lane, column)` gives, of every lane
  /// whose weight is not zero, in their order.
  template <typename Load>
  __device__ __forceinline__ void add(float weight, Load load) {
    const int lane = laneOf(threadIdx.x);
    if constexpr (narrow) {
      if (weight != 0.0f)
#pragma unroll
        for (int i = 0; i < held; ++i)
          values[i] = fmaf(weight, load(lane, i), values[i]);
    } else {
      for (int j = 0; j < 32; ++j) {
        const float w = __shfl_sync(0xffffffffu, weight, j);
        if (w == 0.0f)
          continue;
#pragma unroll
        for (int i = 0; i < held; ++i)
          if (i * 32 + lane < size)
            values[i] = fmaf(w, load(j, i * 32 + lane), values[i]);
      }
    }
  }

  /// Calls `body(column, sum)` once for each column.
  template <typename Body> __device__ __forceinline__ void forEach(Body body) {
    const int lane = laneOf(threadIdx.x);
#pragma unroll
    for (int i = 0; i < held; ++i) {
      const float sum = narrow ? sumLanes(values[i]) : values[i];
      const int column = narrow ? i : i * 32 + lane;
      if (narrow ? lane == 0 : column < size)
        body(column, sum);
    }
  }
};

/// Calls `body(head, query, row, keys)` for each query of this block.
/// Spec: as attention_simt.cuh.
template <typename Spec, typename Body>
__device__ __forceinline__ void forWarpQueries(const Spec &spec,
                                               const int64 *extents,
                                               Body body) {
  constexpr int tiles = (Spec::queries + Spec::queryTile - 1) / Spec::queryTile;
  const int tile = int(blockIdx.x % tiles);
  const uint32 rest = blockIdx.x / tiles;
  const int head = int(rest % Spec::heads);
  const int64 batch = rest / Spec::heads;
  if (batch >= Spec::batches(extents))
    return;
  const KeyRange keys = keyRange(spec, batch);
  for (int q = tile * Spec::queryTile + warpOf(threadIdx.x);
       q < Spec::queries && q < (tile + 1) * Spec::queryTile; q += Spec::warps)
    body(head, q, batch * Spec::queries + q, keys);
}

/// The row of Q of a query whose result is in `row`.
template <typename Spec>
__device__ __forceinline__ int64 queryRow(int query, int64 row) {
  return Spec::sharedQuery ? query : row;
}

/// Whether this lane's key, of 32 from `block` on, is seen.
template <typename Spec>
__device__ __forceinline__ bool laneSees(const Spec &spec,
                                         const QueryView &view,
                                         const KeyRange &keys, int block) {
  const int key = block + laneOf(threadIdx.x);
  int time = 0;
  if constexpr (Spec::timed)
    time = key < keys.end ? spec.keyTime[key] : 0;
  return key < keys.end && sees(spec, view, keys, key, time);
}

/// The logarithm of the sum of exponentials; infinity where no key is seen.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
attentionLogSumSimt(const Spec &spec, const Epilogue &epilogue,
                    const int64 *extents) {
  constexpr int size = Spec::headSize, group = Spec::heads / Spec::kvHeads;
  __shared__ float queries[Spec::warps][size];
  float *query = queries[warpOf(threadIdx.x)];
  const int lane = laneOf(threadIdx.x);
  forWarpQueries(spec, extents, [&](int head, int q, int64 row,
                                    const KeyRange &keys) {
    const int kvColumn = head / group * size;
    __syncwarp();
    for (int i = lane; i < size; i += 32)
      query[i] = spec.loadQ(queryRow<Spec>(q, row), head * size + i);
    __syncwarp();
    const QueryView view = viewOf(spec, q, keys);
    float maximum = -kInfinity, total = 0;
    for (int block = keys.first; block < keys.end; block += 32) {
      const bool seen = laneSees(spec, view, keys, block);
      if (__ballot_sync(0xffffffffu, seen) == 0)
        continue;
      float score = -kInfinity;
      if (seen) {
        score = 0;
        for (int i = 0; i < size; ++i)
          score = fmaf(query[i], spec.loadK(block + lane, kvColumn + i), score);
        score *= Spec::scale;
      }
      const float highest = fmaxf(maximum, maxLanes(score));
      const float rescale =
          maximum == -kInfinity ? 0.0f : expf(maximum - highest);
      total =
          total * rescale + sumLanes(seen ? expf(score - highest) : 0.0f);
      maximum = highest;
    }
    float value[1] = {total > 0 ? maximum + logf(total) : kInfinity};
    if (lane == 0)
      epilogue.finish(value, row, head, 1);
  });
}

/// The gradient of the query. Spec: as attention_simt.cuh, loadGrad(row,
/// column), and lse and delta of each row's heads.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
attentionQueryGradSimt(const Spec &spec, const Epilogue &epilogue,
                       const int64 *extents) {
  constexpr int size = Spec::headSize, group = Spec::heads / Spec::kvHeads;
  __shared__ float queries[Spec::warps][size], gradients[Spec::warps][size];
  float *query = queries[warpOf(threadIdx.x)];
  float *gradient = gradients[warpOf(threadIdx.x)];
  const int lane = laneOf(threadIdx.x);
  forWarpQueries(spec, extents, [&](int head, int q, int64 row,
                                    const KeyRange &keys) {
    const int kvColumn = head / group * size;
    __syncwarp();
    for (int i = lane; i < size; i += 32) {
      query[i] = spec.loadQ(queryRow<Spec>(q, row), head * size + i);
      gradient[i] = spec.loadGrad(row, head * size + i);
    }
    __syncwarp();
    const QueryView view = viewOf(spec, q, keys);
    const float lse = spec.lse[row * Spec::heads + head];
    const float delta = spec.delta[row * Spec::heads + head];
    HeadSums<size> sums;
    for (int block = keys.first; block < keys.end; block += 32) {
      const bool seen = laneSees(spec, view, keys, block);
      if (__ballot_sync(0xffffffffu, seen) == 0)
        continue;
      float change = 0;
      if (seen) {
        float score = 0, product = 0;
        for (int i = 0; i < size; ++i) {
          score = fmaf(query[i], spec.loadK(block + lane, kvColumn + i), score);
          product =
              fmaf(gradient[i], spec.loadV(block + lane, kvColumn + i), product);
        }
        change = expf(fmaf(score, Spec::scale, -lse)) * (product - delta);
      }
      sums.add(change, [&](int j, int column) {
        return spec.loadK(block + j, kvColumn + column);
      });
    }
    sums.forEach([&](int column, float sum) {
      float value[1] = {sum * Spec::scale};
      epilogue.finish(value, row, head * size + column, 1);
    });
  });
}

/// The gradients of keys and values, in the columns of the result one after the
/// other. A task is a head of keys and `keyTile` of their rows. Spec: as
/// attentionQueryGradSimt, and rows(extents) of the keys.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
attentionKeyGradSimt(const Spec &spec, const Epilogue &epilogue,
                     const int64 *extents) {
  constexpr int size = Spec::headSize, group = Spec::heads / Spec::kvHeads;
  __shared__ float keyRows[Spec::warps][size], valueRows[Spec::warps][size];
  float *keyRow = keyRows[warpOf(threadIdx.x)];
  float *valueRow = valueRows[warpOf(threadIdx.x)];
  const int lane = laneOf(threadIdx.x);
  const int kvHead = int(blockIdx.x % Spec::kvHeads);
  const int64 first = int64(blockIdx.x / Spec::kvHeads) * Spec::keyTile;
  const int64 rows = Spec::rows(extents);
  for (int k = warpOf(threadIdx.x); k < Spec::keyTile; k += Spec::warps) {
    const int key = int(first + k);
    if (key >= rows)
      break;
    __syncwarp();
    for (int i = lane; i < size; i += 32) {
      keyRow[i] = spec.loadK(key, kvHead * size + i);
      valueRow[i] = spec.loadV(key, kvHead * size + i);
    }
    __syncwarp();
    const int64 batch = batchOf(spec, key, extents);
    const KeyRange keys = keyRange(spec, batch);
    int time = 0;
    if constexpr (Spec::timed)
      time = spec.keyTime[key];
    HeadSums<size> keySums, valueSums;
    for (int head = kvHead * group; head < (kvHead + 1) * group; ++head)
      for (int block = 0; block < Spec::queries; block += 32) {
        const int q = block + lane;
        const bool seen =
            q < Spec::queries &&
            sees(spec, viewOf(spec, min(q, Spec::queries - 1), keys), keys, key,
                 time);
        if (__ballot_sync(0xffffffffu, seen) == 0)
          continue;
        const int64 row = batch * Spec::queries + block;
        float weight = 0, change = 0;
        if (seen) {
          float score = 0, product = 0;
          for (int i = 0; i < size; ++i) {
            const int column = head * size + i;
            score = fmaf(spec.loadQ(queryRow<Spec>(q, row + lane), column),
                         keyRow[i], score);
            product =
                fmaf(spec.loadGrad(row + lane, column), valueRow[i], product);
          }
          const int64 at = (row + lane) * Spec::heads + head;
          weight = expf(fmaf(score, Spec::scale, -spec.lse[at]));
          change = weight * (product - spec.delta[at]);
        }
        valueSums.add(weight, [&](int j, int column) {
          return spec.loadGrad(row + j, head * size + column);
        });
        keySums.add(change, [&](int j, int column) {
          return spec.loadQ(queryRow<Spec>(block + j, row + j),
                            head * size + column);
        });
      }
    const int column = kvHead * size;
    keySums.forEach([&](int i, float sum) {
      float value[1] = {sum * Spec::scale};
      epilogue.finish(value, key, column + i, 1);
    });
    valueSums.forEach([&](int i, float sum) {
      float value[1] = {sum};
      epilogue.finish(value, key, Spec::kvHeads * size + column + i, 1);
    });
  }
}

} // namespace betz
