//===- LaunchTimer.h - The time of one launch on buffers of its own -------===//
#pragma once

#include "codegen/tune/Tasks.h"
#include "runtime/hal/Device.h"

#include <functional>

namespace betz::tune {

/// A launch, apart from its tile.
struct LaunchShape {
  /// Any tile.
  KernelSpec spec;
  /// Operands of one place share memory, as in the program.
  std::vector<BufferRef> operands;
  /// Of the step, and of the bucket.
  std::vector<int64_t> extents, capacity;
};

/// How many sets of a launch's buffers make each use find nothing of it in a
/// cache: one if the step that it belongs to fits the cache anyway, or if the
/// sets would take more than 4 GiB.
size_t bufferSets(const LaunchShape &shape, int64_t stepBytes,
                  size_t cacheBytes);

/// Times kernels that differ in their tile on the same data, taking turns among
/// the sets of buffers. For one thread at a time; the device outlives it.
class LaunchTimer {
public:
  /// `read(operand, bytes)`: the contents of an operand, `bytes` from its base.
  static Result<LaunchTimer>
  create(Device &device, LaunchShape shape, size_t sets,
         const std::function<Result<std::vector<std::byte>>(size_t, size_t)>
             &read);

  /// Seconds of one launch of kernel `name` in `code`, cut into tiles as `tile`
  /// says: the median of several graphs of launches. The error says what the
  /// device refuses, such as the shared memory that it asks for.
  Result<double> time(std::span<const std::byte> code, const std::string &name,
                      const TileConfig &tile);

private:
  LaunchTimer(Device &device, LaunchShape shape)
      : device(&device), shape(std::move(shape)) {}

  Device *device;
  LaunchShape shape;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Buffer> extents;
  /// For each set, the distinct places.
  std::vector<std::vector<std::unique_ptr<Buffer>>> buffers;
  /// The place of each operand.
  std::vector<size_t> places;
};

} // namespace betz::tune
