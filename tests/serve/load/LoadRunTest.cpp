#include "serve/load/LoadReport.h"
#include "tests/serve/engine/EngineFixture.h"

namespace betz::serve {
namespace {

using namespace std::chrono_literals;

TEST(LoadResult, Quantiles) {
  LoadResult result;
  EXPECT_EQ(result.quantile(.5), 0ns);
  for (int i = 1; i <= 1000; ++i)
    result.latencies.emplace_back(i);
  EXPECT_EQ(result.quantile(0), 1ns);
  EXPECT_EQ(result.quantile(.5), 500ns);
  EXPECT_EQ(result.quantile(.999), 999ns);
  EXPECT_EQ(result.quantile(.9999), 1000ns);
  EXPECT_EQ(result.quantile(1), 1000ns);
}

TEST(LoadRun, WindowsHaveEveryIdThatTheProgramTakes) {
  auto limits = windowLimits(*SumDecoder(1).program());
  ASSERT_TRUE(limits.isOk()) << limits.status().message();
  auto windows = randomWindows(*limits, 20, 60, 1);
  ASSERT_TRUE(windows.isOk()) << windows.status().message();
  EXPECT_EQ(std::ranges::max(windows->neuronId), SumDecoder::kNeurons - 1);
  EXPECT_EQ(std::ranges::max(windows->timeBin), SumDecoder::kBins - 1);
  EXPECT_EQ(std::ranges::max(windows->value), 3);
  EXPECT_EQ(std::ranges::min(windows->neuronId), 0);
  EXPECT_EQ(windows->rowSplits.back(), 1200);
}

TEST(LoadRun, AClosedLoopKeepsItsClientsBusy) {
  auto engine = makeEngine();
  load(*engine, SumDecoder(1, 0.002f), "sum", "", 2);
  auto result = runClosedLoop(
      *engine, {.model = "sum", .length = 300ms, .events = 10}, 4);
  ASSERT_TRUE(result.isOk()) << result.status().message();
  EXPECT_EQ(result->latencies.size(), result->sent);
  EXPECT_EQ(result->onTime, result->sent);
  EXPECT_GT(result->sent, 20u);
  // Four wait at a time, so that each takes about four windows' time.
  EXPECT_GT(result->quantile(.5), 6ms);
  const Json report = toJson(*result);
  EXPECT_EQ(report["answered"], result->sent);
  EXPECT_EQ(report["latency_ms"]["p50"],
            double(result->quantile(.5).count()) * 1e-6);
  EXPECT_TRUE(report["errors"].empty());
}

TEST(LoadRun, AnOpenLoopRefusesWhatIsTooMuch) {
  auto engine = makeEngine();
  load(*engine, SumDecoder(1, 0.004f), "sum", "", 2);
  auto result = runOpenLoop(
      *engine, {.model = "sum", .length = 1s, .events = 10, .deadline = 60ms},
      ArrivalPattern::Poisson, 1000);
  ASSERT_TRUE(result.isOk()) << result.status().message();
  const uint64_t late = result->errors[size_t(ErrorKind::Late)] +
                        result->errors[size_t(ErrorKind::Expired)];
  EXPECT_EQ(result->latencies.size() + late, result->sent);
  EXPECT_GT(late, result->sent / 2) << "it carries a quarter";
  EXPECT_GT(result->onTime, 50u);
}

TEST(LoadRun, AStallIsInTheLatenciesOfAllThatWereToBeSent) {
  auto engine = makeEngine();
  load(*engine, SumDecoder(1));
  std::mt19937 random(1);
  OwnedWindows one({1}, random);
  Gate gate(*engine, {.model = "sum", .windows = one.view()});
  std::thread opener([&] {
    std::this_thread::sleep_for(200ms);
    gate.open();
  });
  auto result =
      runOpenLoop(*engine, {.model = "sum", .length = 400ms, .events = 1},
                  ArrivalPattern::Poisson, 500);
  opener.join();
  ASSERT_TRUE(result.isOk());
  // Half of the requests were due while the engine stood still.
  EXPECT_GT(result->quantile(.9), 120ms);
  EXPECT_LT(result->quantile(.2), 60ms);
}

TEST(LoadRun, TheBareLoop) {
  auto device = openDevice("cpu", {.threads = 1});
  ASSERT_TRUE(device.isOk());
  const SumDecoder decoder(1, 0.001f);
  auto result = runBatchLoop(decoder.program(), *device,
                             {.length = 100ms, .events = 10}, 8);
  ASSERT_TRUE(result.isOk()) << result.status().message();
  EXPECT_GE(result->quantile(0), 8ms);
  EXPECT_EQ(result->sent % 8, 0u);
  EXPECT_EQ(toJson(*result)["mean_batch"], 8);
  EXPECT_FALSE(runBatchLoop(decoder.program(), *device, {}, 9).isOk());
}

} // namespace
} // namespace betz::serve
