//===- KernelAbi.h - How the runtime calls generated code -----------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace betz {

/// A generated CPU kernel. `operands` are the launch's buffers in order
/// (inputs, then outputs), `extents` the values of Program::symbols for this
/// step. Computes tasks [begin, end) of the kernel's TaskSpace; disjoint ranges
/// may run at once on different threads. Uses at most 256 KiB of stack,
/// allocates nothing, reads and writes nothing else, and gives the same bits
/// however the tasks are divided.
extern "C" {
typedef void (*CpuKernelFn)(void *const *operands, const int64_t *extents,
                            int64_t begin, int64_t end);
}

/// How a generated CUDA kernel is launched. Code for a kernel NAME of N
/// operands is, in CUDA C++,
///
///     template <int N> struct BetzOperands { void *at[N]; };
///     struct BetzLaunch { unsigned threads, sharedBytes, blocksPerSm, flags;
///     }; extern "C" __constant__ BetzLaunch NAME_launch = {...}; extern "C"
///     __global__ void __launch_bounds__(threads) NAME(BetzOperands<N>
///     operands, const long long *extents);
///
/// with the operands of the launch in order and the step's extents in device
/// memory. The grid has one dimension and is as large for every step of a
/// bucket, so the kernel itself skips the tasks that its extents rule out. This
/// is BetzLaunch as the runtime reads it, once, when the code is loaded.
struct CudaLaunchGeometry {
  /// Threads of a block.
  uint32_t threads = 0;
  /// Dynamic shared memory of a block, beside what the kernel declares.
  uint32_t sharedBytes = 0;
  /// 0: a block for each task at the bucket's capacity. Otherwise the kernel is
  /// persistent: as many blocks as fill every multiprocessor with this many,
  /// and no more than there are tasks; each block loops over its share.
  uint32_t blocksPerSm = 0;
  /// Any of kCudaDependentLaunch, kCudaTensorMaps, kCudaPairedBlocks and
  /// kCudaEightBlocks; the other bits are 0.
  uint32_t flags = 0;
};
static_assert(sizeof(CudaLaunchGeometry) == 16);

/// The kernel may start before the one before it has ended (programmatic stream
/// serialization), so it waits by griddepcontrol.wait before it touches what
/// others write. Without effect below compute capability 9.0.
inline constexpr uint32_t kCudaDependentLaunch = 1;
/// The kernel was compiled for clusters of two blocks, so its grid is even.
inline constexpr uint32_t kCudaPairedBlocks = 4;
/// The kernel was compiled for clusters of eight blocks, and a cluster takes a
/// task: the grid has eight blocks a task.
inline constexpr uint32_t kCudaEightBlocks = 8;

/// NAME_maps lies beside the kernel; see CudaTensorMap.
inline constexpr uint32_t kCudaTensorMaps = 2;

/// NAME_launch.
inline constexpr char kCudaLaunchSuffix[] = "_launch";

/// A tensor map (CUtensorMap) through which a kernel reads rows of an operand:
/// boxes of 64 two-byte columns times `boxRows` rows under the 128-byte
/// swizzle, zero outside `columns`. The rows are as many as the buffer holds.
///
/// With `interleaved` the operand is rows in groups of 32, and a map has five
/// dimensions: columns; 2 neighbouring rows; 4 rows, 8 apart; 4 rows, 2 apart;
/// groups. A box of boxRows rows, a multiple of 32, then holds row 8 b + 2 c +
/// a of a group at place 8 c + 2 b + a.
///
/// A kernel with the flag kCudaTensorMaps has a constant array NAME_maps of
/// these and takes the tensor maps as parameters after the extents.
struct CudaTensorMap {
  uint32_t operand = 0;
  uint32_t offsetBytes = 0; // of the first row, a multiple of 16
  uint32_t columns = 0;
  uint32_t rowBytes = 0;    // from row to row, a multiple of 16
  uint32_t boxRows = 0;     // at most 256
  uint32_t interleaved = 0; // 0 or 1
};
static_assert(sizeof(CudaTensorMap) == 24);

/// NAME_maps.
inline constexpr char kCudaMapsSuffix[] = "_maps";
/// Most tensor maps of a kernel.
inline constexpr size_t kMaxCudaTensorMaps = 4;

} // namespace betz
