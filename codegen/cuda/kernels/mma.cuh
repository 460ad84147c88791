//===- mma.cuh - Tensor core instructions of sm_80 and later --------------===//
//
// PTX ISA: cp.async, ldmatrix, mma.sync.m16n8k16. Shared memory holds rows of
// 64 bf16 (128 bytes, eight 16-byte chunks), chunk c of row r at c ^ (r % 8),
// so that eight rows of one chunk lie in different banks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "base.cuh"

namespace betz {

/// Copies 16 bytes, or writes zeros when `bytes` is 0.
__device__ __forceinline__ void copyAsync(uint32 to, const void *from,
                                          int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
               "l"(from), "r"(bytes)
               : "memory");
}
/// Copies 4 bytes.
__device__ __forceinline__ void copyWordAsync(uint32 to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from)
               : "memory");
}
__device__ __forceinline__ void commitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `pending` groups are under way.
template <int pending> __device__ __forceinline__ void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// Byte offset of 16-byte chunk `chunk` of row `row`.
__device__ __forceinline__ uint32 swizzled(int row, int chunk) {
  return uint32(row * 128 + ((chunk ^ (row & 7)) << 4));
}

__device__ __forceinline__ void loadMatrices(uint32 (&r)[4], uint32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void loadTransposed(uint32 (&r)[4], uint32 address) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(address)
      : "memory");
}

/// d += a * b: 16 x 16 times 16 x 8.
__device__ __forceinline__ void multiplyAdd(float (&d)[4], const uint32 (&a)[4],
                                            uint32 b0, uint32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two neighbouring fragments of 16 x 8 as the left operand, 16 x 16.
__device__ __forceinline__ void packFragment(uint32 (&a)[4],
                                             const float (&left)[4],
                                             const float (&right)[4]) {
  a[0] = packBf16(left[0], left[1]), a[1] = packBf16(left[2], left[3]);
  a[2] = packBf16(right[0], right[1]), a[3] = packBf16(right[2], right[3]);
}

} // namespace betz
