//===- Buffer.h - Memory of a device --------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace betz {

/// Where an allocation lives.
enum class MemoryKind {
  /// What kernels read and write.
  Device,
  /// Host memory that the device can copy from and to at full speed.
  Staging,
};

/// A block of memory, freed with the object. It must not outlive its device.
class Buffer {
public:
  virtual ~Buffer() = default;
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  size_t size() const { return bytes; }
  /// Null when the host cannot reach it. Staging memory always has one.
  std::byte *hostPointer() const { return host; }

protected:
  Buffer(size_t bytes, std::byte *host) : bytes(bytes), host(host) {}

private:
  size_t bytes;
  std::byte *host;
};

/// A place inside a buffer.
struct BufferSlice {
  const Buffer *buffer = nullptr;
  int64_t offset = 0;
};

} // namespace betz
