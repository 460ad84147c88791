#include "serve/protocol/DecodeMessage.h"

#include "serve/protocol/EventList.h"
#include "serve/protocol/JsonText.h"

#include <fmt/format.h>

namespace betz::serve {
namespace {

double milliseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) * 1e-6;
}

EventArrays toArrays(const std::vector<StreamEvent> &events,
                     std::optional<int32_t> windowStart) {
  EventArrays arrays;
  for (const StreamEvent &event : events) {
    arrays.neuronId.push_back(event.neuron);
    arrays.timeBin.push_back(event.bin);
    arrays.value.push_back(event.value);
  }
  arrays.rowSplits = {0, static_cast<int32_t>(events.size())};
  if (windowStart)
    arrays.windowStart = {*windowStart};
  return arrays;
}

} // namespace

Result<DecodeRequest> parseDecodeRequest(std::string_view json,
                                         size_t maxEvents) {
  DecodeRequest request;
  std::vector<StreamEvent> events;
  std::optional<int32_t> windowStart;
  bool hasEvents = false;
  JsonReader reader(json);
  std::string_view key;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key == "request_id") {
      request.requestId = reader.readString();
    } else if (key == "session_id") {
      request.sessionId = reader.readString();
    } else if (key == "model") {
      request.model = reader.readString();
    } else if (key == "events") {
      hasEvents = true;
      readEventList(reader, maxEvents, events);
    } else if (key == "deadline_ms") {
      const double deadline = reader.readNumber();
      if (!(deadline > 0 && deadline < 1e9))
        reader.fail("deadline_ms must be above 0");
      else
        request.timeout = std::chrono::nanoseconds(int64_t(deadline * 1e6));
    } else if (key == "window_start") {
      windowStart = readI32(reader, "window_start", 0);
    } else {
      reader.fail(fmt::format(
          "unknown member '{}'; there are events, request_id, session_id, "
          "model, deadline_ms and window_start",
          key));
    }
  }
  if (!hasEvents)
    reader.fail("'events' is missing");
  BETZ_RETURN_IF_ERROR(reader.finish().withContext("body"));
  request.events = toArrays(events, windowStart);
  return request;
}

std::string writeDecodeResponse(std::string_view requestId,
                                std::string_view sessionId,
                                const Decoded &decoded,
                                std::chrono::nanoseconds latency) {
  std::string out = "{\"request_id\":";
  appendJsonString(out, requestId);
  if (!sessionId.empty()) {
    out += ",\"session_id\":";
    appendJsonString(out, sessionId);
  }
  out += ",\"behavior\":";
  appendJsonArray(out, decoded.behavior);
  out += ",\"latency_ms\":";
  appendJsonNumber(out, milliseconds(latency));
  out += ",\"queue_wait_ms\":";
  appendJsonNumber(out, milliseconds(decoded.queued));
  out += ",\"inference_ms\":";
  appendJsonNumber(out, milliseconds(decoded.computed));
  if (decoded.isNonFinite)
    out += ",\"non_finite\":true";
  out.push_back('}');
  return out;
}

} // namespace betz::serve
