// OTLP's JSON: ids as hexadecimal text, 64-bit integers as decimal text.
#include "runtime/base/Json.h"
#include "serve/http/SpanExporter.h"

#include <map>

namespace betz::serve {
namespace {

enum SpanKind { Internal = 1, ServerKind = 2 };

using TimePoint = std::chrono::system_clock::time_point;

std::string nanosecondText(TimePoint time) {
  return std::to_string(
      std::chrono::nanoseconds(time.time_since_epoch()).count());
}

Json attribute(const char *key, const std::string &value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}
Json attribute(const char *key, int64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}

TimePoint after(TimePoint time, std::chrono::nanoseconds duration) {
  return time + std::chrono::duration_cast<TimePoint::duration>(duration);
}

Json makeSpan(const std::string &trace, const std::string &id,
              const std::string &parent, const std::string &name, int kind,
              TimePoint start, std::chrono::nanoseconds duration) {
  Json span = {{"traceId", trace}, {"spanId", id}};
  if (!parent.empty())
    span["parentSpanId"] = parent;
  span["name"] = name;
  span["kind"] = kind;
  span["startTimeUnixNano"] = nanosecondText(start);
  span["endTimeUnixNano"] = nanosecondText(after(start, duration));
  return span;
}

/// Ids of a request's inner spans: its own with the last byte changed.
std::string innerId(const RequestSpan &request, uint8_t which) {
  std::array<uint8_t, 8> id = request.context.spanId;
  id[0] ^= 0x80;
  id[7] ^= which;
  return toHex(id);
}

void addRequest(const RequestSpan &request, Json &spans) {
  const std::string trace = toHex(request.context.traceId);
  const std::string id = toHex(request.context.spanId);
  const bool hasParent = request.parent != std::array<uint8_t, 8>{};
  Json span =
      makeSpan(trace, id, hasParent ? toHex(request.parent) : "", request.name,
               ServerKind, request.start, request.duration);
  span["attributes"] =
      Json::array({attribute("request_id", request.requestId),
                   attribute("http.response.status_code", request.status)});
  span["status"] = {{"code", request.status < 500 ? 1 : 2}};
  spans.push_back(std::move(span));
  if (request.batch == 0)
    return;
  spans.push_back(makeSpan(trace, innerId(request, 1), id, "queue", Internal,
                           request.start, request.queued));
  spans.push_back(makeSpan(trace, innerId(request, 2), id, "device", Internal,
                           after(request.start, request.queued),
                           request.computed));
}

using Batches = std::map<uint64_t, std::vector<const RequestSpan *>>;

Batches groupByBatch(std::span<const RequestSpan> requests) {
  Batches batches;
  for (const RequestSpan &request : requests)
    if (request.batch != 0)
      batches[request.batch].push_back(&request);
  return batches;
}

void addDispatch(std::span<const RequestSpan *const> requests, Json &spans) {
  const RequestSpan &first = *requests.front();
  Json span = makeSpan(toHex(first.context.traceId), innerId(first, 3),
                       toHex(first.context.spanId), "dispatch", Internal,
                       after(first.start, first.queued), first.computed);
  span["attributes"] = Json::array({attribute("batch", int64_t(first.batch)),
                                    attribute("windows", first.batchWindows)});
  span["links"] = Json::array();
  for (const RequestSpan *request : requests)
    span["links"].push_back({{"traceId", toHex(request->context.traceId)},
                             {"spanId", toHex(request->context.spanId)}});
  spans.push_back(std::move(span));
}

} // namespace

size_t countSpans(std::span<const RequestSpan> requests) {
  size_t count = groupByBatch(requests).size();
  for (const RequestSpan &request : requests)
    count += request.batch == 0 ? 1 : 3;
  return count;
}

std::string writeOtlp(std::span<const RequestSpan> requests) {
  Json spans = Json::array();
  for (const RequestSpan &request : requests)
    addRequest(request, spans);
  for (const auto &[batch, members] : groupByBatch(requests))
    addDispatch(members, spans);
  Json scope = {{"scope", {{"name", "betz"}, {"version", BETZ_VERSION}}},
                {"spans", spans}};
  Json resource = {
      {"resource",
       {{"attributes", Json::array({attribute("service.name", "betz")})}}},
      {"scopeSpans", Json::array({scope})}};
  return Json({{"resourceSpans", Json::array({resource})}}).dump();
}

} // namespace betz::serve
