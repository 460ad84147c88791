#include "attention_wgmma.cuh"

using namespace betz;

extern __shared__ __align__(1024) unsigned char shared[];
struct Spec {
  static __device__ __forceinline__ int64 batches(const int64 *extents) {
    return extents[0] * 1 + 0;
  }
  static constexpr int heads = 8;
  static constexpr int kvHeads = 8;
  static constexpr int headSize = 64;
  static constexpr int queries = 150;
  static constexpr int keys = 0;
  static constexpr bool sharedQuery = true;
  static constexpr bool ragged = true;
  static constexpr bool causal = false;
  static constexpr bool timed = true;
  static constexpr bool mapped = false;
  static constexpr int mapBlock = 1;
  static constexpr int mapColumns = 0;
  const bf16 *q;
  const bf16 *k;
  const bf16 *v;
  const int32 *splits;
  const int32 *keyTime;
  const int32 *bounds;
  static constexpr float scale = 0.125f;
  const bf16 *gradient;
  const float *lse;
  const float *delta;
  static constexpr int qStride = 512;
  static constexpr int kStride = 1024;
  static constexpr int vStride = 1024;
  static constexpr int gradientStride = 512;
  static constexpr bool skipsByTime = true;
  static constexpr bool skipsCausal = false;
  static constexpr bool skipsByMap = false;
  static constexpr bool logSum = false;
  static constexpr bool queryGrad = true;
  static constexpr int queryTile = 128;
};

struct Epilogue {
  const Operands<10> &operands;
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
    storeColumns<V, true, false>(values, static_cast<bf16 *>(operands.pointers[9]) + 0 + row * 512 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch attention_grad_q_launch = {256, 66560, 0, 1};

extern "C" __global__ void __launch_bounds__(256, 1)
attention_grad_q(const __grid_constant__ Operands<10> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.q = static_cast<const bf16 *>(operands.pointers[0]) + 0;
  spec.k = static_cast<const bf16 *>(operands.pointers[1]) + 0;
  spec.v = static_cast<const bf16 *>(operands.pointers[2]) + 512;
  spec.splits = static_cast<const int32 *>(operands.pointers[3]) + 0;
  spec.keyTime = static_cast<const int32 *>(operands.pointers[4]) + 0;
  spec.bounds = static_cast<const int32 *>(operands.pointers[5]) + 0;
  spec.gradient = static_cast<const bf16 *>(operands.pointers[6]) + 0;
  spec.lse = static_cast<const float *>(operands.pointers[7]) + 0;
  spec.delta = static_cast<const float *>(operands.pointers[8]) + 0;
  const Epilogue epilogue{operands};
  AttentionTile<Spec, AttentionWgmma>(spec, shared)
      .run(epilogue, extents);
}
