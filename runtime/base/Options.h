//===- Options.h - Every environment variable that Betz reads -------------===//
#pragma once

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
};

const Environment &environment();

} // namespace betz
