#include "codegen/cpu/KernelTexts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace betz::cpu {

namespace {

template <typename T> std::string printed(T &value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.print(stream);
  return text;
}

/// A function with the tables that it reads.
std::string sourceOf(mlir::ModuleOp module, mlir::LLVM::LLVMFuncOp function) {
  llvm::SetVector<mlir::Operation *> tables;
  function.walk([&](mlir::LLVM::AddressOfOp address) {
    tables.insert(module.lookupSymbol(address.getGlobalName()));
  });
  std::string text = "module {\n";
  for (mlir::Operation *table : tables)
    text += printed(*table) + "\n";
  return text + printed(*function.getOperation()) + "\n}\n";
}

Result<std::string> printAssembly(const llvm::Module &module,
                                  llvm::TargetMachine &machine) {
  // The passes that write code change what they write.
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  // With comments: they say where functions begin and end.
  machine.Options.MCOptions.AsmVerbose = true;
  llvm::SmallString<0> listing;
  llvm::raw_svector_ostream stream(listing);
  llvm::legacy::PassManager emitter;
  if (machine.addPassesToEmitFile(emitter, stream, nullptr,
                                  llvm::CodeGenFileType::AssemblyFile))
    return internalError("LLVM cannot write x86 assembly");
  emitter.run(*copy);
  return std::string(listing);
}

} // namespace

void showSources(mlir::ModuleOp module, std::string_view isa,
                 CompileObserver &observer) {
  if (!observer.wants(CodeForm::Source))
    return;
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>())
    observer.onCode(std::string_view(function.getName()), isa, CodeForm::Source,
                    [&] { return sourceOf(module, function); });
}

Status showMachineCode(const llvm::Module &module, llvm::TargetMachine &machine,
                       std::string_view isa, CompileObserver &observer) {
  std::string listing;
  if (observer.wants(CodeForm::Assembly)) {
    BETZ_ASSIGN_OR_RETURN(listing, printAssembly(module, machine));
  }
  for (const llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    std::string_view name = function.getName();
    if (observer.wants(CodeForm::Llvm))
      observer.onCode(name, isa, CodeForm::Llvm,
                      [&] { return printed(function); });
    if (observer.wants(CodeForm::Assembly))
      observer.onCode(name, isa, CodeForm::Assembly,
                      [&] { return std::string(assemblyOf(listing, name)); });
  }
  return Status::ok();
}

std::string_view assemblyOf(std::string_view listing,
                            std::string_view function) {
  // LLVM writes a function's constants before its "Begin function" comment and
  // closes each function with "End function".
  constexpr std::string_view kEnd = "-- End function\n";
  std::string begin = "-- Begin function " + std::string(function) + "\n";
  size_t at = listing.find(begin);
  if (at == std::string_view::npos)
    return {};
  size_t previous = listing.rfind(kEnd, at);
  size_t from = previous == std::string_view::npos ? 0 : previous + kEnd.size();
  size_t to = listing.find(kEnd, at);
  return listing.substr(
      from, to == std::string_view::npos ? to : to + kEnd.size() - from);
}

} // namespace betz::cpu
