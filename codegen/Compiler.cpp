#include "codegen/Compiler.h"

#include "codegen/LowerToSpec.h"
#include "codegen/ProgramBuilder.h"
#include "codegen/cpu/LowerKernel.h"
#include "codegen/cuda/CudaCode.h"
#include "ir/reference/Interpreter.h"
#include "passes/Passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace betz {

using namespace ir;
using mlir::Value;

namespace {

/// Larger buckets would overflow 32-bit row splits.
constexpr int64_t kLargestBucket = int64_t(1) << 30;

bool isCuda(std::string_view target) {
  return cuda::findArchitecture(target) != nullptr;
}

passes::PipelineOptions pipelineOptions(mlir::ModuleOp module, bool cuda,
                                        const CompileOptions &options) {
  passes::PipelineOptions pipeline;
  pipeline.panel = cuda ? 0 : cpu::kMicroColumns;
  pipeline.narrow = cuda && options.precision == DType::BF16;
  pipeline.normsApart = cuda;
  for (int64_t batch : options.batches) {
    std::vector<int64_t> capacity;
    for (const std::string &symbol : symbolsOf(module))
      capacity.push_back(symbol == "batch" ? batch : batch * options.maxEvents);
    pipeline.buckets.push_back(std::move(capacity));
  }
  pipeline.onPass = [&options](const passes::PassEvent &event) {
    options.observer->onPass(event.pass, toString(getPhase(event.module)),
                             event.failed, event.seconds,
                             [&] { return printModule(event.module); });
  };
  return pipeline;
}

} // namespace

Status checkCompileOptions(const CompileOptions &options) {
  std::vector<std::string> known = {"cpu"};
  for (const cuda::Architecture &architecture : cuda::architectures())
    known.push_back(architecture.target);
  for (const std::string &target : options.targets)
    if (std::find(known.begin(), known.end(), target) == known.end())
      return invalidArgument(
          fmt::format("unknown target \"{}\"; this build compiles for: {}",
                      target, fmt::join(known, ", ")));
  if (options.targets.empty())
    return invalidArgument(fmt::format("no target; this build compiles for: {}",
                                       fmt::join(known, ", ")));
  if (std::set<std::string>(options.targets.begin(), options.targets.end())
          .size() != options.targets.size())
    return invalidArgument("a target is named twice");
  if (options.batches.empty() || options.batches.front() < 1)
    return invalidArgument("batches must be positive, for example 1,8,32");
  for (size_t i = 1; i < options.batches.size(); ++i)
    if (options.batches[i] <= options.batches[i - 1])
      return invalidArgument("batches must ascend, for example 1,8,32");
  if (options.maxEvents < 1 || options.maxEvents > kLargestBucket ||
      options.batches.back() > kLargestBucket / options.maxEvents)
    return invalidArgument(
        fmt::format("max-events must be positive, and with the largest batch "
                    "at most {} events",
                    kLargestBucket));
  return Status::ok();
}

namespace {

Status lowerFor(bool cuda, mlir::ModuleOp module, Phase phase,
                const CompileOptions &options) {
  Stopwatch watch;
  options.observer->onInput(toString(getPhase(module)),
                            [&] { return printModule(module); });
  BETZ_RETURN_IF_ERROR(passes::verifyPhase(module));
  Status status =
      passes::lowerTo(phase, module, pipelineOptions(module, cuda, options));
  options.observer->onStage("lower", watch.seconds());
  return status;
}

} // namespace

Status lowerModule(mlir::ModuleOp module, Phase phase,
                   const CompileOptions &options) {
  BETZ_RETURN_IF_ERROR(checkCompileOptions(options));
  return lowerFor(isCuda(options.targets.front()), module, phase, options);
}

Result<std::shared_ptr<const Program>>
compileModule(mlir::ModuleOp module, const reference::TensorMap &weights,
              const CompileOptions &options) {
  BETZ_RETURN_IF_ERROR(checkCompileOptions(options));
  const bool firstIsCuda = isCuda(options.targets.front());
  std::vector<LoweredModule> modules;
  for (bool cuda : {firstIsCuda, !firstIsCuda}) {
    LoweredModule lowered;
    for (const std::string &target : options.targets)
      if (isCuda(target) == cuda)
        lowered.targets.push_back(target);
    if (!lowered.targets.empty())
      modules.push_back(std::move(lowered));
  }
  mlir::OwningOpRef<mlir::ModuleOp> second;
  modules.front().module = module;
  if (modules.size() > 1) {
    second = module.clone();
    modules.back().module = *second;
  }
  for (LoweredModule &lowered : modules) {
    BETZ_RETURN_IF_ERROR(lowerFor(isCuda(lowered.targets.front()),
                                  lowered.module, Phase::Program, options));
    Stopwatch watch;
    BETZ_ASSIGN_OR_RETURN(lowered.derived,
                          reference::runPrepare(lowered.module, weights));
    options.observer->onStage("prepare", watch.seconds());
  }
  return buildProgram(modules, options);
}

} // namespace betz
