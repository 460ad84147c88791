//===- wgmma.cuh - Hopper's matrix instructions ---------------------------===//
//
// PTX ISA, "Asynchronous warpgroup level matrix instructions". Operands lie
// in shared memory as rows of 64 bf16 under the 128-byte swizzle; the left one may
// be in registers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma.cuh"

namespace betz {

using uint64 = unsigned long long;

/// Describes rows of 128 bytes from a 1024-byte aligned address, or from a
/// multiple of 32 bytes inside the first row: eight rows are 1024 bytes.
__device__ __forceinline__ uint64 matrixAt(uint32 address) {
  return uint64((address & 0x3ffff) >> 4) | uint64(1) << 16 |
         uint64(1024 >> 4) << 32 | uint64(1) << 62;
}

/// What this thread wrote to shared memory, or saw written there, is seen by
/// the matrix unit.
__device__ __forceinline__ void showToMatrixUnit() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void beginMultiply() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commitMultiply() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `pending` groups are under way.
template <int pending> __device__ __forceinline__ void waitMultiply() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

#define BETZ_SUMS2(i)                                                          \
  "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3]),                  \
      "+f"(d[i + 1][0]), "+f"(d[i + 1][1]), "+f"(d[i + 1][2]),                 \
      "+f"(d[i + 1][3])
#define BETZ_SUMS8(i)                                                          \
  BETZ_SUMS2(i), BETZ_SUMS2(i + 2), BETZ_SUMS2(i + 4), BETZ_SUMS2(i + 6)

// d += a * b for a 64 x 16 and b 16 x N; d as mma.cuh's fragments of a warp's
// 16 rows.
__device__ __forceinline__ void multiplyAsync(float (&d)[8][4], uint64 a,
                                              uint64 b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31 "
      "}, %32, %33, 1, 1, 1, 0, 0;"
      : BETZ_SUMS8(0)
      : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiplyAsync(float (&d)[16][4], uint64 a,
                                              uint64 b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
      "%15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
      "%28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, "
      "%41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
      "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63 "
      "}, %64, %65, 1, 1, 1, 0, 0;"
      : BETZ_SUMS8(0), BETZ_SUMS8(8)
      : "l"(a), "l"(b));
}
/// d += a * b for a 64 x 16 in registers and b 16 x 64, whose rows of 64 lie in
/// shared memory (as matrixAt describes them, eight rows of k after another).
__device__ __forceinline__ void
multiplyRowsAsync(float (&d)[8][4], const uint32 (&a)[4], uint64 b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
               "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, "
               "%14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "
               "%26, %27, %28, %29, %30, %31 "
               "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
               : BETZ_SUMS8(0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef BETZ_SUMS2
#undef BETZ_SUMS8

/// Starts sums[m] += rows 64 m on of the left tile times the right one, for
/// tiles of 64 k.
template <int MT, int NT>
__device__ __forceinline__ void multiplyTiles(float (&sums)[MT][NT][4],
                                              uint32 left, uint32 right) {
  beginMultiply();
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int m = 0; m < MT; ++m)
      multiplyAsync(sums[m], matrixAt(left + m * (64 * 128) + k * 32),
                    matrixAt(right + k * 32));
  commitMultiply();
}

} // namespace betz
