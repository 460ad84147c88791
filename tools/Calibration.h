//===- Calibration.h - What the cores can do at most ----------------------===//
#pragma once

#include <string>
#include <string_view>

namespace betz {

/// Measured ceilings of `threads` cores working at once, or of a GPU; 0 where
/// unknown.
struct MachineLimits {
  int threads = 0;
  /// FLOP/s of f32 multiply-adds on registers.
  double flops = 0;
  /// Bytes/s, read and written together, of a copy that fits no cache.
  double copyBytes = 0;
  /// What reached `flops` where those are not multiply-adds of the cores.
  std::string flopsBy = {};
};

/// Measures for some tenths of a second, with the vectors of level `isa` of
/// KernelSpec code ("scalar", "avx2", "avx512"), which this processor must run.
/// The best of several repetitions counts. Needs half a gigabyte for a moment.
MachineLimits measureLimits(std::string_view isa, int threads);

} // namespace betz
