//===- base.cuh - What every generated kernel stands on -------------------===//
//
// Self-contained: NVRTC needs no include path. A generated source defines
// traits and an Epilogue for one KernelSpec and instantiates a family.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace betz {

using int32 = int;
using uint32 = unsigned int;
using int64 = long long;
using uint16 = unsigned short;

#define kInfinity __int_as_float(0x7f800000)

/// Bits of a brain float.
struct bf16 {
  uint16 bits;
};

/// A kernel's operands by value, in the order of its KernelSpec.
template <int N> struct Operands {
  void *pointers[N];
};

/// Geometry of a launch; see runtime/program/KernelAbi.h.
struct Launch {
  uint32 threads, sharedBytes, blocksPerSm, flags;
};

__device__ __forceinline__ float toFloat(float x) { return x; }
__device__ __forceinline__ float toFloat(bf16 x) {
  return __uint_as_float(uint32(x.bits) << 16);
}

/// Two floats, rounded to nearest even: `low` in the lower half.
__device__ __forceinline__ uint32 packBf16(float low, float high) {
  uint32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

template <typename T> __device__ __forceinline__ T fromFloat(float x);
template <> __device__ __forceinline__ float fromFloat<float>(float x) {
  return x;
}
template <> __device__ __forceinline__ bf16 fromFloat<bf16>(float x) {
  return {uint16(packBf16(x, 0.0f) & 0xffffu)};
}

//===----------------------------------------------------------------------===//
// Rows in memory
//===----------------------------------------------------------------------===//

/// Columns of a row in global memory, which no block writes while another may
/// read it. `aligned` when every row of the operand starts on 16 bytes and holds a
/// multiple of V columns.
template <int V, bool aligned>
__device__ __forceinline__ void loadColumns(float (&values)[V],
                                            const float *from, int valid) {
  if constexpr (aligned && V % 4 == 0) {
    if (valid > 0) {
#pragma unroll
      for (int i = 0; i < V; i += 4) {
        float4 four = __ldg(reinterpret_cast<const float4 *>(from + i));
        values[i] = four.x, values[i + 1] = four.y;
        values[i + 2] = four.z, values[i + 3] = four.w;
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < V; ++i)
    values[i] = i < valid ? from[i] : 0.0f;
}

template <int V, bool aligned>
__device__ __forceinline__ void loadColumns(float (&values)[V],
                                            const bf16 *from, int valid) {
  if constexpr (aligned && V == 8) {
    if (valid > 0) {
      uint4 eight = __ldg(reinterpret_cast<const uint4 *>(from));
      const uint32 words[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[2 * i] = __uint_as_float(words[i] << 16);
        values[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < V; ++i)
    values[i] = i < valid ? toFloat(from[i]) : 0.0f;
}

/// Columns of a row as they came from memory.
template <typename T, int V, bool aligned> struct Fetched {
  float values[V];
  __device__ __forceinline__ void fetch(const T *from, int valid) {
    loadColumns<V, aligned>(values, from, valid);
  }
  __device__ __forceinline__ void expand(float (&out)[V]) const {
#pragma unroll
    for (int i = 0; i < V; ++i)
      out[i] = values[i];
  }
};
template <> struct Fetched<bf16, 8, true> {
  uint4 words;
  /// In this place of the code: moved up, many would not fit in registers.
  __device__ __forceinline__ void fetch(const bf16 *from, int valid) {
    asm volatile("{\n"
                 ".reg .pred some;\n"
                 "setp.gt.s32 some, %5, 0;\n"
                 "mov.b32 %0, 0;\n"
                 "mov.b32 %1, 0;\n"
                 "mov.b32 %2, 0;\n"
                 "mov.b32 %3, 0;\n"
                 "@some ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];\n"
                 "}"
                 : "=&r"(words.x), "=&r"(words.y), "=&r"(words.z),
                   "=&r"(words.w)
                 : "l"(from), "r"(valid)
                 : "memory");
  }
  __device__ __forceinline__ void expand(float (&out)[8]) const {
    const uint32 each[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = __uint_as_float(each[i] << 16);
      out[2 * i + 1] = __uint_as_float(each[i] & 0xffff0000u);
    }
  }
};

/// Sixteen bytes; `streams`: to leave the caches first, for what outgrows them.
template <bool streams, typename Vector>
__device__ __forceinline__ void storeVector(void *to, Vector value) {
  if constexpr (streams)
    __stcs(static_cast<Vector *>(to), value);
  else
    *static_cast<Vector *>(to) = value;
}

template <int V, bool aligned, bool streams>
__device__ __forceinline__ void storeColumns(const float (&values)[V],
                                             float *to, int valid) {
  if constexpr (aligned && V % 4 == 0) {
    if (valid > 0) {
#pragma unroll
      for (int i = 0; i < V; i += 4)
        storeVector<streams>(to + i, make_float4(values[i], values[i + 1],
                                                 values[i + 2], values[i + 3]));
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < V; ++i)
    if (i < valid)
      to[i] = values[i];
}

template <int V, bool aligned, bool streams>
__device__ __forceinline__ void storeColumns(const float (&values)[V], bf16 *to,
                                             int valid) {
  if constexpr (aligned && V == 8) {
    if (valid > 0)
      storeVector<streams>(
          to, make_uint4(
                  packBf16(values[0], values[1]), packBf16(values[2], values[3]),
                  packBf16(values[4], values[5]),
                  packBf16(values[6], values[7])));
    return;
  }
#pragma unroll
  for (int i = 0; i < V; ++i)
    if (i < valid)
      to[i] = fromFloat<bf16>(values[i]);
}

//===----------------------------------------------------------------------===//
// Launches that overlap
//===----------------------------------------------------------------------===//

/// Waits for the kernels before this one, whose blocks may still run, and lets
/// the next one's blocks start (programmatic dependent launch, sm_90). Nothing that
/// a kernel writes may be touched before it; constant weights may.
__device__ __forceinline__ void followPrevious() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// Always the same tree, and the same value in every lane.
__device__ __forceinline__ float sumLanes(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}
__device__ __forceinline__ float maxLanes(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

__device__ __forceinline__ uint32 sharedAddress(const void *pointer) {
  return uint32(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ int warpOf(int thread) { return thread / 32; }
__device__ __forceinline__ int laneOf(int thread) { return thread % 32; }

//===----------------------------------------------------------------------===//
// Elementwise functions
//===----------------------------------------------------------------------===//

/// 2^x; below 2^-126 it is zero.
__device__ __forceinline__ float exp2Fast(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

__device__ __forceinline__ float gelu(float x) {
  return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
}

/// The larger, or NaN if one is.
__device__ __forceinline__ float maxOrNan(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}

/// Phi(-s) where s is |x| up to 6, as 2^p(s); the polynomial's relative error is
/// at most 5e-5, a fortieth of bf16's rounding.
__device__ __forceinline__ float normalTail(float x) {
  const float size = fminf(fabsf(x), 6.0f); // beyond, the tail is below 1e-8
  float p = fmaf(2.29894722e-05f, size, -6.11089577e-04f);
  p = fmaf(p, size, 7.19549786e-03f);
  p = fmaf(p, size, -5.1185146e-02f);
  p = fmaf(p, size, -0.46127212f);
  p = fmaf(p, size, -1.15017426f);
  p = fmaf(p, size, -1.00006473f);
  return exp2Fast(p);
}

/// The same for results that are stored as bf16: max(x, 0) - s Phi(-s).
__device__ __forceinline__ float geluShort(float x) {
  const float size = fminf(fabsf(x), 6.0f);
  return fmaf(-normalTail(x), size, maxOrNan(x, 0.0f));
}

__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }

__device__ __forceinline__ float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

/// The slope of silu.
__device__ __forceinline__ float siluSlope(float x) {
  const float s = sigmoid(x);
  return s * fmaf(x, 1.0f - s, 1.0f);
}

/// The slope of gelu.
__device__ __forceinline__ float geluSlope(float x) {
  const float density = 0.39894228040143268f * expf(-0.5f * x * x);
  return fmaf(x, density, 0.5f * (1.0f + erff(x * 0.70710678118654752f)));
}

/// The same for results that are stored as bf16, by the tail of geluShort; off
/// by at most 3e-5.
__device__ __forceinline__ float geluSlopeShort(float x) {
  const float tail = normalTail(x);
  const float density = 0.39894228040143268f * exp2Fast(-0.72134752f * x * x);
  return fmaf(x, density, x > 0.0f ? 1.0f - tail : tail);
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// The 32-bit finalizer of MurmurHash3, as betz.dropout defines it.
__device__ __forceinline__ uint32 mixBits(uint32 u) {
  u += 0x9e3779b9u;
  u = (u ^ (u >> 16)) * 0x85ebca6bu;
  u = (u ^ (u >> 13)) * 0xc2b2ae35u;
  return u ^ (u >> 16);
}

__device__ __forceinline__ uint32 dropoutKey(const int32 *seed, uint32 site) {
  return mixBits(uint32(seed[0]) + mixBits(uint32(seed[1]) + mixBits(site)));
}

__device__ __forceinline__ float dropout(float x, uint32 key, uint32 element,
                                         uint32 threshold, float scale) {
  return mixBits(key ^ mixBits(element)) >= threshold ? x * scale : 0.0f;
}

} // namespace betz
