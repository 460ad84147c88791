#include "elements.cuh"

using namespace betz;

struct Spec {
  static __device__ __forceinline__ int64 rows(const int64 *extents) {
    return 1;
  }
  static constexpr int columns = 6400;
  static constexpr int tileRows = 1;
  static constexpr int tileColumns = 2048;
  static constexpr int threads = 256;
  const float *weights;
  const float *moment1;
  const float *moment2;
  const float *gradient;
  float *newWeights;
  float *newMoment1;
  float *newMoment2;
  const float *squares;
  const float *schedule;
  static constexpr bool aligned = true;
  static constexpr float beta1 = 0.9f;
  static constexpr float rest1 = 0.1f;
  static constexpr float beta2 = 0.98f;
  static constexpr float rest2 = 0.02f;
  static constexpr float eps = 1e-08f;
  static constexpr float decay = 0.1f;
  static constexpr float clip = 1.0f;
};

extern "C" __constant__ Launch adamw_launch = {256, 0, 0, 1};

extern "C" __global__ void __launch_bounds__(256, 4)
adamw(const __grid_constant__ Operands<9> operands,
    const int64 *extents) {
  followPrevious();
  Spec spec;
  spec.weights = static_cast<const float *>(operands.pointers[0]) + 0;
  spec.moment1 = static_cast<const float *>(operands.pointers[1]) + 0;
  spec.moment2 = static_cast<const float *>(operands.pointers[2]) + 0;
  spec.gradient = static_cast<const float *>(operands.pointers[3]) + 0;
  spec.newWeights = static_cast<float *>(operands.pointers[6]) + 0;
  spec.newMoment1 = static_cast<float *>(operands.pointers[7]) + 0;
  spec.newMoment2 = static_cast<float *>(operands.pointers[8]) + 0;
  spec.squares = static_cast<const float *>(operands.pointers[4]) + 0;
  spec.schedule = static_cast<const float *>(operands.pointers[5]) + 0;
  adamw(spec, extents);
}
