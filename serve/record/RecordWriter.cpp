#include "serve/record/RecordWriter.h"

#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <unistd.h>

namespace betz::serve {
namespace {

/// Appends frames to a buffer.
class FrameBuilder {
public:
  FrameBuilder(std::vector<char> &out, FrameKind kind)
      : out(out), start(out.size()) {
    number(uint32_t(kind));
    number(uint32_t(0));
    number(uint64_t(0));
    number(uint64_t(0));
  }
  /// Fills in the header.
  ~FrameBuilder() {
    const size_t payload = start + kFrameHeaderBytes;
    const uint64_t sizeAndHash[] = {
        out.size() - payload,
        hashBytes(out.data() + payload, out.size() - payload)};
    std::memcpy(out.data() + start + 8, sizeAndHash, sizeof(sizeAndHash));
  }
  FrameBuilder(const FrameBuilder &) = delete;

  template <typename T> void number(T value) { bytes(&value, sizeof(T)); }
  template <typename T> void array(std::span<const T> values) {
    bytes(values.data(), values.size_bytes());
  }
  void text(std::string_view value) {
    number(uint32_t(value.size()));
    bytes(value.data(), value.size());
  }

private:
  void bytes(const void *data, size_t size) {
    const char *first = static_cast<const char *>(data);
    out.insert(out.end(), first, first + size);
  }

  std::vector<char> &out;
  const size_t start;
};

size_t batchBytes(const FinishedBatch &batch) {
  return kFrameHeaderBytes + 32 +
         4 * size_t(2 * batch.windows + 1 + 3 * batch.events +
                    batch.windows * batch.columns);
}

size_t modelBytes(const FinishedBatch &batch) {
  return kFrameHeaderBytes + 8 + 4 * sizeof(uint32_t) + batch.model.size() +
         batch.version.size() + batch.programHash.size() + batch.device.size();
}

/// Moves a file that is there to the first free PATH.N.
void keepOld(const std::filesystem::path &path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    return;
  for (int number = 1; number < std::numeric_limits<int>::max(); ++number) {
    std::filesystem::path kept = path;
    kept += fmt::format(".{}", number);
    if (std::filesystem::exists(kept, ignored))
      continue;
    std::filesystem::rename(path, kept, ignored);
    return;
  }
}

} // namespace

RecordWriter::RecordWriter(std::filesystem::path givenPath, size_t bufferBytes)
    : path(std::move(givenPath)), bufferBytes(bufferBytes) {
  filling.reserve(bufferBytes);
  writing.reserve(bufferBytes);
  open();
  thread = std::thread([this] { run(); });
}

RecordWriter::~RecordWriter() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  changed.notify_one();
  thread.join();
  if (!hasFailed) {
    std::vector<char> end;
    {
      FrameBuilder frame(end, FrameKind::End);
      frame.number(counted.kept);
      frame.number(counted.dropped);
    }
    write(end);
  }
  if (file >= 0)
    close(file);
}

void RecordWriter::open() {
  keepOld(path);
  file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0)
    return giveUp(std::strerror(errno));
  std::vector<char> header(kLogMagic.begin(), kLogMagic.end());
  const uint32_t numbers[] = {kLogVersion, 0};
  const char *first = reinterpret_cast<const char *>(numbers);
  header.insert(header.end(), first, first + sizeof(numbers));
  write(header);
}

void RecordWriter::onBatch(const FinishedBatch &batch) {
  {
    std::lock_guard lock(mutex);
    if (hasFailed ||
        filling.size() + modelBytes(batch) + batchBytes(batch) > bufferBytes) {
      ++counted.dropped;
      return;
    }
    appendBatch(batch, modelId(batch));
    ++counted.kept;
    ++keptInFilling;
  }
  changed.notify_one();
}

uint32_t RecordWriter::modelId(const FinishedBatch &batch) {
  for (size_t id = 0; id < models.size(); ++id)
    if (models[id].programHash == batch.programHash &&
        models[id].version == batch.version && models[id].name == batch.model)
      return uint32_t(id);
  models.push_back({std::string(batch.model), std::string(batch.version),
                    std::string(batch.programHash)});
  const auto id = uint32_t(models.size() - 1);
  FrameBuilder frame(filling, FrameKind::Model);
  frame.number(id);
  frame.number(uint32_t(batch.columns));
  frame.text(batch.model);
  frame.text(batch.version);
  frame.text(batch.programHash);
  frame.text(batch.device);
  return id;
}

void RecordWriter::appendBatch(const FinishedBatch &batch, uint32_t model) {
  FrameBuilder frame(filling, FrameKind::Batch);
  frame.number(batch.number);
  frame.number(counted.dropped);
  frame.number(model);
  frame.number(uint32_t(batch.windows));
  frame.number(uint32_t(batch.events));
  frame.number(uint32_t(batch.columns));
  int32_t before = 0;
  frame.number(before);
  for (const Windows *request : batch.requests) {
    for (int32_t split : request->rowSplits.subspan(1))
      frame.number(before + split);
    before += int32_t(request->events());
  }
  for (const Windows *request : batch.requests)
    for (int64_t window = 0; window < request->windows(); ++window)
      frame.number(request->windowStart.empty()
                       ? int32_t(0)
                       : request->windowStart[size_t(window)]);
  for (const auto array :
       {&Windows::neuronId, &Windows::timeBin, &Windows::value})
    for (const Windows *request : batch.requests)
      frame.array(request->*array);
  frame.array(batch.behavior);
}

ObserverCounts RecordWriter::counts() const {
  std::lock_guard lock(mutex);
  return counted;
}

void RecordWriter::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stopping || !filling.empty(); });
    if (filling.empty())
      return;
    filling.swap(writing);
    const uint64_t kept = std::exchange(keptInFilling, 0);
    lock.unlock();
    write(writing);
    writing.clear();
    lock.lock();
    if (hasFailed) {
      counted.kept -= kept + keptInFilling;
      counted.dropped += kept + std::exchange(keptInFilling, 0);
      filling.clear();
    }
  }
}

void RecordWriter::write(const std::vector<char> &bytes) {
  if (file < 0)
    return;
  if (Status status = writeAll(file, bytes.data(), bytes.size());
      !status.isOk())
    return giveUp(status.message());
  writtenBytes += bytes.size();
}

void RecordWriter::giveUp(const std::string &why) {
  logWarn("record",
          "cannot write {}: {}; serving goes on, batches are no longer "
          "recorded",
          path.string(), why);
  if (file >= 0) {
    // Not the half of a frame.
    [[maybe_unused]] const int cut = ftruncate(file, off_t(writtenBytes));
    close(file);
    file = -1;
  }
  std::lock_guard lock(mutex);
  hasFailed = true;
}

} // namespace betz::serve
