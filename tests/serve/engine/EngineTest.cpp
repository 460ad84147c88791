#include "tests/serve/engine/EngineFixture.h"

#include <gmock/gmock.h>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class EngineTest : public testing::Test {
protected:
  std::mt19937 random{std::random_device{}()};
  SumDecoder decoder{1};
  OwnedWindows one{{5}, random};
};

TEST_F(EngineTest, OneWindow) {
  auto engine = makeEngine();
  load(*engine, decoder);
  KeptAnswer answer =
      submit(*engine, {.model = "sum", .windows = one.view()}).get();
  ASSERT_FALSE(answer.error) << answer.message;
  EXPECT_EQ(answer.behavior, one.expected(decoder));
  EXPECT_EQ(answer.version, "1");
  EXPECT_EQ(answer.batchWindows, 1);
}

TEST_F(EngineTest, WhatWaitsIsOneBatchAndEachGetsItsRows) {
  auto engine = makeEngine();
  load(*engine, decoder);
  std::vector<OwnedWindows> requests;
  for (const std::vector<int> &lengths :
       std::vector<std::vector<int>>{{3}, {0, 64}, {7, 1, 0}, {64}})
    requests.emplace_back(lengths, random);
  Gate gate(*engine, {.model = "sum", .windows = one.view()});
  std::vector<std::future<KeptAnswer>> answers;
  for (const OwnedWindows &request : requests)
    answers.push_back(
        submit(*engine, {.model = "sum", .windows = request.view()}));
  EXPECT_EQ(engine->statistics().queueDepth, 4);
  gate.open();
  for (size_t i = 0; i < requests.size(); ++i) {
    KeptAnswer answer = answers[i].get();
    ASSERT_FALSE(answer.error) << answer.message;
    EXPECT_EQ(answer.behavior, requests[i].expected(decoder));
  }
}

TEST_F(EngineTest, ItsThreadIsStuckOnlyWhileThereIsWork) {
  auto engine = makeEngine();
  load(*engine, decoder);
  EXPECT_EQ(engine->sinceTurn(), 0ns);
  Gate gate(*engine, {.model = "sum", .windows = one.view()});
  std::this_thread::sleep_for(20ms);
  EXPECT_GE(engine->sinceTurn(), 20ms);
  gate.open();
  for (int i = 0; i < 1000 && engine->sinceTurn() > 0ns; ++i)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(engine->sinceTurn(), 0ns);
}

TEST_F(EngineTest, WrongRequestsAreInvalidAndHarmNobody) {
  auto engine = makeEngine();
  load(*engine, decoder);
  auto refuse = [&](OwnedWindows windows, auto damage) {
    damage(windows);
    KeptAnswer answer =
        submit(*engine, {.model = "sum", .windows = windows.view()}).get();
    EXPECT_EQ(answer.error, ErrorKind::Invalid);
    return answer.message;
  };
  EXPECT_THAT(refuse(one, [](auto &w) { w.neuronId[2] = 7; }),
              HasSubstr("neuron_id"));
  EXPECT_THAT(refuse(one, [](auto &w) { w.timeBin[0] = w.windowStart[0] - 1; }),
              HasSubstr("time_bin"));
  EXPECT_THAT(refuse(one, [](auto &w) { w.rowSplits[1] = 4; }),
              HasSubstr("row_splits"));
  EXPECT_THAT(refuse(one, [](auto &w) { w.value.pop_back(); }),
              HasSubstr("value"));
  EXPECT_THAT(refuse(one, [](auto &w) { w.rowSplits.clear(); }),
              HasSubstr("at least one window"));
  EXPECT_THAT(
      refuse(OwnedWindows({1, 1, 1, 1, 1, 1, 1, 1, 1}, random), [](auto &) {}),
      HasSubstr("9 windows with 9 events"));
  EXPECT_THAT(refuse(OwnedWindows({65}, random), [](auto &) {}),
              HasSubstr("65"));
  KeptAnswer good =
      submit(*engine, {.model = "sum", .windows = one.view()}).get();
  EXPECT_EQ(good.behavior, one.expected(decoder));
  EXPECT_EQ(engine->statistics().models[0].errors[size_t(ErrorKind::Invalid)],
            7u);
}

TEST_F(EngineTest, UnknownModels) {
  auto engine = makeEngine();
  EXPECT_FALSE(engine->isReady());
  load(*engine, decoder);
  EXPECT_TRUE(engine->isReady());
  KeptAnswer name =
      submit(*engine, {.model = "none", .windows = one.view()}).get();
  EXPECT_EQ(name.error, ErrorKind::UnknownModel);
  KeptAnswer version =
      submit(*engine, {.model = "sum", .version = "2", .windows = one.view()})
          .get();
  EXPECT_EQ(version.error, ErrorKind::UnknownModel);
  EXPECT_EQ(version.message, "model sum has no version 2");
  EXPECT_EQ(engine->statistics().errors[size_t(ErrorKind::UnknownModel)], 2u);
}

