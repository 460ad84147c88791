//===- Options.h - Every environment variable that Betz reads -------------===//
#pragma once

#include <optional>
#include <string>

namespace betz {

/// Read once, at first use; constant afterwards.
struct Environment {
  /// BETZ_LOG=error|warning|info|debug: what stderr shows (default warning).
  std::string logLevel;
  /// BETZ_CPU_ISA=avx512|avx2|scalar: the highest level that CPU code may use.
  std::string cpuIsa;
  /// BETZ_LINKER: the program that links CPU code (default ld.lld, else ld).
  std::string linker;
  /// BETZ_NVRTC: the library that compiles CUDA kernels (default libnvrtc.so
  /// of CUDA 13 or 12).
  std::string nvrtc;
  /// BETZ_CACHE: the folder of compiled CUDA kernels; set but empty for none.
  std::optional<std::string> cache;
  /// BETZ_DEBUG=1..5: what a compile shows on stderr, each level with those
  /// before it: 1 the time of passes and stages, 2 the tile and plan of each
  /// kernel, 3 kernels' sources, 4 IR as each phase begins, 5 assembly.
  std::string debug;
};

const Environment &environment();

} // namespace betz
