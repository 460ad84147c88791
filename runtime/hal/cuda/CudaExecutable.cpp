#include "runtime/hal/cuda/CudaExecutable.h"
#include "runtime/base/Progress.h"
#include "runtime/program/CudaImages.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace betz {
namespace {

constexpr size_t kLogBytes = 4096;

/// The compiler's log as part of one line.
std::string oneLine(std::string_view log) {
  std::string line(log.substr(0, log.find('\0')));
  while (!line.empty() && (line.back() == '\n' || line.back() == ' '))
    line.pop_back();
  std::ranges::replace(line, '\n', ' ');
  return line;
}

} // namespace

Result<std::unique_ptr<CudaExecutable>>
CudaExecutable::load(std::shared_ptr<const CudaContext> context,
                     std::span<const std::byte> code,
                     std::span<const std::string> kernels) {
  auto addRemedy = [](Status status) {
    return Status(status.getCode(),
                  fmt::format("cannot load the kernels: {}; recompile with "
                              "betz compile",
                              status.message()));
  };
  auto images = unpackCudaImages(code);
  if (!images.isOk())
    return addRemedy(images.status());
  std::unique_ptr<CudaExecutable> executable(
      new CudaExecutable(std::move(context)));
  for (std::span<const std::byte> image : *images)
    if (Status status = executable->loadImage(image); !status.isOk())
      return addRemedy(std::move(status));
  for (const std::string &name : kernels)
    BETZ_RETURN_IF_ERROR(executable->addKernel(name));
  return executable;
}

CudaExecutable::~CudaExecutable() {
  for (CUmodule module : modules)
    context->release(
        [&](const CudaDriver &cuda) { return cuda.cuModuleUnload(module); });
}

Status CudaExecutable::loadImage(std::span<const std::byte> image) {
  std::optional<BusyLine> busy;
  if (!isCubin(image))
    busy.emplace(fmt::format("compiling PTX for {}", context->name()));
  char log[kLogBytes] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // The size travels as a pointer; the last byte stays NUL.
  void *values[] = {log, reinterpret_cast<void *>(uintptr_t(kLogBytes - 1))};
  CUmodule module = nullptr;
  Status status = context->call(fmt::format("load image {}", modules.size()),
                                [&](const CudaDriver &cuda) {
                                  return cuda.cuModuleLoadDataEx(
                                      &module, image.data(), std::size(options),
                                      options, values);
                                });
  if (status.isOk())
    modules.push_back(module);
  else if (std::string text = oneLine({log, kLogBytes}); !text.empty())
    return Status(status.getCode(),
                  fmt::format("{}: {}", status.message(), text));
  return status;
}

Status CudaExecutable::addKernel(const std::string &name) {
  CudaKernel kernel;
  BETZ_ASSIGN_OR_RETURN(CUmodule module, findModule(name, kernel.function));
  BETZ_ASSIGN_OR_RETURN(kernel.geometry, readGeometry(module, name));
  BETZ_RETURN_IF_ERROR(prepare(name, kernel));
  if (kernel.geometry.flags & kCudaTensorMaps) {
    BETZ_ASSIGN_OR_RETURN(kernel.maps, readMaps(module, name));
  }
  functions.push_back(std::move(kernel));
  return Status::ok();
}

Result<CUmodule> CudaExecutable::findModule(const std::string &name,
                                            CUfunction &function) {
  for (CUmodule module : modules) {
    bool isThere = true;
    BETZ_RETURN_IF_ERROR(context->call(
        fmt::format("find kernel \"{}\"", name), [&](const CudaDriver &cuda) {
          CUresult result =
              cuda.cuModuleGetFunction(&function, module, name.c_str());
          isThere = result != CUDA_ERROR_NOT_FOUND;
          return isThere ? result : CUDA_SUCCESS;
        }));
    if (isThere)
      return module;
  }
  return dataLoss(fmt::format(
      "the machine code has no kernel \"{}\"; recompile with betz compile",
      name));
}

Result<CudaLaunchGeometry>
CudaExecutable::readGeometry(CUmodule module, const std::string &name) {
  const std::string symbol = name + kCudaLaunchSuffix;
  BETZ_ASSIGN_OR_RETURN(Constant constant, findConstant(module, symbol));
  CudaLaunchGeometry geometry;
  if (constant.bytes != sizeof(geometry))
    return dataLoss(fmt::format("\"{}\" in the machine code has {} bytes, not "
                                "{}; recompile with betz compile",
                                symbol, constant.bytes, sizeof(geometry)));
  BETZ_RETURN_IF_ERROR(
      context->readNow(&geometry, constant.address, constant.bytes));
  return geometry;
}

Result<std::vector<CudaTensorMap>>
CudaExecutable::readMaps(CUmodule module, const std::string &name) {
  const std::string symbol = name + kCudaMapsSuffix;
  BETZ_ASSIGN_OR_RETURN(Constant constant, findConstant(module, symbol));
  const size_t count = constant.bytes / sizeof(CudaTensorMap);
  if (constant.bytes % sizeof(CudaTensorMap) != 0 || count == 0 ||
      count > kMaxCudaTensorMaps)
    return dataLoss(fmt::format("\"{}\" in the machine code has {} bytes; "
                                "recompile with betz compile",
                                symbol, constant.bytes));
  std::vector<CudaTensorMap> maps(count);
  BETZ_RETURN_IF_ERROR(
      context->readNow(maps.data(), constant.address, constant.bytes));
  return maps;
}

Result<CudaExecutable::Constant>
CudaExecutable::findConstant(CUmodule module, const std::string &symbol) {
  Constant constant;
  BETZ_RETURN_IF_ERROR(context->call(
      fmt::format("find \"{}\" beside its kernel", symbol),
      [&](const CudaDriver &cuda) {
        return cuda.cuModuleGetGlobal(&constant.address, &constant.bytes,
                                      module, symbol.c_str());
      }));
  return constant;
}

Status CudaExecutable::prepare(const std::string &name,
                               const CudaKernel &kernel) {
  int mostThreads = 0;
  // The driver loads kernels when they are first used. Asking for an attribute
  // is a use, so that no step has to load one.
  BETZ_RETURN_IF_ERROR(context->call(
      fmt::format("load kernel \"{}\"", name), [&](const CudaDriver &cuda) {
        return cuda.cuFuncGetAttribute(&mostThreads,
                                       CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                       kernel.function);
      }));
  constexpr uint32_t kKnownFlags = kCudaDependentLaunch | kCudaTensorMaps |
                                   kCudaPairedBlocks | kCudaEightBlocks;
  const auto [threads, sharedBytes, blocksPerSm, flags] = kernel.geometry;
  if (threads == 0 || threads > uint32_t(mostThreads) ||
      sharedBytes > INT32_MAX || (flags & ~kKnownFlags) != 0)
    return dataLoss(fmt::format(
        "kernel \"{}\" asks for {} of at most {} threads, {} bytes of shared "
        "memory, flags {}; recompile with betz compile",
        name, threads, mostThreads, sharedBytes, flags));
  if (sharedBytes == 0)
    return Status::ok();
  return context->call(
      fmt::format("give kernel \"{}\" {} bytes of shared memory", name,
                  sharedBytes),
      [&](const CudaDriver &cuda) {
        return cuda.cuFuncSetAttribute(
            kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            int(sharedBytes));
      });
}

} // namespace betz
