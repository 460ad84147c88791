// Any bytes must parse or fail with a Status, and what parses must be readable.
#include "runtime/io/HostTensor.h"
#include "runtime/io/Safetensors.h"

#include <cstring>
#include <string>

namespace {

void parseAndRead(std::span<const std::byte> bytes) {
  betz::Result<betz::SafetensorsFile> file =
      betz::SafetensorsFile::parse(bytes, "fuzz");
  if (!file.isOk())
    return;
  for (const betz::SafeTensor &tensor : file->tensors())
    if (file->find(tensor.name) == nullptr || toHost(tensor).isOk() == false)
      continue;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  parseAndRead(std::as_bytes(std::span(data, size)));
  // The length word is hard to guess: also take the input as a header that
  // ends at the first zero, followed by data.
  const void *zero = size > 0 ? std::memchr(data, 0, size) : nullptr;
  uint64_t length =
      zero ? static_cast<const uint8_t *>(zero) - data : uint64_t(size);
  std::string framed(reinterpret_cast<const char *>(&length), sizeof(length));
  framed.append(reinterpret_cast<const char *>(data), size);
  parseAndRead(std::as_bytes(std::span(framed)));
  return 0;
}
