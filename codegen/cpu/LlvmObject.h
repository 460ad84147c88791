//===- LlvmObject.h - From emitted kernels to a shared object -------------===//
#pragma once

#include "codegen/common/CompileObserver.h"
#include "codegen/cpu/Emitter.h"

#include <map>
#include <span>
#include <vector>

namespace betz::cpu {

/// Links objects to a shared object by running the linker (BETZ_LINKER, else
/// ld.lld, else ld) as a subprocess. The error carries what it printed.
Result<std::vector<std::byte>>
linkShared(std::span<const std::vector<std::byte>> objects);

/// Generates code for all specs at one level, on all processors; `specs` maps
/// code names to specs. `observer` gets the forms that it wants.
Result<std::vector<std::byte>>
buildExecutable(const std::map<std::string, KernelSpec> &specs,
                const IsaLevel &isa,
                CompileObserver &observer = ignoreCompile());

} // namespace betz::cpu
