#include "matmul_simt.cuh"

using namespace betz;

struct Spec {
  static __device__ __forceinline__ int64 rows(const int64 *extents) {
    return extents[0] * 256 + 0;
  }
  static constexpr int depth = 512;
  static constexpr int columns = 40;
  const float *x;
  const float *weight;
  static constexpr bool readsSquares = true;
  static constexpr bool writesSquares = false;
  static constexpr int squareGroups = 16;
  static constexpr float eps = 1e-05f;
  const float *squares;
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
  const Operands<6> &operands;
  template <int V> struct Reads {
    Fetched<float, V, true> step1;
    Fetched<float, V, true> step3;
  };
  template <int V> __device__ __forceinline__ Reads<V>
  read(int64 row, int column, int valid) const {
    Reads<V> reads;
    reads.step1.fetch(static_cast<const float *>(operands.pointers[2]) + 0 + (0) * 40 + column, valid);
    reads.step3.fetch(static_cast<const float *>(operands.pointers[3]) + 0 + (row) * 40 + column, valid);
    return reads;
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], const Reads<V> &reads, int64 row,
         int column, int valid, float ownScale) const {
    float other[V];
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] * ownScale;
    reads.step1.expand(other);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] + other[i];
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = gelu(values[i]);
    reads.step3.expand(other);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] + other[i];
    storeColumns<V, true, false>(values, static_cast<float *>(operands.pointers[5]) + 0 + row * 40 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch matmul_simt_launch = {256, 0, 0, 1};

extern "C" __global__ void __launch_bounds__(256)
matmul_simt(const __grid_constant__ Operands<6> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const float *>(operands.pointers[0]) + 0;
  spec.weight = static_cast<const float *>(operands.pointers[1]) + 0;
  spec.squares = static_cast<const float *>(operands.pointers[4]) + 0;
  const Epilogue epilogue{operands};
  matmulSimt(spec, epilogue, extents);
}
