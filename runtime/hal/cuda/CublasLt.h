//===- CublasLt.h - NVIDIA's matrix products, found at run time -----------===//
//
// Only files of this folder include this header. What it declares is the part
// of cublasLt.h that is used, so that no build needs that header.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/DynamicLibrary.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace betz {

/// cublasLtMatmulHeuristicResult_t.
struct CublasLtAlgorithm {
  std::array<uint64_t, 8> algorithm = {};
  size_t workspaceBytes = 0;
  int state = 0;
  float waves = 0;
  std::array<int, 4> reserved = {};
};

/// The library, loaded once a process. Thread-safe.
class CublasLt {
public:
  /// Unavailable where no libcublasLt.so of CUDA 12 or 13 is found.
  static Result<const CublasLt *> load();

  using Handle = void *;
  int (*create)(Handle *) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*descriptionCreate)(Handle *, int, int) = nullptr;
  int (*descriptionSet)(Handle, int, const void *, size_t) = nullptr;
  int (*descriptionDestroy)(Handle) = nullptr;
  int (*layoutCreate)(Handle *, int, uint64_t, uint64_t, int64_t) = nullptr;
  int (*layoutDestroy)(Handle) = nullptr;
  int (*preferenceCreate)(Handle *) = nullptr;
  int (*preferenceSet)(Handle, int, const void *, size_t) = nullptr;
  int (*preferenceDestroy)(Handle) = nullptr;
  int (*findAlgorithms)(Handle, Handle, Handle, Handle, Handle, Handle, Handle,
                        int, CublasLtAlgorithm *, int *) = nullptr;
  int (*matmul)(Handle, Handle, const void *, const void *, Handle,
                const void *, Handle, const void *, const void *, Handle,
                void *, Handle, const void *, void *, size_t, void *) = nullptr;

private:
  explicit CublasLt(DynamicLibrary library) : library(std::move(library)) {}
  Status findFunctions();

  DynamicLibrary library;
};

/// The product X Wᵀ of x [rows, depth] and weight [columns, depth], row-major,
/// f32 without TF32, or bf16 with f32 sums. For one thread at a time, with the
/// device's context current in every call, its end included.
class CublasLtProduct {
public:
  static constexpr size_t kWorkspaceBytes = 64 << 20;

  CublasLtProduct() = default;
  CublasLtProduct(const CublasLtProduct &) = delete;
  CublasLtProduct &operator=(const CublasLtProduct &) = delete;
  ~CublasLtProduct();

  Status prepare(int64_t rows, int64_t columns, int64_t depth, DType dtype);
  /// What the library proposes, the one it expects to be fastest first.
  const std::vector<CublasLtAlgorithm> &algorithms() const { return found; }
  /// The addresses are the device's, the stream a CUstream.
  Status enqueue(const CublasLtAlgorithm &algorithm, const void *x,
                 const void *weight, void *result, void *workspace,
                 void *stream) const;

private:
  const CublasLt *library = nullptr;
  CublasLt::Handle handle = nullptr, description = nullptr;
  CublasLt::Handle weightLayout = nullptr, xLayout = nullptr,
                   resultLayout = nullptr;
  std::vector<CublasLtAlgorithm> found;
};

} // namespace betz
