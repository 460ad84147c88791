#include "runtime/hal/cuda/CudaDevice.h"
#include "runtime/hal/cuda/CudaExecutable.h"
#include "runtime/hal/cuda/CudaStream.h"
#include "runtime/hal/cuda/Nvml.h"

namespace betz {
namespace {

class CudaDevice : public Device {
public:
  explicit CudaDevice(std::shared_ptr<const CudaContext> context)
      : context(std::move(context)) {}

  std::string name() const override { return context->name(); }

  bool supports(std::string_view target, std::string_view isa) const override {
    return target.starts_with("cuda:") &&
           runsCudaIsa(context->capability(), isa);
  }

  Result<std::unique_ptr<Buffer>> allocate(size_t bytes,
                                           MemoryKind kind) override {
    if (kind == MemoryKind::Staging) {
      BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> buffer,
                            CudaBuffer::allocateStaging(context, bytes));
      return buffer;
    }
    BETZ_ASSIGN_OR_RETURN(auto buffer, CudaBuffer::allocate(context, bytes));
    if (bytes > 0)
      BETZ_RETURN_IF_ERROR(context->zeroNow(buffer->address(), bytes));
    return std::unique_ptr<Buffer>(std::move(buffer));
  }

  Result<std::unique_ptr<Buffer>>
  wrapHost(std::span<const std::byte> bytes) override {
    BETZ_ASSIGN_OR_RETURN(auto buffer,
                          CudaBuffer::allocate(context, bytes.size()));
    if (!bytes.empty())
      BETZ_RETURN_IF_ERROR(
          context->writeNow(buffer->address(), bytes.data(), bytes.size()));
    return std::unique_ptr<Buffer>(std::move(buffer));
  }

  Result<std::unique_ptr<Executable>>
  loadExecutable(std::span<const std::byte> code,
                 std::span<const std::string> kernels) override {
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                          CudaExecutable::load(context, code, kernels));
    return executable;
  }

  Result<std::unique_ptr<Stream>> createStream() override {
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream,
                          CudaStream::create(context));
    return stream;
  }

private:
  std::shared_ptr<const CudaContext> context;
};

} // namespace

Result<std::unique_ptr<Device>> createCudaDevice(int ordinal) {
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const CudaContext> context,
                        CudaContext::open(ordinal));
  return std::unique_ptr<Device>(new CudaDevice(std::move(context)));
}

DeviceState readCudaState(int ordinal) {
  Result<std::shared_ptr<const CudaContext>> context =
      CudaContext::open(ordinal);
  return context.isOk() ? readNvml((*context)->busId()) : DeviceState();
}

} // namespace betz
