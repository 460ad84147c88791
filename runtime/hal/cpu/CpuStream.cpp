#include "runtime/hal/cpu/CpuStream.h"
#include "runtime/hal/Checks.h"
#include "runtime/hal/cpu/CpuExecutable.h"

#include <cstring>

namespace betz {
namespace {

/// The address of `bytes` bytes at `slice`.
Result<std::byte *> resolve(const BufferSlice &slice, size_t bytes) {
  BETZ_RETURN_IF_ERROR(checkRange(slice, bytes));
  return slice.buffer->hostPointer() + slice.offset;
}

Result<CpuLaunch> resolve(const KernelLaunch &launch) {
  const auto &executable =
      static_cast<const CpuExecutable &>(*launch.executable);
  BETZ_RETURN_IF_ERROR(checkLaunch(launch, executable.kernels().size()));
  CpuLaunch resolved;
  resolved.kernel = executable.kernels()[launch.kernel];
  for (size_t i = 0; i < launch.operands.size(); ++i)
    resolved.operands[i] =
        launch.operands[i].buffer->hostPointer() + launch.operands[i].offset;
  BETZ_ASSIGN_OR_RETURN(std::byte * extents, resolve(launch.extents, 0));
  resolved.extents = reinterpret_cast<const int64_t *>(extents);
  resolved.tasks = launch.tasks;
  return resolved;
}

} // namespace

Status CpuStream::copyToDevice(BufferSlice to, const void *from, size_t bytes) {
  BETZ_ASSIGN_OR_RETURN(std::byte * address, resolve(to, bytes));
  return submit({address, from, bytes});
}

Status CpuStream::copyToHost(void *to, BufferSlice from, size_t bytes) {
  BETZ_ASSIGN_OR_RETURN(std::byte * address, resolve(from, bytes));
  return submit({to, address, bytes});
}

Status CpuStream::submit(const CpuCopy &copy) {
  if (capture)
    capture->commands.emplace_back(copy);
  else
    run(copy);
  return Status::ok();
}

Status CpuStream::launch(const KernelLaunch &launch) {
  BETZ_ASSIGN_OR_RETURN(CpuLaunch resolved, resolve(launch));
  if (capture)
    capture->commands.emplace_back(resolved);
  else
    run(resolved);
  return Status::ok();
}

Status CpuStream::beginCapture() {
  if (capture)
    return internalError("the stream is already recording");
  capture = std::make_unique<CpuCommandGraph>();
  return Status::ok();
}

Result<std::unique_ptr<CommandGraph>> CpuStream::endCapture() {
  if (!capture)
    return internalError("the stream is not recording");
  return std::unique_ptr<CommandGraph>(std::move(capture));
}

Status CpuStream::launchGraph(CommandGraph &graph) {
  if (capture)
    return internalError("a graph cannot be recorded into another");
  for (const auto &command : static_cast<CpuCommandGraph &>(graph).commands)
    std::visit([&](const auto &work) { run(work); }, command);
  return Status::ok();
}

Status CpuStream::synchronize() {
  if (capture)
    return internalError("nothing to wait for while recording");
  return Status::ok();
}

Status CpuStream::mark(uint32_t slot) {
  BETZ_RETURN_IF_ERROR(checkMark(slot, capture != nullptr));
  marks[slot] = std::chrono::steady_clock::now();
  return Status::ok();
}

Result<double> CpuStream::secondsBetween(uint32_t from, uint32_t to) {
  for (uint32_t slot : {from, to})
    if (slot >= kMaxMarks || !marks[slot])
      return missingMark(slot);
  return std::chrono::duration<double>(*marks[to] - *marks[from]).count();
}

void CpuStream::run(const CpuCopy &copy) {
  if (copy.bytes > 0)
    std::memcpy(copy.to, copy.from, copy.bytes);
}

void CpuStream::run(const CpuLaunch &launch) {
  auto body = [](const void *context, int64_t begin, int64_t end) {
    const auto &work = *static_cast<const CpuLaunch *>(context);
    work.kernel(work.operands.data(), work.extents, begin, end);
  };
  pool.parallelFor(*launch.tasks, body, &launch);
}

} // namespace betz
