#include "serve/load/StreamRun.h"
#include "tests/serve/engine/EngineFixture.h"

namespace betz::serve {
namespace {

std::unique_ptr<LoadedModel> bareModel(const SumDecoder &decoder) {
  auto device = openDevice("cpu", {.threads = 1});
  EXPECT_TRUE(device.isOk());
  auto model = LoadedModel::create(decoder.program(), *device, 1, 0);
  EXPECT_TRUE(model.isOk()) << model.status().message();
  return std::move(model).value();
}

TEST(StreamRun, ManyStreamsInASmallPoolHaveTheBitsOfEachWindowAlone) {
  // 500 streams have a page each; the pool has 100.
  auto engine =
      makeEngine({.streams = {.pageEvents = 16, .poolBytes = 100 * 16 * 12}});
  const SumDecoder decoder(1);
  load(*engine, decoder);
  auto scratch = bareModel(decoder);
  auto result =
      runStreams(*engine, *scratch,
                 {.model = "sum", .streams = 500, .strides = 40, .events = 20});
  ASSERT_TRUE(result.isOk()) << result.status().message();
  EXPECT_EQ(result->load.latencies.size(), 500u * 40);
  EXPECT_EQ(result->differing, 0u) << result->firstDifference;
  EXPECT_GT(result->counts.evictions, 500u);
  EXPECT_LT(result->hitRate(), .5);
  EXPECT_EQ(toJson(*result)["evictions"], result->counts.evictions);
}

TEST(StreamRun, AWindowIsUploadedOnce) {
  auto engine = makeEngine();
  const SumDecoder decoder(1);
  load(*engine, decoder);
  auto scratch = bareModel(decoder);
  auto result =
      runStreams(*engine, *scratch,
                 {.model = "sum", .streams = 8, .strides = 200, .events = 30});
  ASSERT_TRUE(result.isOk()) << result.status().message();
  EXPECT_EQ(result->differing, 0u) << result->firstDifference;
  EXPECT_EQ(result->counts.evictions, 0u);
  // A window is five strides, each brought once.
  EXPECT_NEAR(double(result->counts.bytesUploaded) /
                  double(result->counts.bytesRead),
              .2, .02);
}

TEST(StreamRun, ADecoderWithOtherWeightsIsFoundOut) {
  auto engine = makeEngine();
  load(*engine, SumDecoder(1));
  auto scratch = bareModel(SumDecoder(2));
  auto result = runStreams(*engine, *scratch,
                           {.model = "sum", .streams = 2, .strides = 3});
  ASSERT_TRUE(result.isOk()) << result.status().message();
  EXPECT_EQ(result->differing, 6u);
  EXPECT_EQ(result->firstDifference.substr(0, 45),
            "stream 0, the window that ends before bin 4, ");
}

TEST(StreamRun, MoreStreamsThanThereMayBe) {
  auto engine = makeEngine({.streams = {.maxStreams = 3}});
  const SumDecoder decoder(1);
  load(*engine, decoder);
  auto scratch = bareModel(decoder);
  EXPECT_FALSE(
      runStreams(*engine, *scratch, {.model = "sum", .streams = 4}).isOk());
}

} // namespace
} // namespace betz::serve
