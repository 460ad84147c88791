//===- rows.cuh - Kernels that take rows one by one -----------------------===//
//
// Families row, gather and elementwise. A warp takes a row, eight columns a
// lane at a time; a block takes `Spec::rowsPerBlock` rows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "base.cuh"

namespace betz {

/// Calls `body(row)` for the rows of this block, a warp a row.
template <typename Spec, typename Body>
__device__ __forceinline__ void forWarpRows(const int64 *extents, Body body) {
  const int64 rows = Spec::rows(extents);
  const int64 first =
      int64(blockIdx.x) * Spec::rowsPerBlock + warpOf(threadIdx.x);
#pragma unroll 2 // so that loads of two rows are under way
  for (int i = 0; i < Spec::rowsPerBlock; i += Spec::warps)
    if (first + i < rows)
      body(first + i);
}

/// Calls `body(column, valid)` for groups of V columns of this lane.
template <int V, int columns, typename Body>
__device__ __forceinline__ void forLaneColumns(Body body) {
  constexpr int groups = (columns + 32 * V - 1) / (32 * V);
#pragma unroll 4 // so that several loads are under way
  for (int i = 0; i < groups; ++i)
    if (const int column = (i * 32 + laneOf(threadIdx.x)) * V; column < columns)
      body(column, columns - column < V ? columns - column : V);
}

struct RowMoments {
  float mean, scale; // the mean is 0 for an RMSNorm
};

/// Of the norm of a row that `load(values, column, valid)` gives.
template <bool layer, int columns, typename Load>
__device__ __forceinline__ RowMoments measureRow(Load load, float eps) {
  constexpr int V = 8;
  RowMoments moments = {};
  if constexpr (layer) {
    float sum = 0;
    forLaneColumns<V, columns>([&](int column, int valid) {
      float values[V];
      load(values, column, valid);
#pragma unroll
      for (int i = 0; i < V; ++i)
        sum += values[i];
    });
    moments.mean = sumLanes(sum) / float(columns);
  }
  float squares = 0;
  forLaneColumns<V, columns>([&](int column, int valid) {
    float values[V];
    load(values, column, valid);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      float difference = i < valid ? values[i] - moments.mean : 0.0f;
      squares = fmaf(difference, difference, squares);
    }
  });
  moments.scale = 1.0f / sqrtf(sumLanes(squares) / float(columns) + eps);
  return moments;
}

/// NormCore: Spec has layer, eps, columns, x, gain, shift (or null).
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
normRows(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  constexpr int V = 8;
  forWarpRows<Spec>(extents, [&](int64 row) {
    auto load = [&](float(&values)[V], int column, int valid) {
      spec.loadX(values, row, column, valid);
    };
    const RowMoments moments =
        measureRow<Spec::layer, Spec::columns>(load, Spec::eps);
    forLaneColumns<V, Spec::columns>([&](int column, int valid) {
      float values[V], gain[V], shift[V];
      load(values, column, valid);
      spec.loadGain(gain, column, valid);
      spec.loadShift(shift, column, valid);
#pragma unroll
      for (int i = 0; i < V; ++i)
        values[i] =
            (values[i] - moments.mean) * moments.scale * gain[i] + shift[i];
      epilogue.finish(values, row, column, valid);
    });
  });
}

/// NormScaleCore and the reducing gather: one factor a row.
template <typename Spec>
__device__ __forceinline__ void scaleOfRows(const Spec &spec,
                                            const int64 *extents) {
  forWarpRows<Spec>(extents, [&](int64 row) {
    auto source = spec.row(row);
    auto load = [&](float(&values)[8], int column, int valid) {
      source.load(values, column, valid);
    };
    const RowMoments moments =
        measureRow<Spec::layer, Spec::depth>(load, Spec::eps);
    if (laneOf(threadIdx.x) == 0)
      spec.store(row, moments.scale);
  });
}

/// GatherCore and IdentityCore: what a row's source gives, through the steps.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
copyRows(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  constexpr int V = 8;
  forWarpRows<Spec>(extents, [&](int64 row) {
    auto source = spec.row(row);
    forLaneColumns<V, Spec::columns>([&](int column, int valid) {
      float values[V];
      source.load(values, column, valid);
      epilogue.finish(values, row, column, valid);
    });
  });
}

/// RotaryCore: pairs (i, i + half) of each head turn by a phase in f64.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
rotateRows(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  constexpr int half = Spec::headSize / 2;
  forWarpRows<Spec>(extents, [&](int64 row) {
    const double time =
        (double(spec.position(row)) + Spec::offset) * Spec::step;
    for (int i = laneOf(threadIdx.x); i < half; i += 32) {
      double turns = time * spec.frequency(i);
      turns -= rint(turns);
      double sine, cosine;
      sincospi(2.0 * turns, &sine, &cosine);
      const float s = float(sine), c = float(cosine);
      for (int head = 0; head < Spec::heads; ++head) {
        const int column = head * Spec::headSize + i;
        float u[1], w[1];
        spec.loadX(u, row, column, 1);
        spec.loadX(w, row, column + half, 1);
        float a[1] = {u[0] * c - w[0] * s};
        float b[1] = {w[0] * c + u[0] * s};
        epilogue.finish(a, row, column, 1);
        epilogue.finish(b, row, column + half, 1);
      }
    }
  });
}

/// SegmentSubCore: a thread a row, its segment by binary search.
template <typename Spec>
__device__ __forceinline__ void
subtractBase(const int32 *values, const int32 *base, const int32 *splits,
             int32 *result, const int64 *extents) {
  const int64 row = int64(blockIdx.x) * Spec::rowsPerBlock + threadIdx.x;
  if (threadIdx.x >= Spec::rowsPerBlock || row >= Spec::rows(extents))
    return;
  int64 low = 0, high = Spec::segments(extents) - 1;
  while (low < high) {
    const int64 middle = (low + high) / 2;
    if (splits[middle + 1] <= row)
      low = middle + 1;
    else
      high = middle;
  }
  result[row] = int32(uint32(values[row]) - uint32(base[low]));
}

} // namespace betz
