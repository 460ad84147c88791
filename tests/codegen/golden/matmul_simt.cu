#include "matmul_simt.cuh"

using namespace betz;

struct Spec {
  static __device__ __forceinline__ int64 rows(const int64 *extents) {
    return extents[0] * 256 + 0;
  }
  static constexpr int depth = 512;
  static constexpr int columns = 40;
  static constexpr bool scalesRows = true;
  static constexpr float eps = 1e-05f;
  const float *x;
  const float *weight;
  template <int V> __device__ __forceinline__ void
  loadX(float (&values)[V], int64 row, int column, int valid) const {
    loadColumns<V, true>(values, x + row * 512 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  loadWeight(float (&values)[V], int64 row, int column, int valid) const {
    loadColumns<V, true>(values, weight + row * 512 + column, valid);
  }
};

struct Epilogue {
  const Operands<5> &operands;
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] * ownScale;
    {
    float other[V];
    loadColumns<V, true>(other, static_cast<const float *>(operands.pointers[2]) + 0 + (0) * 40 + column, valid);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] + other[i];
    }
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = gelu(values[i]);
    {
    float other[V];
    loadColumns<V, true>(other, static_cast<const float *>(operands.pointers[3]) + 0 + (row) * 40 + column, valid);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] + other[i];
    }
    storeColumns<V, true>(values, static_cast<float *>(operands.pointers[4]) + 0 + row * 40 + column, valid);
  }
};

extern "C" __constant__ Launch matmul_simt_launch = {256, 0, 0, 1};

extern "C" __global__ void __launch_bounds__(256)
matmul_simt(const __grid_constant__ Operands<5> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const float *>(operands.pointers[0]) + 0;
  spec.weight = static_cast<const float *>(operands.pointers[1]) + 0;
  const Epilogue epilogue{operands};
  matmulSimt(spec, epilogue, extents);
}
