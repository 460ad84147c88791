#include "serve/load_http/HttpLoad.h"
#include "serve/protocol/InferRequest.h"

#include <gmock/gmock.h>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kMetadata =
    R"({"name":"m","versions":["1"],"outputs":[{"name":"behavior",
        "datatype":"FP32","shape":[-1,2]}],"parameters":{"neurons":96,
        "time_bins":64,"values":8,"max_events":512,"max_windows":8,
        "bin_ms":5.0}})";

TEST(ServerAddress, ReadsUrls) {
  for (const auto &[url, host, port] :
       std::initializer_list<std::array<const char *, 3>>{
           {"http://127.0.0.1:8080", "127.0.0.1", "8080"},
           {"http://localhost:9/", "localhost", "9"},
           {"decoder", "decoder", "80"},
           {"http://[::1]:8080", "::1", "8080"},
           {"http://[::1]", "::1", "80"}}) {
    auto address = ServerAddress::parse(url);
    ASSERT_TRUE(address.isOk()) << address.status().message();
    EXPECT_EQ(address->host, host);
    EXPECT_EQ(address->port, port);
  }
  for (const char *url : {"", "http://", "https://x", "http://x:y", "http://:1",
                          "http://x:", "http://x/v2", "http://a@x"})
    EXPECT_FALSE(ServerAddress::parse(url).isOk()) << url;
}

TEST(ServedModel, ReadsWhatEventsMayBe) {
  auto model = ServedModel::parse(kMetadata);
  ASSERT_TRUE(model.isOk()) << model.status().message();
  EXPECT_EQ(model->name, "m");
  EXPECT_EQ(model->columns, 2);
  EXPECT_EQ(model->limits.neurons, 96);
  EXPECT_EQ(model->limits.bins, 64);
  EXPECT_EQ(model->limits.values, 8);
  EXPECT_EQ(model->limits.maxEvents, 512);
  EXPECT_EQ(model->binMs, 5);
}

TEST(ServedModel, SaysWhatIsMissing) {
  std::string text(kMetadata);
  text.replace(text.find("time_bins"), 9, "time_bons");
  const Status status = ServedModel::parse(text).status();
  EXPECT_THAT(status.message(), testing::HasSubstr("time_bins"));
  text.replace(text.find("behavior"), 8, "behavers");
  EXPECT_THAT(ServedModel::parse(text).status().message(),
              testing::HasSubstr("behavior"));
  EXPECT_FALSE(ServedModel::parse("{").isOk());
}

TEST(BatchCounts, CountsAWindowForEachOfItsBatch) {
  const BatchCounts counts = BatchCounts::parse(
      R"({"model_stats":[{"batch_stats":[
          {"batch_size":1,"compute_infer":{"count":5,"ns":1}},
          {"batch_size":4,"compute_infer":{"count":2,"ns":1}}]}]})");
  EXPECT_EQ(counts.windows, 13u);
  EXPECT_EQ(counts.batchWindows, 37u);
  EXPECT_EQ(BatchCounts::parse("[]").windows, 0u);
}

TEST(InferBytes, AreReadByTheServer) {
  for (const int64_t events : {0, 7}) {
    auto window = randomWindows({96, 64, 8, 512}, 1, events, 1);
    ASSERT_TRUE(window.isOk());
    const InferBytes bytes = writeInferBytes(window->view(), 25ms);
    const std::string_view body = bytes.body;
    auto request = parseInferRequest(body.substr(0, bytes.jsonBytes),
                                     body.substr(bytes.jsonBytes));
    ASSERT_TRUE(request.isOk()) << request.status().message();
    EXPECT_EQ(request->events.neuronId, window->neuronId);
    EXPECT_EQ(request->events.timeBin, window->timeBin);
    EXPECT_EQ(request->events.value, window->value);
    EXPECT_EQ(request->events.rowSplits, window->rowSplits);
    EXPECT_EQ(request->timeout, 25ms);
    EXPECT_TRUE(request->isBinaryOutput);
  }
}

TEST(ErrorKindOf, IsThatOfTheStatus) {
  EXPECT_FALSE(errorKindOf(200));
  for (const ErrorKind kind :
       {ErrorKind::Invalid, ErrorKind::UnknownModel, ErrorKind::QueueFull,
        ErrorKind::Cancelled, ErrorKind::NotReady, ErrorKind::Late})
    EXPECT_EQ(errorKindOf(unsigned(httpStatus(kind))), kind);
  EXPECT_EQ(errorKindOf(413), ErrorKind::Invalid);
  EXPECT_EQ(errorKindOf(500), ErrorKind::Device);
}

} // namespace
} // namespace betz::serve
