#include "rows.cuh"

using namespace betz;

struct Spec {
  const int32 *index0;
  const bf16 *table0;
  const int32 *index1;
  const bf16 *table1;
  static __device__ __forceinline__ int64 rows(const int64 *extents) {
    return extents[1] * 1 + 0;
  }
  static constexpr int rowsPerBlock = 16;
  static constexpr int warps = 8;
  static constexpr int columns = 96;
  struct Row {
    const bf16 *from0;
    const bf16 *from1;
    template <int V> __device__ __forceinline__ void
    load(float (&values)[V], int column, int valid) const {
      float next[V];
      loadColumns<V, true>(values, from0 + column, valid);
      loadColumns<V, true>(next, from1 + column, valid);
      for (int i = 0; i < V; ++i)
        values[i] += next[i];
    }
  };
  __device__ __forceinline__ Row row(int64 row) const {
    return {table0 + int64(index0[row]) * 96,
            table1 + int64(index1[row]) * 96};
  }
};

struct Epilogue {
  const Operands<5> &operands;
  template <int V> struct Reads {
  };
  template <int V> __device__ __forceinline__ Reads<V>
  read(int64 row, int column, int valid) const {
    Reads<V> reads;
    return reads;
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], const Reads<V> &reads, int64 row,
         int column, int valid, float ownScale) const {
    float other[V];
    storeColumns<V, true, true>(values, static_cast<bf16 *>(operands.pointers[4]) + 0 + row * 96 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch gather_launch = {256, 0, 0, 1};

extern "C" __global__ void __launch_bounds__(256, 4)
gather(const __grid_constant__ Operands<5> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.index0 = static_cast<const int32 *>(operands.pointers[0]) + 0;
  spec.table0 = static_cast<const bf16 *>(operands.pointers[2]) + 0;
  spec.index1 = static_cast<const int32 *>(operands.pointers[1]) + 0;
  spec.table1 = static_cast<const bf16 *>(operands.pointers[3]) + 0;
  const Epilogue epilogue{operands};
  copyRows(spec, epilogue, extents);
}
