//===- CpuStream.h - Eager and recorded work on the CPU -------------------===//
#pragma once

#include "runtime/hal/Stream.h"
#include "runtime/hal/cpu/ThreadPool.h"
#include "runtime/program/KernelAbi.h"

#include <array>
#include <chrono>
#include <optional>
#include <variant>

namespace betz {

/// A kernel call with everything resolved to pointers.
struct CpuLaunch {
  CpuKernelFn kernel = nullptr;
  std::array<void *, kMaxOperands> operands = {};
  const int64_t *tasks = nullptr;
  const int64_t *extents = nullptr;
};

struct CpuCopy {
  void *to = nullptr;
  const void *from = nullptr;
  size_t bytes = 0;
};

class CpuCommandGraph : public CommandGraph {
public:
  std::vector<std::variant<CpuLaunch, CpuCopy>> commands;
};

class CpuStream : public Stream {
public:
  /// `pool` outlives the stream.
  explicit CpuStream(ThreadPool &pool) : pool(pool) {}

  Status copyToDevice(BufferSlice to, const void *from, size_t bytes) override;
  Status copyToHost(void *to, BufferSlice from, size_t bytes) override;
  Status launch(const KernelLaunch &launch) override;
  Status beginCapture() override;
  Result<std::unique_ptr<CommandGraph>> endCapture() override;
  Status launchGraph(CommandGraph &graph) override;
  Status synchronize() override;
  Status mark(uint32_t slot) override;
  Result<double> secondsBetween(uint32_t from, uint32_t to) override;

private:
  Status submit(const CpuCopy &copy);
  void run(const CpuCopy &copy);
  void run(const CpuLaunch &launch);

  ThreadPool &pool;
  /// Set while recording.
  std::unique_ptr<CpuCommandGraph> capture;
  std::array<std::optional<std::chrono::steady_clock::time_point>, kMaxMarks>
      marks;
};

} // namespace betz
