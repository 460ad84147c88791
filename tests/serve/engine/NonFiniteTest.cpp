// Outputs with NaN: flagged, counted, and held back where that is asked for.
#include "serve/engine/StreamSession.h"
#include "tests/serve/engine/EngineFixture.h"

#include <cmath>
#include <limits>

namespace betz::serve {
namespace {

/// Windows with an event of neuron 0 have NaN.
SumDecoder brokenDecoder() {
  SumDecoder decoder(1);
  decoder.table[1] = std::numeric_limits<float>::quiet_NaN();
  return decoder;
}

struct Row {
  std::vector<float> behavior;
  bool isNonFinite, isHeld;
};

/// The decodes of three strides, the second of which has NaN.
std::vector<Row> decodeStream(bool holdLastGood) {
  EngineConfig config;
  config.streams.holdLastGood = holdLastGood;
  auto engine = makeEngine(config);
  load(*engine, brokenDecoder());
  auto stream = std::get<std::shared_ptr<StreamSession>>(
      engine->openStream({.model = "sum", .windowBins = 4, .strideBins = 4}));
  std::vector<Row> rows;
  for (int32_t stride = 0; stride < 3; ++stride) {
    const StreamEvent event = {stride == 1 ? 0 : 1 + stride, 4 * stride, 1};
    EXPECT_TRUE(stream->push({&event, 1}).isOk());
    std::promise<Row> promise;
    auto decodes =
        stream->advance(4 * stride + 4, [&](const StreamAnswer &answer) {
          const Decoded &decoded = std::get<Decoded>(answer.answer);
          promise.set_value({{decoded.behavior.begin(), decoded.behavior.end()},
                             decoded.isNonFinite,
                             decoded.isHeld});
        });
    EXPECT_EQ(*decodes, 1);
    rows.push_back(promise.get_future().get());
  }
  return rows;
}

TEST(NonFinite, IsFlaggedAndCounted) {
  auto engine = makeEngine();
  load(*engine, brokenDecoder());
  std::mt19937 random(1);
  OwnedWindows three({2, 2, 2}, random);
  auto ask = [&](std::vector<int32_t> neurons) {
    three.neuronId = std::move(neurons);
    std::promise<bool> promise;
    engine->submit({.model = "sum", .windows = three.view()},
                   [&](const Answer &answer) {
                     promise.set_value(std::get<Decoded>(answer).isNonFinite);
                   });
    return promise.get_future().get();
  };
  EXPECT_FALSE(ask({1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(ask({0, 2, 3, 4, 5, 0}));
  EXPECT_TRUE(ask({1, 2, 3, 0, 5, 6}));
  EXPECT_EQ(engine->statistics().models[0].nonFinite, 3u);
}

TEST(NonFinite, AStreamAnswersItFlagged) {
  const std::vector<Row> rows = decodeStream(false);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i].isNonFinite, i == 1);
    EXPECT_EQ(std::isnan(rows[i].behavior[1]), i == 1);
    EXPECT_FALSE(rows[i].isHeld);
  }
}

TEST(NonFinite, AStreamHoldsItsLastGoodRow) {
  const std::vector<Row> rows = decodeStream(true);
  EXPECT_FALSE(rows[0].isNonFinite || rows[0].isHeld);
  EXPECT_TRUE(rows[1].isNonFinite && rows[1].isHeld);
  EXPECT_EQ(rows[1].behavior, rows[0].behavior);
  EXPECT_FALSE(rows[2].isNonFinite || rows[2].isHeld);
  EXPECT_NE(rows[2].behavior, rows[0].behavior);
}

} // namespace
} // namespace betz::serve
