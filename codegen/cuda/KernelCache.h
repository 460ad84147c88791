//===- KernelCache.h - Compiled kernels on disk ---------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace betz::cuda {

/// Code by everything that it depends on: text, headers, instruction set and
/// compiler. Lies in $BETZ_CACHE, else $XDG_CACHE_HOME/betz, else
/// ~/.cache/betz; BETZ_CACHE= (empty) turns it off. Files appear by rename, and
/// a damaged one is compiled anew, so any number of processes may share it.
/// Thread-safe.
class KernelCache {
public:
  explicit KernelCache(std::string_view compilerVersion);

  /// The cached code, or what `compile` gives, which is then kept. A cache that
  /// cannot be written is no error.
  Result<std::vector<std::byte>>
  find(const std::string &name, const std::string &source,
       const std::string &isa,
       const std::function<Result<std::vector<std::byte>>()> &compile) const;

private:
  std::filesystem::path folder; // empty: off
  /// What all kernels depend on: compiler and headers.
  uint64_t environment;
};

} // namespace betz::cuda
