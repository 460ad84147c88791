#include "reductions.cuh"

using namespace betz;

struct Spec {
  static __device__ __forceinline__ int64 inputRows(const int64 *extents) {
    return 1;
  }
  static constexpr int warps = 32;
  const float *x;
  template <int V> __device__ __forceinline__ void
  loadX(float (&values)[V], int64 row, int column, int valid) const {
    loadColumns<V, true>(values, x + row * 6400 + column, valid);
  }
  static constexpr int columns = 6400;
  static constexpr bool oneRow = true;
  static constexpr int blocks = 8;
};

struct Epilogue {
  const Operands<2> &operands;
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
    storeColumns<V, false, false>(values, static_cast<float *>(operands.pointers[1]) + 0 + row * 1 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch square_sum_launch = {1024, 0, 0, 9};

extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(1024, 1)
square_sum(const __grid_constant__ Operands<2> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const float *>(operands.pointers[0]) + 0;
  const Epilogue epilogue{operands};
  squareSum(spec, epilogue, extents);
}
