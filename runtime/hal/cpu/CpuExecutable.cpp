#include "runtime/hal/cpu/CpuExecutable.h"
#include "runtime/base/File.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace betz {

Result<std::unique_ptr<CpuExecutable>>
CpuExecutable::load(std::span<const std::byte> code,
                    std::span<const std::string> kernels) {
  std::unique_ptr<CpuExecutable> executable(new CpuExecutable);
  executable->fd = ::memfd_create("betz-kernels", MFD_CLOEXEC);
  if (executable->fd < 0)
    return unavailable(fmt::format("cannot make a file in memory for kernels: "
                                   "{}",
                                   std::strerror(errno)));
  BETZ_RETURN_IF_ERROR(writeAll(executable->fd, code.data(), code.size()));
  // The loader takes a path that it knows for the same library, so the
  // descriptor, and with it the path, stays taken while the library is loaded.
  std::string path = fmt::format("/proc/self/fd/{}", executable->fd);
  executable->handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!executable->handle)
    return dataLoss(
        fmt::format("cannot load the kernels: {}; recompile with betz compile",
                    ::dlerror()));
  for (const std::string &name : kernels) {
    void *symbol = ::dlsym(executable->handle, name.c_str());
    if (!symbol)
      return dataLoss(fmt::format("the machine code has no kernel \"{}\"; "
                                  "recompile with betz compile",
                                  name));
    executable->functions.push_back(reinterpret_cast<CpuKernelFn>(symbol));
  }
  return executable;
}

CpuExecutable::~CpuExecutable() {
  if (handle)
    ::dlclose(handle);
  if (fd >= 0)
    ::close(fd);
}

} // namespace betz
