#include "runtime/hal/null/NullDevice.h"
#include "runtime/hal/Checks.h"

#include <array>
#include <cstring>
#include <optional>

namespace betz {
namespace {

class NullBuffer : public Buffer {
public:
  explicit NullBuffer(size_t bytes) : Buffer(bytes, nullptr) {}
};

class NullStagingBuffer : public Buffer {
public:
  explicit NullStagingBuffer(std::unique_ptr<std::byte[]> data, size_t bytes)
      : Buffer(bytes, data.get()), data(std::move(data)) {}

private:
  std::unique_ptr<std::byte[]> data;
};

class NullExecutable : public Executable {
public:
  explicit NullExecutable(size_t kernels) : kernels(kernels) {}
  const size_t kernels;
};

class NullCommandGraph : public CommandGraph {
public:
  NullCounters commands;
};

class NullStream : public Stream {
public:
  explicit NullStream(NullCounters &counts) : counts(counts) {}

  Status copyToDevice(BufferSlice to, const void *, size_t bytes) override {
    BETZ_RETURN_IF_ERROR(checkRange(to, bytes));
    ++target().copiesToDevice;
    return Status::ok();
  }

  Status copyToHost(void *to, BufferSlice from, size_t bytes) override {
    BETZ_RETURN_IF_ERROR(checkRange(from, bytes));
    ++target().copiesToHost;
    if (!capture && bytes > 0)
      std::memset(to, 0, bytes);
    return Status::ok();
  }

  Status launch(const KernelLaunch &launch) override {
    const auto &executable =
        static_cast<const NullExecutable &>(*launch.executable);
    BETZ_RETURN_IF_ERROR(checkLaunch(launch, executable.kernels));
    ++target().launches;
    return Status::ok();
  }

  Status beginCapture() override {
    if (capture)
      return internalError("the stream is already recording");
    capture = std::make_unique<NullCommandGraph>();
    ++counts.captures;
    return Status::ok();
  }

  Result<std::unique_ptr<CommandGraph>> endCapture() override {
    if (!capture)
      return internalError("the stream is not recording");
    return std::unique_ptr<CommandGraph>(std::move(capture));
  }

  Status launchGraph(CommandGraph &graph) override {
    if (capture)
      return internalError("a graph cannot be recorded into another");
    const NullCounters &commands =
        static_cast<NullCommandGraph &>(graph).commands;
    counts.launches += commands.launches;
    counts.copiesToDevice += commands.copiesToDevice;
    counts.copiesToHost += commands.copiesToHost;
    ++counts.graphLaunches;
    return Status::ok();
  }

  Status synchronize() override {
    if (capture)
      return internalError("nothing to wait for while recording");
    ++counts.synchronizations;
    return Status::ok();
  }

  Status mark(uint32_t slot) override {
    BETZ_RETURN_IF_ERROR(checkMark(slot, capture != nullptr));
    ++counts.marks;
    launchesAt[slot] = counts.launches;
    return Status::ok();
  }

  Result<double> secondsBetween(uint32_t from, uint32_t to) override {
    for (uint32_t slot : {from, to})
      if (slot >= kMaxMarks || !launchesAt[slot])
        return missingMark(slot);
    return 1e-6 * double(*launchesAt[to] - *launchesAt[from]);
  }

private:
  NullCounters &target() { return capture ? capture->commands : counts; }

  NullCounters &counts;
  std::unique_ptr<NullCommandGraph> capture;
  std::array<std::optional<int64_t>, kMaxMarks> launchesAt;
};

} // namespace

Result<std::unique_ptr<Buffer>> NullDevice::allocate(size_t bytes,
                                                     MemoryKind kind) {
  ++counts.allocations;
  counts.allocatedBytes += int64_t(bytes);
  if (kind == MemoryKind::Device)
    return std::unique_ptr<Buffer>(new NullBuffer(bytes));
  return std::unique_ptr<Buffer>(
      new NullStagingBuffer(std::make_unique<std::byte[]>(bytes), bytes));
}

Result<std::unique_ptr<Buffer>>
NullDevice::wrapHost(std::span<const std::byte> bytes) {
  ++counts.allocations;
  counts.allocatedBytes += int64_t(bytes.size());
  return std::unique_ptr<Buffer>(new NullBuffer(bytes.size()));
}

Result<std::unique_ptr<Executable>>
NullDevice::loadExecutable(std::span<const std::byte>,
                           std::span<const std::string> kernels) {
  ++counts.executables;
  return std::unique_ptr<Executable>(new NullExecutable(kernels.size()));
}

Result<std::unique_ptr<Stream>> NullDevice::createStream() {
  return std::unique_ptr<Stream>(new NullStream(counts));
}

} // namespace betz
