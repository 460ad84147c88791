//===- KernelCache.h - Compiled kernels on disk ---------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace betz::cuda {

/// Code by everything that it depends on: text, headers, instruction set and
/// compiler. Files appear by rename, and a damaged one is compiled anew, so any
/// number of processes may share a folder. Thread-safe.
class KernelCache {
public:
  /// $BETZ_CACHE, else $XDG_CACHE_HOME/betz, else ~/.cache/betz; BETZ_CACHE=
  /// (empty) is none.
  static std::filesystem::path standardFolder();

  /// An empty `folder` turns the cache off.
  KernelCache(std::filesystem::path folder, std::string_view compilerVersion);

  /// The cached code, or what `compile` gives, which is then kept. A cache that
  /// cannot be written is no error, but one warning.
  Result<std::vector<std::byte>>
  find(const std::string &name, const std::string &source,
       const std::string &isa,
       const std::function<Result<std::vector<std::byte>>()> &compile) const;

  /// Writes a file for a person to read, into the folder, or the system's for
  /// temporary files where that cannot be written. Gives its path.
  Result<std::filesystem::path> keep(const std::string &fileName,
                                     std::string_view text) const;

private:
  void writeEntry(const std::filesystem::path &path,
                  const std::vector<std::byte> &code) const;

  std::filesystem::path folder; // empty: off
  /// What all kernels depend on: compiler and headers.
  uint64_t environment;
  mutable std::atomic<bool> hasWarned = false;
};

} // namespace betz::cuda
