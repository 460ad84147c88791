//===- Nvrtc.h - NVIDIA's run-time compiler, found at run time ------------===//
#pragma once

#include "runtime/base/DynamicLibrary.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace betz::cuda {

/// The library, loaded once a process. Thread-safe.
class Nvrtc {
public:
  /// Unavailable where no libnvrtc.so of CUDA 12 or 13 is found.
  static Result<const Nvrtc *> load();

  /// "13.0": part of what cached code depends on.
  std::string version() const;
  /// Of every compilation, beside the instruction set.
  static std::span<const char *const> flags();

  /// Compiles `source` with the kernel headers for `isa`: "sm_90a" gives a
  /// cubin, "compute_80" PTX that ends in NUL. `said` becomes its log.
  Result<std::vector<std::byte>> compile(const std::string &name,
                                         const std::string &source,
                                         const std::string &isa,
                                         std::string &said) const;

private:
  using Handle = void *;
  explicit Nvrtc(DynamicLibrary library) : library(std::move(library)) {}
  Status findFunctions();
  Status check(int code, const char *what) const;
  std::string log(Handle program) const;

  DynamicLibrary library;
  int (*createProgram)(Handle *, const char *, const char *, int,
                       const char *const *, const char *const *) = nullptr;
  int (*compileProgram)(Handle, int, const char *const *) = nullptr;
  int (*destroyProgram)(Handle *) = nullptr;
  int (*logSize)(Handle, size_t *) = nullptr;
  int (*getLog)(Handle, char *) = nullptr;
  int (*cubinSize)(Handle, size_t *) = nullptr;
  int (*getCubin)(Handle, char *) = nullptr;
  int (*ptxSize)(Handle, size_t *) = nullptr;
  int (*getPtx)(Handle, char *) = nullptr;
  int (*getVersion)(int *, int *) = nullptr;
  const char *(*errorText)(int) = nullptr;
};

} // namespace betz::cuda
