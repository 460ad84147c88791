#include "rows.cuh"

using namespace betz;

struct Spec {
  static __device__ __forceinline__ int64 rows(const int64 *extents) {
    return extents[0] * 4 + 0;
  }
  static constexpr int rowsPerBlock = 8;
  static constexpr int warps = 8;
  static constexpr bool layer = true;
  static constexpr float eps = 1e-05f;
  static constexpr int columns = 36;
  const bf16 *x;
  template <int V> __device__ __forceinline__ void
  loadX(float (&values)[V], int64 row, int column, int valid) const {
    loadColumns<V, false>(values, x + row * 36 + column, valid);
  }
  const bf16 *gain;
  template <int V> __device__ __forceinline__ void
  loadGain(float (&values)[V], int column, int valid) const {
    loadColumns<V, false>(values, gain + column, valid);
  }
  const bf16 *shift;
  template <int V> __device__ __forceinline__ void
  loadShift(float (&values)[V], int column, int valid) const {
    loadColumns<V, false>(values, shift + column, valid);
  }
};

struct Epilogue {
  const Operands<4> &operands;
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
    storeColumns<V, false, false>(values, static_cast<bf16 *>(operands.pointers[3]) + 0 + row * 36 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch norm_launch = {256, 0, 0, 1};

extern "C" __global__ void __launch_bounds__(256, 4)
norm(const __grid_constant__ Operands<4> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const bf16 *>(operands.pointers[0]) + 0;
  spec.gain = static_cast<const bf16 *>(operands.pointers[1]) + 0;
  spec.shift = static_cast<const bf16 *>(operands.pointers[2]) + 0;
  const Epilogue epilogue{operands};
  normRows(spec, epilogue, extents);
}
