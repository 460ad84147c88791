//===- CpuDevice.h - The processor that this program runs on --------------===//
#pragma once

#include "runtime/hal/Device.h"

namespace betz {

/// Cores that this process may use, at least 1.
int usableCores();

struct CpuOptions {
  /// Threads that share a kernel's tasks, the caller among them; 0 means one
  /// for each core that this process may use.
  int threads = 0;
};

/// Runs executables that are ELF shared objects whose kernels are CpuKernelFn
/// (runtime/program/KernelAbi.h). All its memory is host memory. Work is
/// synchronous: a call returns when it is done.
Result<std::unique_ptr<Device>> createCpuDevice(const CpuOptions &options);

} // namespace betz