TEST_F(EngineTest, CancelledWorkIsDropped) {
  auto engine = makeEngine();
  load(*engine, decoder);
  Gate gate(*engine, {.model = "sum", .windows = one.view()});
  RequestId id{};
  auto first = submit(*engine, {.model = "sum", .windows = one.view()}, &id);
  auto second = submit(*engine, {.model = "sum", .windows = one.view()});
  engine->cancel(id);
  EXPECT_EQ(first.get().error, ErrorKind::Cancelled);
  engine->cancel(id);
  gate.open();
  KeptAnswer answer = second.get();
  EXPECT_EQ(answer.behavior, one.expected(decoder));
  EXPECT_EQ(answer.batchWindows, 1);
}

TEST_F(EngineTest, TheQueueIsBounded) {
  auto engine = makeEngine({.maxQueue = 3});
  load(*engine, decoder);
  Gate gate(*engine, {.model = "sum", .windows = one.view()});
  std::vector<std::future<KeptAnswer>> answers;
  for (int i = 0; i < 5; ++i)
    answers.push_back(submit(*engine, {.model = "sum", .windows = one.view()}));
  KeptAnswer full = answers[3].get();
  EXPECT_EQ(full.error, ErrorKind::QueueFull);
  EXPECT_GT(full.retryAfter, 0ns);
  EXPECT_EQ(answers[4].get().error, ErrorKind::QueueFull);
  gate.open();
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(answers[size_t(i)].get().error);
}

TEST_F(EngineTest, DeadlinesThatCannotBeKept) {
  auto engine = makeEngine();
  load(*engine, SumDecoder(1, 0.02f), "sum", "", 2);
  auto ask = [&](std::chrono::nanoseconds limit) {
    return submit(*engine, {.model = "sum",
                            .windows = one.view(),
                            .deadline = Clock::now() + limit});
  };
  EXPECT_EQ(ask(-1ms).get().error, ErrorKind::Expired);
  EXPECT_EQ(ask(5ms).get().error, ErrorKind::Late);
  EXPECT_FALSE(ask(1s).get().error);
  Gate gate(*engine, {.model = "sum", .windows = one.view()});
  auto waits = ask(60ms);
  std::this_thread::sleep_for(100ms);
  gate.open();
  EXPECT_EQ(waits.get().error, ErrorKind::Expired) << "it never ran";
  EXPECT_EQ(engine->statistics().models[0].batches, 2u);
}

TEST_F(EngineTest, DrainAnswersWhatWasAccepted) {
  auto engine = makeEngine();
  load(*engine, SumDecoder(1, 0.01f), "sum", "", 2);
  std::vector<std::future<KeptAnswer>> answers;
  for (int i = 0; i < 5; ++i)
    answers.push_back(submit(*engine, {.model = "sum", .windows = one.view()}));
  EXPECT_EQ(engine->drain(10s), 0);
  for (auto &answer : answers)
    EXPECT_FALSE(answer.get().error);
  EXPECT_FALSE(engine->isReady());
  EXPECT_EQ(
      submit(*engine, {.model = "sum", .windows = one.view()}).get().error,
      ErrorKind::NotReady);
}

TEST_F(EngineTest, DrainGivesUp) {
  auto engine = makeEngine();
  load(*engine, SumDecoder(1, 0.05f), "sum", "", 2);
  std::vector<std::future<KeptAnswer>> answers;
  for (int i = 0; i < 4; ++i)
    answers.push_back(submit(*engine, {.model = "sum", .windows = one.view()}));
  EXPECT_GE(engine->drain(1ms), 2);
  EXPECT_EQ(answers[3].get().error, ErrorKind::NotReady);
}

TEST_F(EngineTest, Statistics) {
  auto engine = makeEngine();
  load(*engine, decoder);
  OwnedWindows three({2, 3, 4}, random);
  submit(*engine, {.model = "sum", .windows = one.view()}).get();
  submit(*engine, {.model = "sum", .windows = three.view()}).get();
  engine->drain(1s);
  const ModelStatistics model = engine->statistics().models.at(0);
  EXPECT_EQ(model.windows, 4u);
  EXPECT_EQ(model.batches, 2u);
  EXPECT_EQ(model.success.count, 2u);
  EXPECT_EQ(model.failure.count, 0u);
  ASSERT_EQ(model.byWindows.size(), 2u);
  EXPECT_EQ(model.byWindows[0].windows, 1);
  EXPECT_EQ(model.byWindows[1].windows, 3);
  EXPECT_EQ(model.byWindows[1].computed.count, 1u);
  EXPECT_EQ(model.latencySeconds.count(), 2u);
  EXPECT_EQ(model.batchWindows.counts[0], 1u) << "up to 1";
  EXPECT_EQ(model.batchWindows.counts[2], 1u) << "3 or 4";
  EXPECT_EQ(engine->statistics().inFlight, 0);
}

TEST_F(EngineTest, BadConfigurations) {
  EXPECT_EQ(Engine::create({.device = "tpu"}).status().getCode(),
            StatusCode::InvalidArgument);
  EXPECT_EQ(Engine::create({.maxQueue = 0}).status().getCode(),
            StatusCode::InvalidArgument);
}

} // namespace
} // namespace betz::serve
