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

constexpr llvm::StringLiteral kCpu = "cpu";

bool isCuda(std::string_view target) {
  return cuda::findArchitecture(target) != nullptr;
}

/// Every target that this build compiles for.
std::vector<std::string> knownTargets() {
  std::vector<std::string> known = {kCpu.str()};
  for (const cuda::Architecture &architecture : cuda::architectures())
    known.push_back(architecture.target);
  return known;
}

Status checkTarget(const std::string &target) {
  const std::vector<std::string> known = knownTargets();
  if (llvm::is_contained(known, target))
    return Status::ok();
  return invalidArgument(
      fmt::format("unknown target \"{}\"; this build compiles for: {}", target,
                  fmt::join(known, ", ")));
}

//===----------------------------------------------------------------------===//
// What a module is lowered for
//===----------------------------------------------------------------------===//

/// Options, once the module has had its say.
struct Lowering {
  std::vector<std::string> targets;
  DType precision = DType::BF16;
};

/// The target that `module` was lowered for; "" if for none yet.
Result<std::string> loweredFor(mlir::ModuleOp module) {
  mlir::Attribute attribute = module->getAttr(kTargetAttr);
  if (!attribute)
    return getPhase(module) == Phase::Model ? std::string() : kCpu.str();
  auto name = llvm::dyn_cast<mlir::StringAttr>(attribute);
  if (!name)
    return invalidArgument("betz.target must be a name");
  std::string target = name.getValue().str();
  BETZ_RETURN_IF_ERROR(checkTarget(target).withContext("betz.target"));
  return target;
}

/// The precision that `module` was lowered with, if it says.
Result<std::optional<DType>> loweredWith(mlir::ModuleOp module) {
  mlir::Attribute attribute = module->getAttr(kPrecisionAttr);
  if (!attribute)
    return std::optional<DType>();
  auto name = llvm::dyn_cast<mlir::StringAttr>(attribute);
  std::optional<DType> precision =
      name ? parseDType(name.getValue().str()) : std::nullopt;
  if (precision != DType::F32 && precision != DType::BF16)
    return invalidArgument("betz.precision must be \"f32\" or \"bf16\"");
  return precision;
}

/// A session takes the first code that its device runs, so among the CUDA
/// targets the one that asks for most comes first.
void preferLaterArchitectures(std::vector<std::string> &targets) {
  std::vector<std::string> ordered;
  for (const cuda::Architecture &architecture : cuda::architectures())
    if (llvm::is_contained(targets, architecture.target))
      ordered.push_back(architecture.target);
  auto next = ordered.begin();
  for (std::string &target : targets)
    if (isCuda(target) && next != ordered.end())
      target = *next++;
}

Result<Lowering> chooseLowering(mlir::ModuleOp module,
                                const CompileOptions &options) {
  BETZ_ASSIGN_OR_RETURN(std::string before, loweredFor(module));
  BETZ_ASSIGN_OR_RETURN(std::optional<DType> precision, loweredWith(module));
  Lowering lowering{options.targets, DType::BF16};
  if (lowering.targets.empty())
    lowering.targets = {before.empty() ? kCpu.str() : before};
  preferLaterArchitectures(lowering.targets);
  for (const std::string &target : lowering.targets)
    if (!before.empty() && isCuda(target) != isCuda(before))
      return invalidArgument(
          fmt::format("the module is lowered for {}, not for {}; start from "
                      "the model",
                      before, target));
  if (precision && options.precision && *precision != *options.precision)
    return invalidArgument(fmt::format(
        "the module is lowered in {}, not in {}; start from the model",
        toString(*precision), toString(*options.precision)));
  if (options.precision == DType::BF16 &&
      llvm::none_of(lowering.targets, isCuda))
    return invalidArgument("precision bf16 needs a cuda target; the CPU "
                           "computes in f32");
  lowering.precision =
      precision.value_or(options.precision.value_or(DType::BF16));
  return lowering;
}

passes::PipelineOptions pipelineOptions(mlir::ModuleOp module, bool cuda,
                                        DType precision,
                                        const CompileOptions &options) {
  passes::PipelineOptions pipeline;
  pipeline.panel = cuda ? 0 : cpu::kMicroColumns;
  pipeline.narrow = cuda && precision == DType::BF16;
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

Status lowerFor(const std::string &target, DType precision,
                mlir::ModuleOp module, Phase phase,
                const CompileOptions &options) {
  Stopwatch watch;
  options.observer->onInput(toString(getPhase(module)),
                            [&] { return printModule(module); });
  BETZ_RETURN_IF_ERROR(passes::verifyPhase(module));
  if (phase > Phase::Model)
    setTarget(module, target, precision);
  Status status = passes::lowerTo(
      phase, module,
      pipelineOptions(module, isCuda(target), precision, options));
  options.observer->onStage("lower", watch.seconds());
  return status;
}

} // namespace

Status checkCompileOptions(const CompileOptions &options) {
  for (const std::string &target : options.targets)
    BETZ_RETURN_IF_ERROR(checkTarget(target));
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

Status lowerModule(mlir::ModuleOp module, Phase phase,
                   const CompileOptions &options) {
  BETZ_RETURN_IF_ERROR(checkCompileOptions(options));
  BETZ_ASSIGN_OR_RETURN(Lowering lowering, chooseLowering(module, options));
  if (lowering.targets.size() > 1)
    return invalidArgument(
        fmt::format("a module is lowered for one target, not for {}; name one",
                    fmt::join(lowering.targets, ", ")));
  return lowerFor(lowering.targets.front(), lowering.precision, module, phase,
                  options);
}

Result<std::shared_ptr<const Program>>
compileModule(mlir::ModuleOp module, const reference::TensorMap &weights,
              const CompileOptions &options) {
  BETZ_RETURN_IF_ERROR(checkCompileOptions(options));
  BETZ_ASSIGN_OR_RETURN(Lowering lowering, chooseLowering(module, options));
  // All CUDA targets share a module; they differ in code alone.
  std::vector<LoweredModule> modules;
  for (const std::string &target : lowering.targets) {
    auto known = llvm::find_if(modules, [&](const LoweredModule &lowered) {
      return isCuda(lowered.targets.front()) == isCuda(target);
    });
    if (known == modules.end()) {
      modules.emplace_back().module = module.clone();
      known = std::prev(modules.end());
    }
    known->targets.push_back(target);
  }
  for (LoweredModule &lowered : modules) {
    BETZ_RETURN_IF_ERROR(lowerFor(lowered.targets.front(), lowering.precision,
                                  *lowered.module, Phase::Program, options));
    Stopwatch watch;
    BETZ_ASSIGN_OR_RETURN(lowered.derived,
                          reference::runPrepare(*lowered.module, weights));
    options.observer->onStage("prepare", watch.seconds());
  }
  return buildProgram(modules, lowering.targets, lowering.precision, options);
}

} // namespace betz
