// /decode, /stream, traceparent and the metrics' text.
#include "runtime/base/Json.h"
#include "serve/protocol/DecodeMessage.h"
#include "serve/protocol/MetricsText.h"
#include "serve/protocol/StreamFrame.h"
#include "serve/protocol/TraceContext.h"

#include <cstring>
#include <gmock/gmock.h>

using namespace betz;
using namespace betz::serve;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(DecodeMessage, ReadsOneWindow) {
  Result<DecodeRequest> request = parseDecodeRequest(
      R"({"request_id":"r","session_id":"s","model":"m","deadline_ms":2.5,
          "window_start":7,"events":[{"neuron_id":1,"time_bin":9,"value":3},
                                     {"time_bin":8,"neuron_id":0}]})",
      2);
  ASSERT_TRUE(request.isOk()) << request.status().message();
  EXPECT_EQ(request->requestId, "r");
  EXPECT_EQ(request->sessionId, "s");
  EXPECT_EQ(request->model, "m");
  EXPECT_EQ(request->timeout, std::chrono::microseconds(2500));
  EXPECT_THAT(request->events.neuronId, ElementsAre(1, 0));
  EXPECT_THAT(request->events.timeBin, ElementsAre(9, 8));
  EXPECT_THAT(request->events.value, ElementsAre(3, 1));
  EXPECT_THAT(request->events.rowSplits, ElementsAre(0, 2));
  EXPECT_THAT(request->events.windowStart, ElementsAre(7));
}

TEST(DecodeMessage, SaysWhatIsWrong) {
  auto errorOf = [](std::string_view text) {
    return parseDecodeRequest(text, 1).status().message();
  };
  EXPECT_EQ(errorOf(R"({"events":[]})"), "");
  EXPECT_THAT(errorOf("{}"), HasSubstr("'events' is missing"));
  EXPECT_THAT(errorOf(R"({"events":[],"deadline":1})"),
              HasSubstr("unknown member 'deadline'"));
  EXPECT_THAT(errorOf(R"({"events":[],"deadline_ms":0})"),
              HasSubstr("deadline_ms must be above 0"));
  EXPECT_THAT(errorOf(R"({"events":[{"neuron_id":1}]})"),
              HasSubstr("an event needs neuron_id and time_bin"));
  EXPECT_THAT(errorOf(R"({"events":[{"neuron_id":-1,"time_bin":0}]})"),
              HasSubstr("neuron_id -1 is not in [0, 2^31)"));
  EXPECT_THAT(errorOf(R"({"events":[{"neuron_id":1,"time_bin":0},
                                    {"neuron_id":1,"time_bin":0}]})"),
              HasSubstr("more than 1 events"));
}

TEST(DecodeMessage, WritesTheAnswer) {
  const std::vector<float> behavior = {0.25f, -3};
  Decoded decoded;
  decoded.behavior = behavior;
  decoded.queued = std::chrono::microseconds(500);
  decoded.computed = std::chrono::microseconds(1500);
  const std::string text =
      writeDecodeResponse("r", "", decoded, std::chrono::microseconds(2250));
  EXPECT_EQ(text, R"({"request_id":"r","behavior":[0.25,-3],"latency_ms":2.25,)"
                  R"("queue_wait_ms":0.5,"inference_ms":1.5})");
}

TEST(StreamFrame, TextAndBytesSayTheSame) {
  Result<StreamFrame> text = parseStreamText(
      R"({"sequence_number":7,"advance_to":12,
          "events":[{"neuron_id":5,"time_bin":11,"value":2}]})",
      4);
  ASSERT_TRUE(text.isOk()) << text.status().message();
  const int32_t words[] = {7, 12, 1, 5, 11, 2};
  const std::string_view bytes(reinterpret_cast<const char *>(words),
                               sizeof words);
  Result<StreamFrame> binary = parseStreamBytes(bytes, 4);
  ASSERT_TRUE(binary.isOk()) << binary.status().message();
  for (const StreamFrame *frame : {&*text, &*binary}) {
    EXPECT_EQ(frame->sequenceNumber, 7u);
    EXPECT_EQ(frame->advanceTo, 12);
    ASSERT_EQ(frame->events.size(), 1u);
    EXPECT_EQ(frame->events[0].neuron, 5);
    EXPECT_EQ(frame->events[0].bin, 11);
    EXPECT_EQ(frame->events[0].value, 2);
  }
}

TEST(StreamFrame, WrongLengthsAreRefused) {
  const int32_t words[] = {7, -1, 1, 5, 11, 2};
  const std::string_view bytes(reinterpret_cast<const char *>(words),
                               sizeof words);
  EXPECT_EQ(parseStreamBytes(bytes, 1)->advanceTo, std::nullopt);
  EXPECT_THAT(parseStreamBytes(bytes, 0).status().message(),
              HasSubstr("1 events are more than 0"));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parseStreamBytes(bytes.substr(0, size), 1).isOk()) << size;
  EXPECT_THAT(parseStreamBytes(std::string(bytes) + "x", 1).status().message(),
              HasSubstr("1 events need 24 bytes, there are 25"));
  const int32_t backwards[] = {0, -2, 0};
  EXPECT_FALSE(
      parseStreamBytes({reinterpret_cast<const char *>(backwards), 12}, 1)
          .isOk());
}

