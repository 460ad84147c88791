#include "tests/numerics/Fixtures.h"

#include "runtime/io/HostTensor.h"

namespace betz {

Result<reference::TensorMap> readTensors(const SafetensorsFile &file) {
  reference::TensorMap tensors;
  for (const SafeTensor &stored : file.tensors()) {
    BETZ_ASSIGN_OR_RETURN(HostTensor host, toHost(stored));
    reference::Tensor tensor{host.shape, {}, {}};
    if (host.dtype == DType::F32)
      tensor.real.assign(host.as<float>().begin(), host.as<float>().end());
    else if (host.dtype == DType::F64)
      tensor.real.assign(host.as<double>().begin(), host.as<double>().end());
    else if (host.dtype == DType::I32)
      tensor.integer.assign(host.as<int32_t>().begin(),
                            host.as<int32_t>().end());
    tensors[stored.name] = std::move(tensor);
  }
  return tensors;
}

} // namespace betz
