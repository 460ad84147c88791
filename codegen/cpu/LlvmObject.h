//===- LlvmObject.h - From emitted kernels to a shared object -------------===//
#pragma once

#include "codegen/common/CompileObserver.h"
#include "codegen/cpu/Emitter.h"

#include <map>
#include <memory>
#include <vector>

namespace betz::cpu {

/// A context with the dialects that Emitter uses, and their translations.
std::unique_ptr<mlir::MLIRContext> makeEmitterContext();

/// Lowers a module of emitted kernels to LLVM, optimises it at O3 for the
/// level and returns an ELF object. `observer` gets the forms that it wants.
Result<std::vector<std::byte>>
compileToObject(mlir::ModuleOp module, const IsaLevel &isa,
                CompileObserver &observer = ignoreCompile());

/// Links one object to a shared object by running the linker (BETZ_LINKER, else
/// ld.lld, else ld) as a subprocess. The error carries what it printed.
Result<std::vector<std::byte>> linkShared(std::span<const std::byte> object);

/// Generates code for all specs at one level; `specs` maps code names to
/// specs.
Result<std::vector<std::byte>>
buildExecutable(const std::map<std::string, KernelSpec> &specs,
                const IsaLevel &isa,
                CompileObserver &observer = ignoreCompile());

} // namespace betz::cpu
