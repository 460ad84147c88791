//===- Hdf5Internal.h - Handles and errors of the HDF5 library ------------===//
//
// For Hdf5*.cpp only: nothing else includes hdf5.h.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <hdf5.h>
#include <string>
#include <utility>

namespace betz::hdf5 {

/// Held during every use of the library, the closing of handles included; one
/// thread may hold several. Silences the library's own error printing on this
/// thread.
class LibraryLock {
public:
  LibraryLock();
  ~LibraryLock();
  LibraryLock(const LibraryLock &) = delete;
  LibraryLock &operator=(const LibraryLock &) = delete;
};

/// Owns one library object; closed under the caller's LibraryLock.
class Handle {
public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id(id), close(close) {}
  Handle(Handle &&other) noexcept
      : id(std::exchange(other.id, H5I_INVALID_HID)), close(other.close) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(id, other.id);
    std::swap(close, other.close);
    return *this;
  }
  ~Handle() {
    if (isOpen())
      close(id);
  }
  hid_t get() const { return id; }
  bool isOpen() const { return id >= 0; }
  hid_t release() { return std::exchange(id, H5I_INVALID_HID); }

private:
  hid_t id;
  Close close;
};

/// The deepest reason that the library gives for its latest failure on this
/// thread.
std::string latestReason();

} // namespace betz::hdf5
