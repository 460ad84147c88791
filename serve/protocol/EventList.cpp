#include "serve/protocol/EventList.h"

#include <fmt/format.h>
#include <limits>

namespace betz::serve {
namespace {

StreamEvent readEvent(JsonReader &reader) {
  StreamEvent event{-1, -1, 1};
  std::string_view key;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key == "neuron_id")
      event.neuron = readI32(reader, key, 0);
    else if (key == "time_bin")
      event.bin = readI32(reader, key, 0);
    else if (key == "value")
      event.value = readI32(reader, key, 0);
    else
      reader.fail(fmt::format("unknown member '{}' of an event; there are "
                              "neuron_id, time_bin and value",
                              key));
  }
  if (event.neuron < 0 || event.bin < 0)
    reader.fail("an event needs neuron_id and time_bin");
  return event;
}

} // namespace

int32_t readI32(JsonReader &reader, std::string_view name, int32_t low) {
  const int64_t value = reader.readInteger();
  if (!reader.isBroken() &&
      (value < low || value > std::numeric_limits<int32_t>::max()))
    reader.fail(fmt::format("{} {} is not in [{}, 2^31)", name, value, low));
  return static_cast<int32_t>(value);
}

void readEventList(JsonReader &reader, size_t most,
                   std::vector<StreamEvent> &events) {
  reader.enterArray();
  while (reader.nextElement()) {
    if (events.size() == most)
      return reader.fail(fmt::format("more than {} events", most));
    events.push_back(readEvent(reader));
  }
}

} // namespace betz::serve
