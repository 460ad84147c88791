//===- CpuExecutable.h - A shared object loaded from memory ---------------===//
#pragma once

#include "runtime/hal/Executable.h"
#include "runtime/program/KernelAbi.h"

#include "runtime/base/Status.h"
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace betz {

class CpuExecutable : public Executable {
public:
  static Result<std::unique_ptr<CpuExecutable>>
  load(std::span<const std::byte> code, std::span<const std::string> kernels);
  ~CpuExecutable() override;

  std::span<const CpuKernelFn> kernels() const { return functions; }

private:
  CpuExecutable() = default;
  int fd = -1;
  void *handle = nullptr;
  std::vector<CpuKernelFn> functions;
};

} // namespace betz
