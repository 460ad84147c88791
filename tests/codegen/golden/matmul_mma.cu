#include "matmul_mma.cuh"

using namespace betz;

extern __shared__ __align__(1024) unsigned char shared[];
struct Spec {
  static __device__ __forceinline__ int64 rows(const int64 *extents) {
    return extents[0] * 256 + 0;
  }
  static constexpr int depth = 512;
  static constexpr int columns = 1536;
  const bf16 *x;
  const bf16 *weight;
  static constexpr bool readsSquares = true;
  static constexpr bool writesSquares = true;
  static constexpr int squareGroups = 16;
  static constexpr float eps = 1e-05f;
  const float *squares;
  float *ownSquares;
  static constexpr int xStride = 512;
  static constexpr int tileRows = 128;
  static constexpr int tileColumns = 128;
  static constexpr int tileDepth = 64;
  static constexpr int stages = 3;
  static constexpr int threads = 256;
  static constexpr int warpRows = 2;
  static constexpr int warpColumns = 4;
};

struct Epilogue {
  const Operands<7> &operands;
  template <int V> struct Reads {
    Fetched<bf16, V, true> step1;
    Fetched<bf16, V, true> step3;
  };
  template <int V> __device__ __forceinline__ Reads<V>
  read(int64 row, int column, int valid) const {
    Reads<V> reads;
    reads.step1.fetch(static_cast<const bf16 *>(operands.pointers[2]) + 0 + (0) * 1536 + column, valid);
    reads.step3.fetch(static_cast<const bf16 *>(operands.pointers[3]) + 0 + (row) * 1536 + column, valid);
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
      values[i] = geluShort(values[i]);
    reads.step3.expand(other);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] + other[i];
    storeColumns<V, true, false>(values, static_cast<bf16 *>(operands.pointers[5]) + 0 + row * 1536 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch matmul_mma_launch = {256, 98304, 0, 0};

extern "C" __global__ void __launch_bounds__(256)
matmul_mma(const __grid_constant__ Operands<7> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const bf16 *>(operands.pointers[0]) + 0;
  spec.weight = static_cast<const bf16 *>(operands.pointers[1]) + 0;
  spec.squares = static_cast<const float *>(operands.pointers[4]) + 0;
  spec.ownSquares = static_cast<float *>(operands.pointers[6]) + 0;
  const Epilogue epilogue{operands};
  MatmulMma<Spec>(spec, extents, shared).run(epilogue);
}
