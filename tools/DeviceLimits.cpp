#include "tools/DeviceLimits.h"
#include "codegen/cuda/CudaCode.h"
#include "codegen/tune/LaunchTimer.h"
#include "runtime/base/Progress.h"
#include "runtime/base/Uniform.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz {
namespace {

constexpr int64_t kSize = 8192;

/// bf16 if some matmul reads that.
Result<DType> matmulType(const TargetVariant &target) {
  BETZ_ASSIGN_OR_RETURN(std::vector<tune::Task> tasks, tune::listTasks(target));
  for (const tune::Task &task : tasks)
    if (const auto *core = std::get_if<MatmulCore>(&task.spec.core))
      if (task.spec.operands[size_t(core->x)].dtype == DType::BF16)
        return DType::BF16;
  return DType::F32;
}

/// The product by the kernel that Betz generates.
Result<double> ownProductSeconds(Session &session, DType dtype) {
  const cuda::Architecture *architecture =
      cuda::findArchitecture(session.target().target);
  if (!architecture)
    return internalError("no code is generated for " + session.target().target);
  KernelSpec spec;
  spec.operands.assign(3, {dtype, Dim::constant(kSize), kSize, kSize, 0});
  spec.core = MatmulCore{0, 1, kSize, kSize, 0};
  cuda::chooseTile(spec, *architecture, {});
  const std::string name = codeName(spec);
  BETZ_ASSIGN_OR_RETURN(auto codes,
                        cuda::compileKernels({{name, spec}}, *architecture,
                                             session.isa(), [](size_t) {}));
  Result<std::vector<std::byte>> &code = codes.at(name);
  BETZ_RETURN_IF_ERROR(code.status());
  const std::vector<BufferRef> places = {{BufferKind::Input, 0, 0},
                                         {BufferKind::Input, 1, 0},
                                         {BufferKind::Output, 0, 0}};
  BETZ_ASSIGN_OR_RETURN(
      tune::LaunchTimer timer,
      tune::LaunchTimer::create(
          session.device(), {spec, places, {}, {}}, 1,
          [&](size_t, size_t bytes) { return uniformElements(dtype, bytes); }));
  return timer.time(*code, name, spec.tile);
}

} // namespace

Result<MachineLimits> measureDeviceLimits(Session &session,
                                          CudaBaseline &baseline) {
  BusyLine busy("measuring the device's limits");
  BETZ_ASSIGN_OR_RETURN(DType dtype, matmulType(session.target()));
  const ProductShape shape = {kSize, kSize, kSize, dtype};
  MachineLimits limits;
  BETZ_ASSIGN_OR_RETURN(limits.copyBytes, baseline.copyRate());
  limits.flopsBy = fmt::format("cuBLASLt, {}", toString(dtype));
  Result<double> seconds = baseline.productSeconds(shape, 1);
  if (!seconds.isOk()) {
    const std::string why = seconds.status().message();
    limits.flopsBy = fmt::format("Betz's own matmul, {}", toString(dtype));
    seconds = ownProductSeconds(session, dtype);
    if (!seconds.isOk())
      return std::move(seconds).status().withContext(
          fmt::format("--roofline needs cuBLASLt or NVRTC to measure a limit: "
                      "{}",
                      why));
  }
  limits.flops = shape.flops() / *seconds;
  return limits;
}

} // namespace betz
