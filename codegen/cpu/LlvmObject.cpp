#include "codegen/cpu/LlvmObject.h"

#include "codegen/cpu/KernelTexts.h"
#include "codegen/cpu/LowerKernel.h"
#include "ir/Module.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <thread>

namespace betz::cpu {

namespace {

constexpr const char *kTriple = "x86_64-unknown-linux-gnu";

Result<std::unique_ptr<llvm::TargetMachine>>
makeTargetMachine(const IsaLevel &isa) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!target)
    return internalError("LLVM has no x86 target: " + error);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, isa.llvmCpu, /*Features=*/"", llvm::TargetOptions(),
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

Status lowerToLlvmDialect(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  manager.addPass(mlir::createConvertSCFToCFPass());
  manager.addPass(mlir::createArithToLLVMConversionPass());
  manager.addPass(mlir::createConvertControlFlowToLLVMPass());
  manager.addPass(mlir::createReconcileUnrealizedCastsPass());
  ir::DiagnosticCollector diagnostics(*module.getContext());
  if (mlir::failed(manager.run(module)))
    return diagnostics.takeStatus(StatusCode::Internal,
                                  "lowering a CPU kernel to LLVM failed");
  return Status::ok();
}

void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // Kernels are vectorised as they are written; LLVM's own would only add
  // scalar epilogues to loops that already have none.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

std::vector<std::byte> toBytes(llvm::StringRef text) {
  auto data = reinterpret_cast<const std::byte *>(text.data());
  return {data, data + text.size()};
}

/// A context with the dialects that Emitter uses, and their translations.
std::unique_ptr<mlir::MLIRContext> makeEmitterContext() {
  auto context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<mlir::arith::ArithDialect, mlir::scf::SCFDialect,
                       mlir::cf::ControlFlowDialect, mlir::LLVM::LLVMDialect>();
  mlir::registerBuiltinDialectTranslation(*context);
  mlir::registerLLVMDialectTranslation(*context);
  return context;
}

/// Kernels on their way to an object, for one thread at a time.
class ObjectBuilder {
public:
  explicit ObjectBuilder(const IsaLevel &isa)
      : isa(isa), context(makeEmitterContext()),
        module(mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()))),
        emitter(*module, isa) {}

  Status add(const std::string &name, const KernelSpec &spec) {
    return lowerKernel(emitter, name, spec);
  }
  void showSources(CompileObserver &observer) {
    cpu::showSources(*module, isa.name, observer);
  }

  /// Lowers what was added to LLVM and optimises it at O3 for the level.
  Status optimise() {
    BETZ_RETURN_IF_ERROR(lowerToLlvmDialect(*module));
    BETZ_ASSIGN_OR_RETURN(machine, makeTargetMachine(isa));
    code = mlir::translateModuleToLLVMIR(*module, codeContext);
    if (!code)
      return internalError("translation of a CPU kernel to LLVM IR failed");
    code->setTargetTriple(kTriple);
    code->setDataLayout(machine->createDataLayout());
    for (llvm::Function &function : *code)
      if (!function.isDeclaration()) {
        function.addFnAttr("target-cpu", isa.llvmCpu);
        // Without these LLVM halves 512-bit vectors on CPUs that it tunes for.
        std::string bits = std::to_string(isa.microLanes * 32);
        function.addFnAttr("min-legal-vector-width", bits);
        function.addFnAttr("prefer-vector-width", bits);
      }
    cpu::optimise(*code, *machine);
    return Status::ok();
  }
  Status showMachineCode(CompileObserver &observer) {
    return cpu::showMachineCode(*code, *machine, isa.name, observer);
  }

  /// Writes the ELF object; the last call.
  Status writeObject() {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager writer;
    if (machine->addPassesToEmitFile(writer, stream, nullptr,
                                     llvm::CodeGenFileType::ObjectFile))
      return internalError("LLVM cannot write x86 objects");
    writer.run(*code);
    object = toBytes({bytes.data(), bytes.size()});
    return Status::ok();
  }
  std::vector<std::byte> takeObject() { return std::move(object); }

private:
  const IsaLevel &isa;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Emitter emitter;
  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::LLVMContext codeContext;
  std::unique_ptr<llvm::Module> code;
  std::vector<std::byte> object;
};

using Builders = std::vector<std::unique_ptr<ObjectBuilder>>;

/// `step` of each builder, on as many threads as there are processors; the
/// first error by builder.
Status runEach(const Builders &builders, Status (ObjectBuilder::*step)()) {
  std::vector<Status> statuses(builders.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < builders.size();)
      statuses[i] = ((*builders[i]).*step)();
  };
  {
    std::vector<std::jthread> threads;
    const size_t processors = std::max(1u, std::thread::hardware_concurrency());
    for (size_t i = 1; i < std::min(processors, builders.size()); ++i)
      threads.emplace_back(work);
    work();
  }
  for (Status &status : statuses)
    BETZ_RETURN_IF_ERROR(std::move(status));
  return Status::ok();
}

/// Emits the kernels in turn into a number of modules that does not depend on
/// the machine, so that neither does the code.
Result<Builders> emitKernels(const std::map<std::string, KernelSpec> &specs,
                             const IsaLevel &isa, CompileObserver &observer) {
  constexpr size_t kMostModules = 16;
  Builders builders(std::clamp<size_t>(specs.size(), 1, kMostModules));
  for (std::unique_ptr<ObjectBuilder> &builder : builders)
    builder = std::make_unique<ObjectBuilder>(isa);
  size_t turn = 0;
  for (const auto &[name, spec] : specs) {
    Status status = builders[turn++ % builders.size()]->add(name, spec);
    if (!status.isOk())
      observer.onKernelError(name, isa.name, status);
    BETZ_RETURN_IF_ERROR(std::move(status).withContext("kernel " + name));
  }
  return builders;
}

} // namespace

Result<std::vector<std::byte>>
buildExecutable(const std::map<std::string, KernelSpec> &specs,
                const IsaLevel &isa, CompileObserver &observer) {
  Stopwatch watch;
  BETZ_ASSIGN_OR_RETURN(Builders builders, emitKernels(specs, isa, observer));
  for (const auto &builder : builders)
    builder->showSources(observer);
  BETZ_RETURN_IF_ERROR(runEach(builders, &ObjectBuilder::optimise));
  for (const auto &builder : builders)
    BETZ_RETURN_IF_ERROR(builder->showMachineCode(observer));
  BETZ_RETURN_IF_ERROR(runEach(builders, &ObjectBuilder::writeObject));
  std::vector<std::vector<std::byte>> objects;
  for (const auto &builder : builders)
    objects.push_back(builder->takeObject());
  observer.onStage(fmt::format("codegen {}", isa.name), watch.seconds());
  Stopwatch linking;
  Result<std::vector<std::byte>> code = linkShared(objects);
  observer.onStage(fmt::format("link {}", isa.name), linking.seconds());
  return code;
}

} // namespace betz::cpu
