#include "contract_mma.cuh"

using namespace betz;

extern __shared__ __align__(1024) unsigned char shared[];
struct Spec {
  static __device__ __forceinline__ int64 inputRows(const int64 *extents) {
    return extents[0] * 256 + 0;
  }
  static constexpr int resultRows = 512;
  static constexpr int columns = 512;
  static constexpr int tileRows = 128;
  static constexpr int tileColumns = 128;
  const bf16 *a;
  const bf16 *b;
  static constexpr int blocks = 8;
  static constexpr int aStride = 1024;
  static constexpr int bStride = 512;
  static constexpr int stages = 3;
  static constexpr int threads = 256;
  static constexpr int warpRows = 2;
  static constexpr int warpColumns = 4;
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
    storeColumns<V, true, false>(values, static_cast<float *>(operands.pointers[2]) + 0 + row * 512 + column, valid);
  }
  template <int V> __device__ __forceinline__ void
  finish(float (&values)[V], int64 row, int column, int valid,
         float ownScale = 1.0f) const {
    finish(values, read<V>(row, column, valid), row, column, valid,
           ownScale);
  }
};

extern "C" __constant__ Launch contract_mma_launch = {256, 98304, 0, 9};

extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(256)
contract_mma(const __grid_constant__ Operands<3> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.a = static_cast<const bf16 *>(operands.pointers[0]) + 512;
  spec.b = static_cast<const bf16 *>(operands.pointers[1]) + 0;
  const Epilogue epilogue{operands};
  ContractMma<Spec>(spec, extents, shared).run(epilogue);
}
