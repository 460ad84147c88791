//===- KernelTexts.h - The forms of each kernel, for an observer ----------===//
#pragma once

#include "codegen/common/CompileObserver.h"

#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace betz::cpu {

/// Hands over each function of a module of emitted kernels as a module of its
/// own, which mlir-opt reads.
void showSources(mlir::ModuleOp module, std::string_view isa,
                 CompileObserver &observer);

/// Hands over the LLVM IR and the assembly of each function of an optimised
/// module, as far as the observer wants them. Leaves the module as it is.
Status showMachineCode(const llvm::Module &module, llvm::TargetMachine &machine,
                       std::string_view isa, CompileObserver &observer);

/// The part of an assembly listing that belongs to `function`: its constants
/// and its code. Empty if it is not there.
std::string_view assemblyOf(std::string_view listing,
                            std::string_view function);

} // namespace betz::cpu
