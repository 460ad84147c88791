//===- CudaCode.h - KernelSpecs to device code ----------------------------===//
#pragma once

#include "codegen/common/CompileObserver.h"
#include "codegen/common/KernelSpec.h"

#include <map>

namespace betz::cuda {

/// An architecture that code is generated for.
struct Architecture {
  const char *target; // "cuda:sm_90a"
  const char *isa;    // "sm_90a"
};
std::span<const Architecture> architectures();
/// Null for a target that is none.
const Architecture *findArchitecture(std::string_view target);

/// Picks the tile and reduction plan of a spec whose operands and core are set,
/// for steps of at most these extents. The plan does not depend on the extents:
/// all buckets of a program give the same bits.
void chooseTile(KernelSpec &spec, const Architecture &architecture,
                std::span<const int64_t> extents);

/// The tiles that a spec may have on its path, to measure; all give the same
/// bits. Some may need more shared memory than a GPU has. `spec` has the tile
/// that chooseTile picked, which is the only one of some paths.
std::vector<TileConfig> tileCandidates(const KernelSpec &spec,
                                       const Architecture &architecture);

/// Code of each spec alone (one image, runtime/program/CudaImages.h) for one of
/// the architecture's instruction sets, or why it does not build. `onDone` is
/// told how many are done, on any thread. Needs NVRTC. Thread-safe.
Result<std::map<std::string, Result<std::vector<std::byte>>>>
compileKernels(const std::map<std::string, KernelSpec> &specs,
               const Architecture &architecture, const std::string &isa,
               const std::function<void(size_t)> &onDone);

/// Instruction set and code (runtime/program/CudaImages.h) of all kernels, best
/// first; sm_80 gives "sm_80" and the PTX "compute_80". Needs NVRTC at run
/// time, no GPU. Thread-safe.
Result<std::vector<std::pair<std::string, std::vector<std::byte>>>>
buildExecutables(const std::map<std::string, KernelSpec> &specs,
                 const Architecture &architecture, CompileObserver &observer);

} // namespace betz::cuda
