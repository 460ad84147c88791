#include "codegen/tune/LaunchTimer.h"
#include "runtime/hal/Timing.h"

#include <algorithm>

namespace betz::tune {

namespace {

constexpr int64_t kMostBytes = int64_t(4) << 30;

/// The first operand at the same place.
size_t firstAt(const std::vector<BufferRef> &operands, size_t operand) {
  return size_t(std::ranges::find(operands, operands[operand]) -
                operands.begin());
}

/// Bytes of the distinct operands together.
int64_t bytesOf(const LaunchShape &shape, std::span<const int64_t> extents) {
  std::vector<int64_t> bytes(shape.operands.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    int64_t &most = bytes[firstAt(shape.operands, i)];
    most = std::max(most, reachBytes(shape.spec.operands[i], extents));
  }
  int64_t total = 0;
  for (int64_t size : bytes)
    total += size;
  return total;
}

} // namespace

size_t bufferSets(const LaunchShape &shape, int64_t stepBytes,
                  size_t cacheBytes) {
  const int64_t cache = int64_t(cacheBytes);
  if (stepBytes <= cache)
    return 1;
  const int64_t used = std::max<int64_t>(bytesOf(shape, shape.extents), 1);
  const int64_t held = std::max<int64_t>(bytesOf(shape, shape.capacity), 1);
  return size_t(std::clamp<int64_t>(2 * cache / used + 1, 1,
                                    std::max<int64_t>(kMostBytes / held, 1)));
}

Result<LaunchTimer> LaunchTimer::create(
    Device &device, LaunchShape shape, size_t sets,
    const std::function<Result<std::vector<std::byte>>(size_t, size_t)> &read) {
  LaunchTimer timer(device, std::move(shape));
  const LaunchShape &own = timer.shape;
  BETZ_ASSIGN_OR_RETURN(timer.stream, device.createStream());
  BETZ_ASSIGN_OR_RETURN(timer.extents,
                        device.wrapHost(std::as_bytes(std::span(own.extents))));
  timer.buffers.resize(sets);
  for (size_t i = 0; i < own.operands.size(); ++i) {
    const size_t first = firstAt(own.operands, i);
    if (first < i) {
      timer.places.push_back(timer.places[first]);
      continue;
    }
    int64_t bytes = 0;
    for (size_t j = i; j < own.operands.size(); ++j)
      if (own.operands[j] == own.operands[i])
        bytes = std::max(bytes, reachBytes(own.spec.operands[j], own.capacity));
    BETZ_ASSIGN_OR_RETURN(std::vector<std::byte> content,
                          read(i, size_t(bytes)));
    timer.places.push_back(timer.buffers.front().size());
    for (std::vector<std::unique_ptr<Buffer>> &set : timer.buffers) {
      BETZ_ASSIGN_OR_RETURN(
          std::unique_ptr<Buffer> buffer,
          device.allocate(content.size(), MemoryKind::Device));
      BETZ_RETURN_IF_ERROR(timer.stream->copyToDevice(
          {buffer.get(), 0}, content.data(), content.size()));
      set.push_back(std::move(buffer));
    }
    BETZ_RETURN_IF_ERROR(timer.stream->synchronize());
  }
  return timer;
}

Result<double> LaunchTimer::time(std::span<const std::byte> code,
                                 const std::string &name,
                                 const TileConfig &tile) {
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                        device->loadExecutable(code, std::span(&name, 1)));
  shape.spec.tile = tile;
  const TaskSpace space = taskSpace(shape.spec);
  const int64_t tasks = space.count(shape.extents);
  std::vector<BufferSlice> operands(places.size());
  return timeInGraph(*stream, buffers.size(), [&](size_t call) {
    const auto &set = buffers[call % buffers.size()];
    for (size_t i = 0; i < places.size(); ++i)
      operands[i] = {set[places[i]].get(), 0};
    return stream->launch({.executable = executable.get(),
                           .kernel = 0,
                           .operands = operands,
                           .tasks = &tasks,
                           .maxTasks = space.count(shape.capacity),
                           .extents = {extents.get(), 0}});
  });
}

} // namespace betz::tune
