// Threads pinned, memory locked, and no allocation a request.
#include "serve/engine/RealTime.h"
#include "serve/engine/StreamSession.h"
#include "tests/AllocationCounter.h"
#include "tests/serve/engine/EngineFixture.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sched.h>
#include <semaphore>
#include <sys/mman.h>

namespace betz::serve {
namespace {

using testing::HasSubstr;

TEST(RealTime, ARequestAllocatesNothing) {
  auto engine = makeEngine({.threads = 2});
  load(*engine, SumDecoder(1));
  std::mt19937 random(1);
  OwnedWindows one({9}, random), three({4, 0, 8}, random);
  std::counting_semaphore<> answered(0);
  int failures = 0;
  auto burst = [&](int requests) {
    for (int i = 0; i < requests; ++i)
      engine->submit({.model = "sum", .windows = (i % 3 ? one : three).view()},
                     [&answered, &failures](const Answer &answer) {
                       failures += std::holds_alternative<Error>(answer);
                       answered.release();
                     });
    for (int i = 0; i < requests; ++i)
      answered.acquire();
  };
  // Batches of every size have been seen then.
  for (int i = 0; i < 200; ++i)
    burst(1 + i % 5);
  const int64_t before = heapAllocations;
  for (int i = 0; i < 500; ++i)
    burst(1 + i % 5);
  EXPECT_EQ(heapAllocations - before, 0);
  EXPECT_EQ(failures, 0);
}

TEST(RealTime, AStreamAllocatesNothing) {
  auto engine = makeEngine();
  load(*engine, SumDecoder(1));
  auto stream = std::get<std::shared_ptr<StreamSession>>(
      engine->openStream({.model = "sum"}));
  std::counting_semaphore<> answered(0);
  int failures = 0;
  std::vector<StreamEvent> events(7);
  auto stride = [&](int32_t bin) {
    for (int32_t neuron = 0; neuron < 7; ++neuron)
      events[size_t(neuron)] = {neuron, bin + neuron % 4, 1};
    auto pushed = stream->push(events);
    auto decodes = stream->advance(bin + 4, [&](const StreamAnswer &answer) {
      failures += std::holds_alternative<Error>(answer.answer);
      answered.release();
    });
    failures += !pushed.isOk() + !decodes.isOk();
    answered.acquire();
  };
  for (int32_t bin = 0; bin < 400; bin += 4)
    stride(bin);
  const int64_t before = heapAllocations;
  for (int32_t bin = 400; bin < 4000; bin += 4)
    stride(bin);
  EXPECT_EQ(heapAllocations - before, 0);
  EXPECT_EQ(failures, 0);
}

TEST(RealTime, TheEnginesThreadIsPinned) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof(usable), &usable), 0);
  int core = 0;
  while (!CPU_ISSET(core, &usable))
    ++core;
  auto engine = makeEngine({.realTime = {.cores = {core}}});
  load(*engine, SumDecoder(1));
  std::mt19937 random(1);
  OwnedWindows one({1}, random);
  std::promise<cpu_set_t> seen;
  engine->submit({.model = "sum", .windows = one.view()}, [&](const Answer &) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof(set), &set);
    seen.set_value(set);
  });
  const cpu_set_t set = seen.get_future().get();
  EXPECT_EQ(CPU_COUNT(&set), 1);
  EXPECT_TRUE(CPU_ISSET(core, &set));
}

TEST(RealTime, CoresThatAreNotThere) {
  EXPECT_THAT(
      Engine::create({.realTime = {.cores = {5000}}}).status().message(),
      HasSubstr("no core 5000"));
  EXPECT_THAT(
      Engine::create({.realTime = {.cores = {1000}}}).status().message(),
      HasSubstr("cannot pin to cores 1000"));
}

TEST(RealTime, FifoOrTheReasonWhyNot) {
  auto engine = Engine::create({.threads = 1, .realTime = {.fifoPriority = 1}});
  if (!engine.isOk()) {
    EXPECT_THAT(engine.status().message(), HasSubstr("CAP_SYS_NICE"));
    GTEST_SKIP() << engine.status().message();
  }
  load(**engine, SumDecoder(1));
  std::mt19937 random(1);
  OwnedWindows one({1}, random);
  std::promise<int> seen;
  (*engine)->submit(
      {.model = "sum", .windows = one.view()},
      [&](const Answer &) { seen.set_value(sched_getscheduler(0)); });
  EXPECT_EQ(seen.get_future().get(), SCHED_FIFO);
}

TEST(RealTime, LocksMemoryOrSaysWhyNot) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer answers mlockall without calling it";
#endif
  const Status status = lockMemory();
  if (!status.isOk()) {
    EXPECT_THAT(status.message(), HasSubstr("CAP_IPC_LOCK"));
    GTEST_SKIP() << status.message();
  }
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word && word != "VmLck:")
    ;
  int64_t kilobytes = 0;
  file >> kilobytes;
  EXPECT_GT(kilobytes, 100);
  munlockall();
}

} // namespace
} // namespace betz::serve
