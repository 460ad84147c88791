// Models come, change and go while requests are on their way.
#include "serve/engine/StreamSession.h"
#include "tests/serve/engine/EngineFixture.h"

#include <atomic>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <thread>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class SwapTest : public testing::Test {
protected:
  std::mt19937 random{std::random_device{}()};
  SumDecoder first{1}, second{2};
  OwnedWindows one{{5}, random};
  std::vector<float> fromFirst = one.expected(first),
                     fromSecond = one.expected(second);

  std::vector<float> ask(Engine &engine, const std::string &version = "") {
    KeptAnswer answer =
        submit(engine,
               {.model = "sum", .version = version, .windows = one.view()})
            .get();
    EXPECT_FALSE(answer.error) << answer.message;
    return answer.behavior;
  }
};

TEST_F(SwapTest, TheNewestVersionAnswersUnlessNamed) {
  auto engine = makeEngine();
  load(*engine, first);
  load(*engine, second);
  EXPECT_EQ(engine->models().size(), 2u);
  EXPECT_EQ(ask(*engine), fromSecond);
  EXPECT_EQ(ask(*engine, "1"), fromFirst);
  EXPECT_EQ(ask(*engine, "2"), fromSecond);
  ASSERT_TRUE(engine->unload("sum", "2").isOk());
  EXPECT_EQ(ask(*engine), fromFirst);
  EXPECT_EQ(engine->unload("sum", "2").getCode(), StatusCode::NotFound);
  ASSERT_TRUE(engine->unload("sum").isOk());
  EXPECT_TRUE(engine->models().empty());
  EXPECT_FALSE(engine->isReady());
}

TEST_F(SwapTest, NoRequestFailsWhileAVersionIsReplaced) {
  auto engine = makeEngine();
  load(*engine, first, "sum", "7");
  std::atomic<bool> done = false;
  std::atomic<int> fromOld = 0, fromNew = 0, wrong = 0;
  std::thread client([&] {
    while (!done) {
      KeptAnswer answer =
          submit(*engine, {.model = "sum", .windows = one.view()}).get();
      ++(answer.behavior == fromFirst    ? fromOld
         : answer.behavior == fromSecond ? fromNew
                                         : wrong);
    }
  });
  for (int swap = 0; swap < 20; ++swap) {
    const SumDecoder &decoder = swap % 2 ? first : second;
    load(*engine, decoder, "sum", "7");
    EXPECT_EQ(ask(*engine), swap % 2 ? fromFirst : fromSecond)
        << "from load()'s return on it is the new one";
  }
  done = true;
  client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(fromOld, 0);
  EXPECT_GT(fromNew, 0);
  EXPECT_EQ(engine->models().size(), 1u);
}

TEST_F(SwapTest, UnloadAnswersWhatWaitsAndFreesTheProgram) {
  auto engine = makeEngine();
  load(*engine, first);
  std::weak_ptr<const Program> program = engine->model("sum")->program;
  EXPECT_FALSE(program.expired());
  Gate gate(*engine, {.model = "sum", .windows = one.view()});
  auto waits = submit(*engine, {.model = "sum", .windows = one.view()});
  std::thread unload([&] { EXPECT_TRUE(engine->unload("sum").isOk()); });
  while (engine->model("sum")->state != ModelState::Unloading)
    std::this_thread::yield();
  EXPECT_EQ(
      submit(*engine, {.model = "sum", .windows = one.view()}).get().error,
      ErrorKind::NotReady);
  gate.open();
  EXPECT_EQ(waits.get().behavior, fromFirst);
  unload.join();
  EXPECT_TRUE(program.expired());
  EXPECT_EQ(
      submit(*engine, {.model = "sum", .windows = one.view()}).get().error,
      ErrorKind::UnknownModel);
}

TEST_F(SwapTest, AProgramThatDoesNotLoadChangesNothing) {
  auto engine = makeEngine();
  load(*engine, first, "sum", "1");
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("damaged.{}.betz", getpid());
  std::ofstream(path) << "no program";
  Status replaced = engine->load({.path = path, .name = "sum", .version = "1"});
  EXPECT_THAT(replaced.message(), HasSubstr(path.string()));
  EXPECT_EQ(ask(*engine), fromFirst);
  EXPECT_FALSE(engine->load({.path = path, .name = "other"}).isOk());
  std::filesystem::remove(path);
  Result<ModelInfo> other = engine->model("other");
  ASSERT_TRUE(other.isOk());
  EXPECT_EQ(other->state, ModelState::Failed);
  EXPECT_THAT(other->reason, HasSubstr(path.string()));
  EXPECT_TRUE(engine->unload("other").isOk());
}

TEST_F(SwapTest, TwoModelsShareTheDevice) {
  auto engine = makeEngine();
  load(*engine, first, "a");
  load(*engine, second, "b");
  Gate gate(*engine, {.model = "a", .windows = one.view()});
  std::vector<std::future<KeptAnswer>> answers;
  for (int i = 0; i < 6; ++i)
    answers.push_back(
        submit(*engine, {.model = i % 2 ? "b" : "a", .windows = one.view()}));
  gate.open();
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(answers[size_t(i)].get().behavior,
              i % 2 ? fromSecond : fromFirst);
}

TEST_F(SwapTest, AStreamGoesOnWithTheNewVersion) {
  auto engine = makeEngine();
  load(*engine, first, "sum", "1");
  auto stream = std::get<std::shared_ptr<StreamSession>>(
      engine->openStream({.model = "sum"}));
  auto decodeAt = [&](int32_t bin) {
    std::promise<KeptAnswer> promise;
    EXPECT_TRUE(stream
                    ->advance(bin,
                              [&](const StreamAnswer &answer) {
                                promise.set_value(KeptAnswer(answer.answer));
                              })
                    .isOk());
    return promise.get_future().get();
  };
  EXPECT_EQ(decodeAt(4).behavior,
            std::vector(first.bias.begin(), first.bias.begin() + 3));
  load(*engine, second, "sum", "1");
  EXPECT_EQ(decodeAt(8).behavior,
            std::vector(second.bias.begin(), second.bias.begin() + 3));
  ASSERT_TRUE(engine->unload("sum").isOk());
  EXPECT_EQ(decodeAt(12).error, ErrorKind::UnknownModel);
}

} // namespace
} // namespace betz::serve
