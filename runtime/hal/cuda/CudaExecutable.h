//===- CudaExecutable.h - Cubins and PTX loaded on a GPU ------------------===//
#pragma once

#include "runtime/hal/Executable.h"
#include "runtime/hal/cuda/CudaContext.h"
#include "runtime/program/KernelAbi.h"

#include <vector>

namespace betz {

struct CudaKernel {
  CUfunction function = nullptr;
  CudaLaunchGeometry geometry;
  std::vector<CudaTensorMap> maps;
};

class CudaExecutable : public Executable {
public:
  /// `code` is what packCudaImages gives. PTX is compiled here, by the driver.
  static Result<std::unique_ptr<CudaExecutable>>
  load(std::shared_ptr<const CudaContext> context,
       std::span<const std::byte> code, std::span<const std::string> kernels);
  ~CudaExecutable() override;

  std::span<const CudaKernel> kernels() const { return functions; }

private:
  explicit CudaExecutable(std::shared_ptr<const CudaContext> context)
      : context(std::move(context)) {}
  Status loadImage(std::span<const std::byte> image);
  Status addKernel(const std::string &name);
  Result<CUmodule> findModule(const std::string &name, CUfunction &function);
  struct Constant {
    CUdeviceptr address = 0;
    size_t bytes = 0;
  };
  Result<Constant> findConstant(CUmodule module, const std::string &symbol);
  Result<CudaLaunchGeometry> readGeometry(CUmodule module,
                                          const std::string &name);
  Result<std::vector<CudaTensorMap>> readMaps(CUmodule module,
                                              const std::string &name);
  Status prepare(const std::string &name, const CudaKernel &kernel);

  std::shared_ptr<const CudaContext> context;
  std::vector<CUmodule> modules;
  std::vector<CudaKernel> functions;
};

} // namespace betz
