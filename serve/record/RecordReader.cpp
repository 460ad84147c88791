#include "serve/record/RecordReader.h"

#include "runtime/base/Hash.h"

#include <cstring>
#include <fmt/format.h>

namespace betz::serve {
namespace {

/// Takes values from the front of bytes; once they do not suffice it has failed
/// and gives zeros.
class Cursor {
public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes(bytes) {}

  template <typename T> T number() {
    T value{};
    if (const std::byte *data = take(sizeof(T)))
      std::memcpy(&value, data, sizeof(T));
    return value;
  }
  std::string text() {
    const auto size = number<uint32_t>();
    const std::byte *data = take(size);
    return data ? std::string(reinterpret_cast<const char *>(data), size)
                : std::string();
  }
  template <typename T> void array(uint64_t count, std::vector<T> &values) {
    values.clear();
    // Before memory is taken.
    if (count > bytes.size() / sizeof(T)) {
      hasFailed = true;
      return;
    }
    values.resize(count);
    if (count > 0)
      std::memcpy(values.data(), take(count * sizeof(T)), count * sizeof(T));
  }
  bool isExact() const { return !hasFailed && bytes.empty(); }

private:
  const std::byte *take(size_t size) {
    if (hasFailed || size > bytes.size()) {
      hasFailed = true;
      return nullptr;
    }
    const std::byte *data = bytes.data();
    bytes = bytes.subspan(size);
    return data;
  }

  std::span<const std::byte> bytes;
  bool hasFailed = false;
};

} // namespace

Result<RecordReader> RecordReader::open(std::span<const std::byte> bytes) {
  if (bytes.size() < kLogHeaderBytes ||
      std::memcmp(bytes.data(), kLogMagic.data(), kLogMagic.size()) != 0)
    return dataLoss("this is no log of `serve --record`");
  Cursor header(bytes.subspan(kLogMagic.size()));
  const auto version = header.number<uint32_t>();
  if (version != kLogVersion)
    return dataLoss(fmt::format("the log has version {}; this program reads {}",
                                version, kLogVersion));
  return RecordReader(bytes);
}

Status RecordReader::damage(std::string_view what) const {
  return dataLoss(
      fmt::format("the log is damaged at byte {}: {}", frameStart, what));
}

/// False at the end, also where the last frame is cut off.
Result<bool> RecordReader::readFrame(FrameKind &kind,
                                     std::span<const std::byte> &payload) {
  frameStart = place;
  const std::span<const std::byte> rest = bytes.subspan(place);
  if (rest.size() < kFrameHeaderBytes)
    return false;
  Cursor header(rest);
  kind = FrameKind(header.number<uint32_t>());
  const auto zero = header.number<uint32_t>();
  const auto size = header.number<uint64_t>();
  const auto hash = header.number<uint64_t>();
  if (zero != 0 || kind < FrameKind::Model || kind > FrameKind::End)
    return damage("no frame begins there");
  if (size > rest.size() - kFrameHeaderBytes)
    return false;
  payload = rest.subspan(kFrameHeaderBytes, size);
  if (hashBytes(payload.data(), payload.size()) != hash)
    return damage("a frame has another hash than was written");
  place += kFrameHeaderBytes + size;
  return true;
}

Result<bool> RecordReader::next(RecordedBatch &batch) {
  while (!hasEnd) {
    FrameKind kind{};
    std::span<const std::byte> payload;
    BETZ_ASSIGN_OR_RETURN(const bool isWhole, readFrame(kind, payload));
    if (!isWhole)
      return false;
    switch (kind) {
    case FrameKind::Model:
      BETZ_RETURN_IF_ERROR(readModel(payload));
      break;
    case FrameKind::Batch:
      BETZ_RETURN_IF_ERROR(readBatch(payload, batch));
      return true;
    case FrameKind::End:
      BETZ_RETURN_IF_ERROR(readEnd(payload));
      break;
    }
  }
  return false;
}

Status RecordReader::readModel(std::span<const std::byte> payload) {
  Cursor cursor(payload);
  const auto id = cursor.number<uint32_t>();
  RecordedModel model;
  model.columns = cursor.number<uint32_t>();
  for (std::string *text :
       {&model.name, &model.version, &model.programHash, &model.device})
    *text = cursor.text();
  if (!cursor.isExact())
    return damage("a model's frame has the wrong size");
  if (!known.emplace(id, std::move(model)).second)
    return damage("two models have one number");
  return Status::ok();
}

Status RecordReader::readBatch(std::span<const std::byte> payload,
                               RecordedBatch &batch) {
  Cursor cursor(payload);
  batch.number = cursor.number<uint64_t>();
  droppedBatches = cursor.number<uint64_t>();
  const auto model = known.find(cursor.number<uint32_t>());
  const uint64_t windows = cursor.number<uint32_t>();
  const uint64_t events = cursor.number<uint32_t>();
  const uint64_t columns = cursor.number<uint32_t>();
  cursor.array(windows + 1, batch.rowSplits);
  cursor.array(windows, batch.windowStart);
  cursor.array(events, batch.neuronId);
  cursor.array(events, batch.timeBin);
  cursor.array(events, batch.value);
  cursor.array(windows * columns, batch.behavior);
  if (!cursor.isExact())
    return damage("a batch's frame has the wrong size");
  if (model == known.end() || uint64_t(model->second.columns) != columns)
    return damage("a batch is of no model before it");
  batch.model = &model->second;
  return Status::ok();
}

Status RecordReader::readEnd(std::span<const std::byte> payload) {
  Cursor cursor(payload);
  cursor.number<uint64_t>();
  droppedBatches = cursor.number<uint64_t>();
  if (!cursor.isExact())
    return damage("the log's end has the wrong size");
  if (place != bytes.size())
    return damage("more follows the log's end");
  hasEnd = true;
  return Status::ok();
}

} // namespace betz::serve
