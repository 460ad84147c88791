#include "rows.cuh"

using namespace betz;

struct Spec {
  static __device__ __forceinline__ int64 rows(const int64 *extents) {
    return extents[0] * 9 + 0;
  }
  static constexpr int rowsPerBlock = 8;
  static constexpr int warps = 8;
  static constexpr int columns = 72;
  const bf16 *x;
  struct Row {
    const bf16 *from0;
    template <int V> __device__ __forceinline__ void
    load(float (&values)[V], int column, int valid) const {
      loadColumns<V, true>(values, from0 + column, valid);
    }
  };
  __device__ __forceinline__ Row row(int64 row) const {
    return {x + row * 72};
  }
};

struct Epilogue {
  const Operands<3> &operands;
  template <int V> struct Reads {
    uint32 step0;
  };
  template <int V> __device__ __forceinline__ Reads<V>
  read(int64 row, int column, int valid) const {
    Reads<V> reads;
    reads.step0 = valid > 0 ? dropoutKey(static_cast<const int32 *>(operands.pointers[1]) + 0, 7u) : 0u;
    return reads;
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], const Reads<V> &reads, int64 row,
         int column, int valid, float ownScale) const {
    float other[V];
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = dropout(values[i], reads.step0, uint32(row) * 72u + uint32(column + i), 1073741824u, 1.333333333e+00f);
    storeColumns<V, true, false>(values, static_cast<bf16 *>(operands.pointers[2]) + 0 + row * 72 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch dropout_launch = {256, 0, 0, 1};

extern "C" __global__ void __launch_bounds__(256, 4)
dropout(const __grid_constant__ Operands<3> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const bf16 *>(operands.pointers[0]) + 0;
  const Epilogue epilogue{operands};
  copyRows(spec, epilogue, extents);
}
