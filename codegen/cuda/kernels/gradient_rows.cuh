//===- gradient_rows.cuh - Gradients and layouts, row by row --------------===//
//
// As rows.cuh: a warp takes a row. A transposition takes 32 rows together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "reductions.cuh"
#include "rows.cuh"

namespace betz {

/// NormGradCore: Spec has layer, eps, columns, loadX, loadDy (values, row,
/// column, valid) and loadGain (values, column, valid).
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
normGradRows(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  constexpr int V = 8;
  forWarpRows<Spec>(extents, [&](int64 row) {
    const RowMoments moments = measureRow<Spec::layer, Spec::columns>(
        [&](float(&values)[V], int column, int valid) {
          spec.loadX(values, row, column, valid);
        },
        Spec::eps);
    // Normalised values and gradients of what the gain multiplied.
    auto load = [&](float(&normal)[V], float(&slope)[V], int column,
                    int valid) {
      float gain[V];
      spec.loadX(normal, row, column, valid);
      spec.loadDy(slope, row, column, valid);
      spec.loadGain(gain, column, valid);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        normal[i] = (normal[i] - moments.mean) * moments.scale;
        slope[i] *= gain[i];
      }
    };
    float slopes = 0, products = 0;
    forLaneColumns<V, Spec::columns>([&](int column, int valid) {
      float normal[V], slope[V];
      load(normal, slope, column, valid);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        slopes += slope[i];
        products = fmaf(slope[i], normal[i], products);
      }
    });
    const float mean =
        Spec::layer ? sumLanes(slopes) / float(Spec::columns) : 0.0f;
    const float product = sumLanes(products) / float(Spec::columns);
    forLaneColumns<V, Spec::columns>([&](int column, int valid) {
      float normal[V], slope[V];
      load(normal, slope, column, valid);
#pragma unroll
      for (int i = 0; i < V; ++i)
        slope[i] = moments.scale * (slope[i] - mean - normal[i] * product);
      epilogue.finish(slope, row, column, valid);
    });
  });
}

/// HeadDotsCore: Spec has heads, headSize, vector (columns of a load, which
/// divide a head), loadA and loadB. As many lanes as a head needs take one.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
headDots(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  constexpr int V = Spec::vector, lanes = Spec::lanesOfHead;
  const int lane = laneOf(threadIdx.x);
  forWarpRows<Spec>(extents, [&](int64 row) {
    for (int first = 0; first < Spec::heads; first += 32 / lanes) {
      const int head = first + lane / lanes;
      float sum = 0;
      if (head < Spec::heads)
        for (int i = lane % lanes * V; i < Spec::headSize; i += lanes * V) {
          float a[V], b[V];
          spec.loadA(a, row, head * Spec::headSize + i, V);
          spec.loadB(b, row, head * Spec::headSize + i, V);
#pragma unroll
          for (int j = 0; j < V; ++j)
            sum = fmaf(a[j], b[j], sum);
        }
#pragma unroll
      for (int distance = lanes / 2; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, distance);
      float value[1] = {sum};
      if (head < Spec::heads && lane % lanes == 0)
        epilogue.finish(value, row, head, 1);
    }
  });
}

/// The gradient of a mean squared error: Spec has columns, loadX, loadTarget
/// and dloss.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
mseGradRows(const Spec &spec, const Epilogue &epilogue, const int64 *extents) {
  constexpr int V = 8;
  const float elements = float(Spec::rows(extents)) * float(Spec::columns);
  const float factor = 2.0f * spec.dloss[0] / elements;
  forWarpRows<Spec>(extents, [&](int64 row) {
    forLaneColumns<V, Spec::columns>([&](int column, int valid) {
      float values[V], target[V];
      spec.loadX(values, row, column, valid);
      spec.loadTarget(target, row, column, valid);
#pragma unroll
      for (int i = 0; i < V; ++i)
        values[i] = factor * (values[i] - target[i]);
      epilogue.finish(values, row, column, valid);
    });
  });
}

/// The gradient of a mean cross-entropy: Spec has columns, loadX, label (i32, a
/// row each) and dloss. Each block counts the labels itself.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void
crossEntropyGradRows(const Spec &spec, const Epilogue &epilogue,
                     const int64 *extents) {
  constexpr int V = 8;
  if (int64(blockIdx.x) * Spec::rowsPerBlock >= Spec::rows(extents))
    return;
  const float factor =
      spec.dloss[0] / countLabels<Spec::warps>(spec, Spec::rows(extents));
  forWarpRows<Spec>(extents, [&](int64 row) {
    const int label = spec.label[row];
    const float total = logSumOfRow(spec, row);
    forLaneColumns<V, Spec::columns>([&](int column, int valid) {
      float values[V];
      spec.loadX(values, row, column, valid);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        const float weight = expf(values[i] - total);
        const float change = column + i == label ? weight - 1.0f : weight;
        values[i] = label < 0 ? 0.0f : factor * change;
      }
      epilogue.finish(values, row, column, valid);
    });
  });
}

/// PackCore: a transposed matrix, 32 x 32 at a time through shared memory. Spec
/// has rows and columns of the result, 32 rowsPerBlock, load(row, column) of
/// the operand; 8 warps.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void transposeRows(const Spec &spec,
                                              const Epilogue &epilogue,
                                              const int64 *extents) {
  __shared__ float tile[32][33];
  const int lane = laneOf(threadIdx.x), warp = warpOf(threadIdx.x);
  const int64 firstRow = int64(blockIdx.x) * 32, rows = Spec::rows(extents);
  for (int first = 0; first < Spec::columns; first += 32) {
#pragma unroll
    for (int i = warp; i < 32; i += 8)
      if (first + i < Spec::columns && firstRow + lane < rows)
        tile[i][lane] = spec.load(first + i, firstRow + lane);
    __syncthreads();
#pragma unroll
    for (int i = warp; i < 32; i += 8) {
      float value[1] = {tile[lane][i]};
      if (firstRow + i < rows && first + lane < Spec::columns)
        epilogue.finish(value, firstRow + i, first + lane, 1);
    }
    __syncthreads();
  }
}

} // namespace betz
