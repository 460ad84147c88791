#include "reductions.cuh"

using namespace betz;

struct Spec {
  static __device__ __forceinline__ int64 inputRows(const int64 *extents) {
    return extents[1] * 1 + 0;
  }
  static constexpr int warps = 16;
  const bf16 *x;
  template <int V> __device__ __forceinline__ void
  loadX(float (&values)[V], int64 row, int column, int valid) const {
    loadColumns<V, true>(values, x + row * 96 + column, valid);
  }
  static constexpr int columns = 96;
  static constexpr int tileColumns = 256;
  static constexpr int rowLanes = 16;
  const int32 *index;
};

struct Epilogue {
  const Operands<3> &operands;
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
    storeColumns<V, true, false>(values, static_cast<float *>(operands.pointers[2]) + 0 + row * 96 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch scatter_sum_launch = {512, 0, 0, 1};

extern "C" __global__ void __launch_bounds__(512, 1)
scatter_sum(const __grid_constant__ Operands<3> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const bf16 *>(operands.pointers[1]) + 0;
  spec.index = static_cast<const int32 *>(operands.pointers[0]) + 0;
  const Epilogue epilogue{operands};
  scatterSum(spec, epilogue, extents);
}
