//===- CudaArchitecture.h - Which code runs on which GPU ------------------===//
#pragma once

#include <string_view>

namespace betz {

/// A GPU's compute capability: 9.0 for Hopper.
struct CudaCapability {
  int major = 0;
  int minor = 0;
};

/// Whether a GPU runs code of instruction-set level `isa`: "sm_80" is a cubin
/// and runs within its major version, "compute_80" is PTX and runs on anything
/// as new; with a trailing "a" either is for that capability alone. Other names
/// are code that no GPU runs.
bool runsCudaIsa(CudaCapability gpu, std::string_view isa);

} // namespace betz
