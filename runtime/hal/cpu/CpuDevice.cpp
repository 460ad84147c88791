#include "runtime/hal/cpu/CpuDevice.h"
#include "runtime/base/Options.h"
#include "runtime/hal/cpu/CpuExecutable.h"
#include "runtime/hal/cpu/CpuIsa.h"
#include "runtime/hal/cpu/CpuStream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

namespace betz {
namespace {

constexpr int kMaxThreads = 1024;

/// Anonymous pages, or someone else's memory.
class CpuBuffer : public Buffer {
public:
  CpuBuffer(size_t bytes, std::byte *host, bool isOwned)
      : Buffer(bytes, host), isOwned(isOwned) {}
  ~CpuBuffer() override {
    if (isOwned && hostPointer())
      ::munmap(hostPointer(), size());
  }

private:
  bool isOwned;
};

class CpuDevice : public Device {
public:
  CpuDevice(std::unique_ptr<ThreadPool> pool,
            std::vector<std::string_view> isas)
      : pool(std::move(pool)), isas(std::move(isas)) {}

  std::string name() const override {
    int threads = pool->threadCount();
    return fmt::format("cpu ({}, {} thread{})", isas.front(), threads,
                       threads == 1 ? "" : "s");
  }

  bool supports(std::string_view target, std::string_view isa) const override {
    return target == "cpu" && std::ranges::find(isas, isa) != isas.end();
  }

  Result<std::unique_ptr<Buffer>> allocate(size_t bytes, MemoryKind) override {
    if (bytes == 0)
      return std::unique_ptr<Buffer>(new CpuBuffer(0, nullptr, true));
    void *data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
      return resourceExhausted(fmt::format("cannot allocate {} bytes: {}",
                                           bytes, std::strerror(errno)));
    // Kernels walk many rows at once, each on a page of its own. A wish: where
    // there are no large pages, small ones serve.
    ::madvise(data, bytes, MADV_HUGEPAGE);
    return std::unique_ptr<Buffer>(
        new CpuBuffer(bytes, static_cast<std::byte *>(data), true));
  }

  Result<std::unique_ptr<Buffer>>
  wrapHost(std::span<const std::byte> bytes) override {
    auto *data = const_cast<std::byte *>(bytes.data());
    return std::unique_ptr<Buffer>(new CpuBuffer(bytes.size(), data, false));
  }

  Result<std::unique_ptr<Executable>>
  loadExecutable(std::span<const std::byte> code,
                 std::span<const std::string> kernels) override {
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                          CpuExecutable::load(code, kernels));
    return executable;
  }

  Result<std::unique_ptr<Stream>> createStream() override {
    return std::unique_ptr<Stream>(new CpuStream(*pool));
  }

private:
  std::unique_ptr<ThreadPool> pool;
  /// Best first, never empty.
  std::vector<std::string_view> isas;
};

} // namespace

int usableCores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0)
    return std::max(1, CPU_COUNT(&cores));
  return int(std::max(1u, std::thread::hardware_concurrency()));
}

Result<std::unique_ptr<Device>> createCpuDevice(const CpuOptions &options) {
  if (options.threads < 0 || options.threads > kMaxThreads)
    return invalidArgument(fmt::format("{} threads; use 1 to {}, or 0 for all",
                                       options.threads, kMaxThreads));
  BETZ_ASSIGN_OR_RETURN(std::vector<std::string_view> isas,
                        usableCpuIsas(environment().cpuIsa));
  int threads = options.threads > 0 ? options.threads : usableCores();
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool,
                        ThreadPool::create(threads));
  return std::unique_ptr<Device>(
      new CpuDevice(std::move(pool), std::move(isas)));
}

} // namespace betz
