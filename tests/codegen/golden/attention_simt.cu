#include "attention_simt.cuh"

using namespace betz;

struct Spec {
  static __device__ __forceinline__ int64 batches(const int64 *extents) {
    return extents[0] * 1 + 0;
  }
  static constexpr int heads = 3;
  static constexpr int kvHeads = 3;
  static constexpr int headSize = 24;
  static constexpr int queries = 150;
  static constexpr int keys = 70;
  static constexpr bool sharedQuery = true;
  static constexpr bool ragged = false;
  static constexpr bool causal = false;
  static constexpr bool timed = false;
  static constexpr bool mapped = true;
  static constexpr int mapBlock = 64;
  static constexpr int mapColumns = 2;
  const float *q;
  const float *k;
  const float *v;
  const int32 *blockMap;
  static constexpr float scale = 0.125f;
  static constexpr int queryTile = 16;
  static constexpr int warps = 4;
  __device__ __forceinline__ float loadQ(int64 row, int column) const {
    return toFloat(q[row * 72 + column]);
  }
  __device__ __forceinline__ float loadK(int64 row, int column) const {
    return toFloat(k[row * 144 + column]);
  }
  __device__ __forceinline__ float loadV(int64 row, int column) const {
    return toFloat(v[row * 144 + column]);
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
    storeColumns<V, true, false>(values, static_cast<float *>(operands.pointers[4]) + 0 + row * 72 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch attention_simt_launch = {128, 0, 0, 0};

extern "C" __global__ void __launch_bounds__(128, 8)
attention_simt(const __grid_constant__ Operands<5> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.q = static_cast<const float *>(operands.pointers[0]) + 0;
  spec.k = static_cast<const float *>(operands.pointers[1]) + 0;
  spec.v = static_cast<const float *>(operands.pointers[2]) + 0;
  spec.blockMap = static_cast<const int32 *>(operands.pointers[3]) + 0;
  const Epilogue epilogue{operands};
  attentionSimt(spec, epilogue, extents);
}
