#include "runtime/base/Json.h"
#include "serve/http/SpanExporter.h"

#include <gmock/gmock.h>
#include <map>

using namespace betz;
using namespace betz::serve;

namespace {

RequestSpan spanOf(uint8_t id, uint64_t batch) {
  RequestSpan span;
  span.context.traceId.fill(id);
  span.context.spanId.fill(id);
  span.name = "infer";
  span.start = std::chrono::system_clock::time_point(std::chrono::seconds(9));
  span.duration = std::chrono::nanoseconds(900);
  span.requestId = "r";
  span.batch = batch;
  span.batchWindows = 2;
  span.queued = std::chrono::nanoseconds(300);
  span.computed = std::chrono::nanoseconds(500);
  return span;
}

TEST(Otlp, LinksAllRequestsOfABatch) {
  std::vector<RequestSpan> requests = {spanOf(1, 7), spanOf(2, 7),
                                       spanOf(3, 0)};
  requests[0].parent.fill(0xAB);
  requests[2].status = 503;
  Result<Json> body = parseJson(writeOtlp(requests));
  ASSERT_TRUE(body.isOk());
  const Json &resource = (*body)["resourceSpans"][0];
  EXPECT_EQ(resource["resource"]["attributes"][0]["value"]["stringValue"],
            "betz");
  const Json &spans = resource["scopeSpans"][0]["spans"];
  ASSERT_EQ(spans.size(), 8u); // 3 + 3 + 1, and the dispatch
  EXPECT_EQ(countSpans(requests), 8u);

  EXPECT_EQ(spans[0]["traceId"], "01010101010101010101010101010101");
  EXPECT_EQ(spans[0]["parentSpanId"], "abababababababab");
  EXPECT_EQ(spans[0]["kind"], 2);
  EXPECT_EQ(spans[0]["startTimeUnixNano"], "9000000000");
  EXPECT_EQ(spans[0]["endTimeUnixNano"], "9000000900");
  EXPECT_EQ(spans[0]["status"]["code"], 1);
  EXPECT_EQ(spans[1]["name"], "queue");
  EXPECT_EQ(spans[1]["parentSpanId"], "0101010101010101");
  EXPECT_EQ(spans[1]["endTimeUnixNano"], "9000000300");
  EXPECT_EQ(spans[2]["name"], "device");
  EXPECT_EQ(spans[2]["endTimeUnixNano"], "9000000800");
  EXPECT_FALSE(spans[3].contains("parentSpanId"));
  EXPECT_EQ(spans[6]["status"]["code"], 2);

  const Json &dispatch = spans[7];
  EXPECT_EQ(dispatch["name"], "dispatch");
  ASSERT_EQ(dispatch["links"].size(), 2u);
  EXPECT_EQ(dispatch["links"][1]["spanId"], "0202020202020202");
  EXPECT_EQ(dispatch["attributes"][0]["value"]["intValue"], "7");

  std::map<std::string, int> ids;
  for (const Json &span : spans)
    ++ids[span["spanId"]];
  EXPECT_EQ(ids.size(), spans.size());
}

TEST(SpanExporter, DropsAndCountsWhatNobodyTakes) {
  FrontMetrics metrics(std::chrono::milliseconds(50));
  {
    // Port 1 refuses connections.
    auto exporter =
        SpanExporter::create("http://127.0.0.1:1/v1/traces", metrics);
    ASSERT_TRUE(exporter.isOk()) << exporter.status().message();
    for (size_t i = 0; i < SpanExporter::kMaxQueue + 10; ++i)
      (*exporter)->add(spanOf(1, 0));
  }
  EXPECT_EQ(metrics.spansDropped, SpanExporter::kMaxQueue + 10);
  EXPECT_EQ(metrics.spansExported, 0u);
}

TEST(SpanExporter, RefusesOtherEndpoints) {
  FrontMetrics metrics(std::chrono::milliseconds(50));
  for (const char *endpoint : {"", "localhost:4318", "https://h:1/", "http://h",
                               "http://:1/", "http://h:/x"})
    EXPECT_FALSE(SpanExporter::create(endpoint, metrics).isOk()) << endpoint;
}

} // namespace
