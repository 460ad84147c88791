#include "runtime/hal/cuda/CudaBaseline.h"
#include "runtime/base/Uniform.h"
#include "runtime/hal/Timing.h"
#include "runtime/hal/cuda/CublasLt.h"
#include "runtime/hal/cuda/CudaStream.h"

#include <fmt/format.h>
#include <optional>

namespace betz {
namespace {

class DriverBaseline : public CudaBaseline {
public:
  explicit DriverBaseline(std::shared_ptr<const CudaContext> context)
      : context(std::move(context)) {}

  Status initialize() {
    BETZ_ASSIGN_OR_RETURN(stream, CudaStream::create(context));
    return context->call("ask what it is", [&](const CudaDriver &cuda) {
      CUdevice device = 0;
      CUresult result = cuda.cuCtxGetDevice(&device);
      if (result == CUDA_SUCCESS)
        result = cuda.cuDeviceGetAttribute(
            &cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
      return result == CUDA_SUCCESS ? cuda.cuDriverGetVersion(&version)
                                    : result;
    });
  }

  std::string driverVersion() const override {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  }
  size_t cacheBytes() const override { return size_t(cache); }

  Result<double> copyRate() override {
    constexpr size_t kBytes = size_t(1) << 30;
    BETZ_ASSIGN_OR_RETURN(auto from, CudaBuffer::allocate(context, kBytes));
    BETZ_ASSIGN_OR_RETURN(auto to, CudaBuffer::allocate(context, kBytes));
    BETZ_ASSIGN_OR_RETURN(
        double seconds, timeInGraph(*stream, 1, [&](size_t) {
          return context->call("copy", [&](const CudaDriver &cuda) {
            return cuda.cuMemcpyDtoDAsync(to->address(), from->address(),
                                          kBytes, stream->handle());
          });
        }));
    return 2.0 * kBytes / seconds;
  }

  Result<double> productSeconds(const ProductShape &shape,
                                size_t copies) override {
    BETZ_ASSIGN_OR_RETURN(Operands operands, allocate(shape, copies));
    std::optional<CublasLtProduct> product(std::in_place);
    Status status = withContext([&] {
      return product->prepare(shape.rows, shape.columns, shape.depth,
                              shape.dtype);
    });
    Result<double> best = unavailable("cuBLASLt proposes no algorithm");
    for (size_t i = 0; status.isOk() && i < product->algorithms().size(); ++i) {
      Result<double> seconds = timeInGraph(*stream, copies, [&](size_t call) {
        return enqueue(*product, i, operands, call % copies);
      });
      if (seconds.isOk() && (!best.isOk() || *seconds < *best))
        best = seconds;
    }
    (void)withContext([&] {
      product.reset();
      return Status::ok();
    });
    BETZ_RETURN_IF_ERROR(std::move(status));
    return best;
  }

private:
  /// A buffer of each kind holds all copies, one after the other.
  struct Operands {
    std::unique_ptr<CudaBuffer> x, weight, result, workspace;
    size_t copies = 0;
  };

  Result<Operands> allocate(const ProductShape &shape, size_t copies) {
    Operands operands;
    operands.copies = copies;
    auto make = [&](std::unique_ptr<CudaBuffer> &buffer, size_t bytes) {
      BETZ_ASSIGN_OR_RETURN(buffer, CudaBuffer::allocate(context, bytes));
      const std::vector<std::byte> content =
          uniformElements(shape.dtype, bytes);
      return context->writeNow(buffer->address(), content.data(), bytes);
    };
    const size_t element = sizeOf(shape.dtype) * copies;
    BETZ_RETURN_IF_ERROR(
        make(operands.x, element * size_t(shape.rows * shape.depth)));
    BETZ_RETURN_IF_ERROR(
        make(operands.weight, element * size_t(shape.columns * shape.depth)));
    BETZ_RETURN_IF_ERROR(
        make(operands.result, element * size_t(shape.rows * shape.columns)));
    BETZ_RETURN_IF_ERROR(
        make(operands.workspace, CublasLtProduct::kWorkspaceBytes));
    return operands;
  }

  Status enqueue(const CublasLtProduct &product, size_t algorithm,
                 const Operands &operands, size_t copy) {
    auto at = [&](const CudaBuffer &buffer) {
      return reinterpret_cast<void *>(buffer.address() +
                                      buffer.size() / operands.copies * copy);
    };
    return withContext([&] {
      return product.enqueue(
          product.algorithms()[algorithm], at(*operands.x),
          at(*operands.weight), at(*operands.result),
          reinterpret_cast<void *>(operands.workspace->address()),
          stream->handle());
    });
  }

  template <typename F> Status withContext(F function) {
    Status inside;
    Status outside = context->call("use cuBLASLt", [&](const CudaDriver &) {
      inside = function();
      return CUDA_SUCCESS;
    });
    return outside.isOk() ? inside : outside;
  }

  std::shared_ptr<const CudaContext> context;
  std::unique_ptr<CudaStream> stream;
  int cache = 0, version = 0;
};

} // namespace

Result<std::unique_ptr<CudaBaseline>> openCudaBaseline(int ordinal) {
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const CudaContext> context,
                        CudaContext::open(ordinal));
  auto baseline = std::make_unique<DriverBaseline>(std::move(context));
  BETZ_RETURN_IF_ERROR(baseline->initialize());
  return std::unique_ptr<CudaBaseline>(std::move(baseline));
}

} // namespace betz
