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

#include <fmt/format.h>
#include <mutex>

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

} // namespace

std::unique_ptr<mlir::MLIRContext> makeEmitterContext() {
  auto context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<mlir::arith::ArithDialect, mlir::scf::SCFDialect,
                       mlir::cf::ControlFlowDialect, mlir::LLVM::LLVMDialect>();
  mlir::registerBuiltinDialectTranslation(*context);
  mlir::registerLLVMDialectTranslation(*context);
  return context;
}

Result<std::vector<std::byte>> compileToObject(mlir::ModuleOp module,
                                               const IsaLevel &isa,
                                               CompileObserver &observer) {
  BETZ_RETURN_IF_ERROR(lowerToLlvmDialect(module));
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine,
                        makeTargetMachine(isa));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      mlir::translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return internalError("translation of a CPU kernel to LLVM IR failed");
  llvmModule->setTargetTriple(kTriple);
  llvmModule->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *llvmModule)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", isa.llvmCpu);
      // Without these LLVM halves 512-bit vectors on CPUs that it tunes for.
      std::string bits = std::to_string(isa.microLanes * 32);
      function.addFnAttr("min-legal-vector-width", bits);
      function.addFnAttr("prefer-vector-width", bits);
    }
  optimise(*llvmModule, *machine);
  BETZ_RETURN_IF_ERROR(
      showMachineCode(*llvmModule, *machine, isa.name, observer));

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return internalError("LLVM cannot write x86 objects");
  emitter.run(*llvmModule);
  return toBytes({object.data(), object.size()});
}

Result<std::vector<std::byte>>
buildExecutable(const std::map<std::string, KernelSpec> &specs,
                const IsaLevel &isa, CompileObserver &observer) {
  Stopwatch watch;
  std::unique_ptr<mlir::MLIRContext> context = makeEmitterContext();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(context.get()));
  Emitter emitter(*module, isa);
  for (const auto &[name, spec] : specs) {
    Status status = lowerKernel(emitter, name, spec);
    if (!status.isOk())
      observer.onKernelError(name, isa.name, status);
    BETZ_RETURN_IF_ERROR(std::move(status).withContext("kernel " + name));
  }
  showSources(*module, isa.name, observer);
  BETZ_ASSIGN_OR_RETURN(std::vector<std::byte> object,
                        compileToObject(*module, isa, observer));
  observer.onStage(fmt::format("codegen {}", isa.name), watch.seconds());
  Stopwatch linking;
  Result<std::vector<std::byte>> code = linkShared(object);
  observer.onStage(fmt::format("link {}", isa.name), linking.seconds());
  return code;
}

} // namespace betz::cpu
