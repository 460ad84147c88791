#include "matmul_mma.cuh"

using namespace betz;

extern __shared__ __align__(1024) unsigned char shared[];
struct Spec {
  static __device__ __forceinline__ int64 rows(const int64 *extents) {
    return extents[0] * 256 + 0;
  }
  static constexpr int depth = 512;
  static constexpr int columns = 1536;
  static constexpr bool scalesRows = true;
  static constexpr float eps = 1e-05f;
  const bf16 *x;
  const bf16 *weight;
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
  const Operands<5> &operands;
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] * ownScale;
    {
    float other[V];
    loadColumns<V, true>(other, static_cast<const bf16 *>(operands.pointers[2]) + 0 + (0) * 1536 + column, valid);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] + other[i];
    }
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = geluShort(values[i]);
    {
    float other[V];
    loadColumns<V, true>(other, static_cast<const bf16 *>(operands.pointers[3]) + 0 + (row) * 1536 + column, valid);
#pragma unroll
    for (int i = 0; i < V; ++i)
      values[i] = values[i] + other[i];
    }
    storeColumns<V, true>(values, static_cast<bf16 *>(operands.pointers[4]) + 0 + row * 1536 + column, valid);
  }
};

extern "C" __constant__ Launch matmul_mma_launch = {256, 98304, 0, 0};

extern "C" __global__ void __launch_bounds__(256)
matmul_mma(const __grid_constant__ Operands<5> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const bf16 *>(operands.pointers[0]) + 0;
  spec.weight = static_cast<const bf16 *>(operands.pointers[1]) + 0;
  const Epilogue epilogue{operands};
  MatmulMma<Spec>(spec, extents, shared).run(epilogue);
}
