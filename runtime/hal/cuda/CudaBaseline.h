//===- CudaBaseline.h - What a GPU does with NVIDIA's own code ------------===//
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace betz {

/// A product of x [rows, depth] and weight [columns, depth], transposed.
struct ProductShape {
  int64_t rows = 0, columns = 0, depth = 0;
  DType dtype = DType::BF16;

  double flops() const {
    return 2.0 * double(rows) * double(columns) * double(depth);
  }
};

/// Measures what Betz's kernels are compared with. For one thread at a time.
class CudaBaseline {
public:
  virtual ~CudaBaseline() = default;

  /// "13.0": the newest CUDA that the driver knows.
  virtual std::string driverVersion() const = 0;
  /// Bytes of the L2 cache.
  virtual size_t cacheBytes() const = 0;

  /// Bytes/s, read and written together, of a copy that fits no cache.
  virtual Result<double> copyRate() = 0;
  /// Seconds of a product by the fastest algorithm that cuBLASLt proposes: f32
  /// without TF32, or bf16 with f32 sums. Runs in turn on `copies` sets of
  /// buffers. Unavailable without cuBLASLt.
  virtual Result<double> productSeconds(const ProductShape &shape,
                                        size_t copies) = 0;
};

/// For GPU `ordinal`; the errors are those of createCudaDevice.
Result<std::unique_ptr<CudaBaseline>> openCudaBaseline(int ordinal);

} // namespace betz
