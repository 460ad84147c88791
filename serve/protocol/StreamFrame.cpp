#include "serve/protocol/StreamFrame.h"

#include "serve/protocol/EventList.h"
#include "serve/protocol/JsonText.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace betz::serve {
namespace {

static_assert(std::endian::native == std::endian::little &&
                  sizeof(StreamEvent) == 12,
              "frames hold numbers and events as memory does");

constexpr size_t kHeaderBytes = 12;

template <typename T> T readNumber(std::string_view bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T> void appendBytes(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

uint32_t saturate(int64_t value) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
}

} // namespace

Result<StreamFrame> parseStreamText(std::string_view json, size_t maxEvents) {
  StreamFrame frame;
  JsonReader reader(json);
  std::string_view key;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key == "sequence_number") {
      const int64_t number = reader.readInteger();
      if (!std::in_range<uint32_t>(number))
        reader.fail("sequence_number is not in [0, 2^32)");
      frame.sequenceNumber = static_cast<uint32_t>(number);
    } else if (key == "events") {
      readEventList(reader, maxEvents, frame.events);
    } else if (key == "advance_to") {
      frame.advanceTo = readI32(reader, key, 0);
    } else {
      reader.fail(fmt::format("unknown member '{}'; there are sequence_number, "
                              "events and advance_to",
                              key));
    }
  }
  BETZ_RETURN_IF_ERROR(reader.finish().withContext("frame"));
  return frame;
}

Result<StreamFrame> parseStreamBytes(std::string_view bytes, size_t maxEvents) {
  if (bytes.size() < kHeaderBytes)
    return invalidArgument(fmt::format("frame of {} bytes: the header has {}",
                                       bytes.size(), kHeaderBytes));
  StreamFrame frame;
  frame.sequenceNumber = readNumber<uint32_t>(bytes, 0);
  const int32_t advanceTo = readNumber<int32_t>(bytes, 4);
  const size_t count = readNumber<uint32_t>(bytes, 8);
  if (advanceTo < -1)
    return invalidArgument(
        fmt::format("frame: advance_to {} is below -1", advanceTo));
  if (advanceTo >= 0)
    frame.advanceTo = advanceTo;
  if (count > maxEvents)
    return invalidArgument(
        fmt::format("frame: {} events are more than {}", count, maxEvents));
  if (bytes.size() != kHeaderBytes + count * sizeof(StreamEvent))
    return invalidArgument(
        fmt::format("frame: {} events need {} bytes, there are {}", count,
                    kHeaderBytes + count * sizeof(StreamEvent), bytes.size()));
  frame.events.reserve(count);
  for (size_t i = 0; i < count; ++i)
    frame.events.push_back(
        readNumber<StreamEvent>(bytes, kHeaderBytes + i * sizeof(StreamEvent)));
  return frame;
}

std::string writeStreamText(const StreamReply &reply) {
  std::string out = "{\"sequence_number\":";
  appendJsonNumber(out, reply.sequenceNumber);
  out += ",\"end_bin\":";
  appendJsonNumber(out, reply.endBin);
  out += ",\"status\":";
  appendJsonNumber(out, reply.status);
  if (reply.status == 200) {
    out += ",\"behavior\":";
    appendJsonArray(out, std::span<const float>(reply.behavior));
  } else {
    out += ",\"error\":";
    appendJsonString(out, reply.error);
  }
  if (reply.isNonFinite)
    out += ",\"non_finite\":true";
  if (reply.isHeld)
    out += ",\"held\":true";
  out += ",\"latency_ms\":";
  appendJsonNumber(out, static_cast<double>(reply.latency.count()) * 1e-6);
  out += ",\"late\":";
  appendJsonNumber(out, reply.late);
  out += ",\"merged\":";
  appendJsonNumber(out, reply.merged);
  out.push_back('}');
  return out;
}

std::string writeStreamBytes(const StreamReply &reply) {
  std::string out;
  appendBytes(out, reply.sequenceNumber);
  appendBytes(out, reply.endBin);
  appendBytes(out, static_cast<uint32_t>(reply.status) |
                       uint32_t(reply.isNonFinite) << 16 |
                       uint32_t(reply.isHeld) << 17);
  appendBytes(out, saturate(reply.latency.count() / 1000));
  appendBytes(out, saturate(reply.late));
  appendBytes(out, saturate(reply.merged));
  if (reply.status != 200)
    return out + reply.error;
  for (float value : reply.behavior)
    appendBytes(out, value);
  return out;
}

} // namespace betz::serve
