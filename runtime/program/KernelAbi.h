//===- KernelAbi.h - How the runtime calls generated CPU code -------------===//
#pragma once

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

} // namespace betz
