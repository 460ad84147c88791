#include "rows.cuh"

using namespace betz;

struct Spec {
  static __device__ __forceinline__ int64 rows(const int64 *extents) {
    return extents[0] * 4 + 0;
  }
  static constexpr int rowsPerBlock = 8;
  static constexpr int warps = 8;
  static constexpr int columns = 64;
  const bf16 *x;
  struct Row {
    const bf16 *from0;
    template <int V> __device__ __forceinline__ void
    load(float (&values)[V], int column, int valid) const {
      loadColumns<V, true>(values, from0 + column, valid);
    }
  };
  __device__ __forceinline__ Row row(int64 row) const {
    return {x + row * 64};
  }
};

struct Epilogue {
  const Operands<4> &operands;
  template <int V> struct Reads {
    Fetched<bf16, V, true> step0;
    float step2;
    Fetched<bf16, V, true> step3;
  };
  template <int V> __device__ __forceinline__ Reads<V>
  read(int64 row, int column, int valid) const {
    Reads<V> reads;
    reads.step0.fetch(static_cast<const bf16 *>(operands.pointers[1]) + 0 + (0) * 64 + column, valid);
    reads.step2 = valid > 0 ? toFloat((static_cast<const float *>(operands.pointers[2]) + 0)[row * 1]) : 0.0f;
    reads.step3.fetch(static_cast<const bf16 *>(operands.pointers[1]) + 0 + (0) * 64 + column, valid);
    return reads;
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], const Reads<V> &reads, int64 row,
         int column, int valid, float ownScale) const {
    float other[V];
    reads.step0.expand(other);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] + other[i];
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = silu(values[i]);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] * reads.step2;
    reads.step3.expand(other);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] * other[i];
    storeColumns<V, true, false>(values, static_cast<bf16 *>(operands.pointers[3]) + 0 + row * 64 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch elementwise_launch = {256, 0, 0, 0};

extern "C" __global__ void __launch_bounds__(256, 4)
elementwise(const __grid_constant__ Operands<4> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const bf16 *>(operands.pointers[0]) + 0;
  const Epilogue epilogue{operands};
  copyRows(spec, epilogue, extents);
}
