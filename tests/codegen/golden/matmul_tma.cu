#include "matmul_tma.cuh"

using namespace betz;

extern __shared__ __align__(1024) unsigned char shared[];
extern "C" __constant__ MapDescription matmul_tma_maps[2] = {{0, 0, 512, 1024, 128}, {1, 0, 512, 1024, 128}};

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

extern "C" __constant__ Launch matmul_tma_launch = {288, 98352, 0, 3};

extern "C" __global__ void __launch_bounds__(288, 2)
matmul_tma(const __grid_constant__ Operands<5> operands,
    const int64 *extents,
    const __grid_constant__ TensorMap xMap,
    const __grid_constant__ TensorMap weightMap) {
  followPrevious();
  Spec spec;
  spec.x = static_cast<const bf16 *>(operands.pointers[0]) + 0;
  spec.weight = static_cast<const bf16 *>(operands.pointers[1]) + 0;
  const Epilogue epilogue{operands};
  MatmulTma<Spec>(spec, extents, shared)
      .run(epilogue, xMap, weightMap);
}
