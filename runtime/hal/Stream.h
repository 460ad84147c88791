//===- Stream.h - Work in order -------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/hal/Buffer.h"
#include "runtime/hal/CommandGraph.h"
#include "runtime/hal/Executable.h"

#include <memory>
#include <span>

namespace betz {

/// Operands of one launch; no kernel has more.
inline constexpr size_t kMaxOperands = 64;

/// Marks that a stream keeps at a time.
inline constexpr uint32_t kMaxMarks = 64;

/// One run of a kernel.
struct KernelLaunch {
  const Executable *executable = nullptr;
  uint32_t kernel = 0;
  /// At most kMaxOperands; copied by the call.
  std::span<const BufferSlice> operands;
  /// How many tasks the kernel has. Read from the host when the launch runs,
  /// and again at each replay where the driver can, so that a replayed step
  /// does only the work that it has.
  const int64_t *tasks = nullptr;
  /// The most that `*tasks` will ever be. A driver whose graphs have fixed
  /// grids launches this many, and the kernel skips what `extents` rules out.
  int64_t maxTasks = 0;
  /// The i64 extents of the step, read by the kernel when it runs.
  BufferSlice extents;
};

/// Work runs in the order in which it was given, asynchronously where the
/// device can: memory that a copy names stays valid until synchronize(). One
/// thread at a time. While it records nothing, only endCapture and a slot's
/// first mark allocate.
class Stream {
public:
  virtual ~Stream() = default;
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  virtual Status copyToDevice(BufferSlice to, const void *from,
                              size_t bytes) = 0;
  virtual Status copyToHost(void *to, BufferSlice from, size_t bytes) = 0;
  virtual Status launch(const KernelLaunch &launch) = 0;

  /// From here to endCapture, copies and launches are recorded, not run.
  virtual Status beginCapture() = 0;
  virtual Result<std::unique_ptr<CommandGraph>> endCapture() = 0;
  /// Runs what `graph`, captured on this device, recorded.
  virtual Status launchGraph(CommandGraph &graph) = 0;

  /// Waits for everything given so far; reports what went wrong in it.
  virtual Status synchronize() = 0;

  /// Notes in `slot`, below kMaxMarks, when the work given so far ends. Not
  /// while recording.
  virtual Status mark(uint32_t slot) = 0;
  /// Seconds from one mark to a later one, after a synchronize() behind both. A
  /// slot without a mark is an error.
  virtual Result<double> secondsBetween(uint32_t from, uint32_t to) = 0;

protected:
  Stream() = default;
};

} // namespace betz