TEST(StreamFrame, WritesReplies) {
  StreamReply reply;
  reply.sequenceNumber = 3;
  reply.endBin = 40;
  reply.latency = std::chrono::microseconds(1250);
  reply.late = 2;
  reply.merged = 1;
  reply.behavior = {0.5f, 2};
  EXPECT_EQ(writeStreamText(reply),
            R"({"sequence_number":3,"end_bin":40,"status":200,)"
            R"("behavior":[0.5,2],"latency_ms":1.25,"late":2,"merged":1})");
  const std::string bytes = writeStreamBytes(reply);
  ASSERT_EQ(bytes.size(), 32u);
  uint32_t words[6];
  float behavior[2];
  std::memcpy(words, bytes.data(), 24);
  std::memcpy(behavior, bytes.data() + 24, 8);
  EXPECT_THAT(words, ElementsAre(3, 40, 200, 1250, 2, 1));
  EXPECT_THAT(behavior, ElementsAre(0.5f, 2.0f));

  reply.status = 504;
  reply.error = "too late";
  EXPECT_THAT(writeStreamText(reply), HasSubstr(R"("error":"too late")"));
  EXPECT_THAT(writeStreamText(reply), Not(HasSubstr("behavior")));
  EXPECT_EQ(writeStreamBytes(reply).substr(24), "too late");
}

TEST(TraceContext, ReadsWhatTheRecommendationAllows) {
  const std::string good =
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  std::optional<TraceContext> context = parseTraceparent(good);
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->isSampled);
  EXPECT_EQ(toHex(context->spanId), "00f067aa0ba902b7");
  EXPECT_EQ(formatTraceparent(*context), good);
  // Other flags are masked; later versions may have more behind a dash.
  EXPECT_FALSE(parseTraceparent(good.substr(0, 53) + "fe")->isSampled);
  EXPECT_EQ(parseTraceparent("01" + good.substr(2)), context);
  EXPECT_EQ(parseTraceparent("01" + good.substr(2) + "-more"), context);
}

TEST(TraceContext, IgnoresTheRest) {
  const std::string good =
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parseTraceparent(good.substr(0, size))) << size;
  for (size_t place = 0; place < good.size(); ++place) {
    std::string bad = good;
    bad[place] = place == 2 || place == 35 || place == 52 ? '0' : 'G';
    EXPECT_FALSE(parseTraceparent(bad)) << place;
  }
  EXPECT_FALSE(parseTraceparent("ff" + good.substr(2)));
  EXPECT_FALSE(parseTraceparent(good + "-more"));
  EXPECT_FALSE(parseTraceparent("01" + good.substr(2) + "x"));
  EXPECT_FALSE(
      parseTraceparent("00-" + std::string(32, '0') + good.substr(35)));
  EXPECT_FALSE(
      parseTraceparent(good.substr(0, 36) + std::string(16, '0') + "-01"));
  EXPECT_FALSE(parseTraceparent("00-4BF92F3577B34DA6A3CE929D0E0E4736-"
                                "00f067aa0ba902b7-01"));
}

TEST(MetricsText, WritesFamilies) {
  static constexpr double kBounds[] = {0.001, 0.5};
  Histogram histogram(kBounds);
  histogram.counts = {2, 0, 1};
  histogram.sum = 1.25;
  MetricsText text;
  text.family("betz_requests_total", MetricKind::Counter, "Requests");
  text.sample({{"endpoint", "a\"\\\nb"}, {"code", "200"}}, 3);
  text.sample({}, std::numeric_limits<double>::infinity());
  text.family("betz_latency_seconds", MetricKind::Histogram, "Latency");
  text.histogram({{"model", "m"}}, histogram);
  EXPECT_EQ(std::move(text).take(),
            "# HELP betz_requests_total Requests\n"
            "# TYPE betz_requests_total counter\n"
            "betz_requests_total{endpoint=\"a\\\"\\\\\\nb\",code=\"200\"} 3\n"
            "betz_requests_total +Inf\n"
            "# HELP betz_latency_seconds Latency\n"
            "# TYPE betz_latency_seconds histogram\n"
            "betz_latency_seconds_bucket{model=\"m\",le=\"0.001\"} 2\n"
            "betz_latency_seconds_bucket{model=\"m\",le=\"0.5\"} 2\n"
            "betz_latency_seconds_bucket{model=\"m\",le=\"+Inf\"} 3\n"
            "betz_latency_seconds_sum{model=\"m\"} 1.25\n"
            "betz_latency_seconds_count{model=\"m\"} 3\n");
}

} // namespace
