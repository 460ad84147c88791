#include "runtime/session/Session.h"
#include "runtime/session/BatchedRun.h"
#include "runtime/session/OpenDevice.h"
#include "tests/runtime/session/SegmentSumProgram.h"

#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>

namespace betz {
namespace {

class SessionTest : public testing::Test {
protected:
  std::unique_ptr<Session> open(std::shared_ptr<const Program> program,
                                int threads = 2) {
    auto device = openDevice("cpu", {.threads = threads});
    EXPECT_TRUE(device.isOk()) << device.status().message();
    auto session = Session::create(std::move(program), *device);
    EXPECT_TRUE(session.isOk()) << session.status().message();
    return std::move(session).value();
  }

  SegmentSumBatch makeBatch(const std::vector<int> &lengths) {
    return {lengths, table, bias, random};
  }

  void expectRuns(Session &session, const std::vector<int> &lengths,
                  std::vector<int64_t> bucket) {
    SegmentSumBatch batch = makeBatch(lengths);
    Status status = session.run(batch.inputs(), batch.outputs());
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(batch.out, batch.expected);
    EXPECT_EQ(session.lastPlan().capacity, bucket);
  }

  std::mt19937 random{std::random_device{}()};
  const std::vector<float> table = randomFloats(kIds * kColumns, random);
  const std::vector<float> bias = randomFloats(kColumns, random);
};

/// The sample with its bias as a state.
std::shared_ptr<const Program> withState(const Program &sample) {
  auto program = std::make_shared<Program>(sample);
  program->states = {{"bias", DType::F32, {Dim::constant(kColumns)}}};
  for (LaunchPlan &plan : program->targets.front().plans)
    plan.launches[1].operands[1] = {BufferKind::State, 0, 0};
  return program;
}

TEST_F(SessionTest, KeepsStatesFromStepToStep) {
  const std::vector<float> other(kColumns, 1e6f);
  auto program = withState(*makeSegmentSumProgram(table, other));
  auto device = openDevice("cpu", {.threads = 2});
  ASSERT_TRUE(device.isOk()) << device.status().message();
  auto session = Session::create(program, *device, /*stepsInFlight=*/2);
  ASSERT_TRUE(session.isOk()) << session.status().message();
  SegmentSumBatch batch = makeBatch({3, 2});
  Status early = (*session)->run(batch.inputs(), batch.outputs());
  EXPECT_EQ(early.message(), "state \"bias\" has not been written; write it "
                             "before the first step");

  std::vector<float> values = bias;
  auto bytes = std::as_writable_bytes(std::span(values));
  EXPECT_EQ((*session)->writeState("gain", bytes).message(),
            "the program has no state \"gain\"");
  EXPECT_EQ((*session)->writeState("bias", bytes.first(4)).message(),
            "state \"bias\" has 12 bytes, not 4");
  Status written = (*session)->writeState("bias", bytes);
  ASSERT_TRUE(written.isOk()) << written.message();
  std::ranges::fill(values, 0.0f);
  for (const std::vector<int> &lengths :
       {std::vector<int>{3, 2}, {1, 1, 1}, {3, 2}})
    expectRuns(**session, lengths,
               lengths.size() == 2 ? std::vector<int64_t>{2, 8}
                                   : std::vector<int64_t>{5, 40});
  ASSERT_TRUE((*session)->readState("bias", bytes).isOk());
  EXPECT_EQ(values, bias);
}

TEST_F(SessionTest, RunsInTheSmallestBucket) {
  for (int threads : {1, 3}) {
    auto session = open(makeSegmentSumProgram(table, bias), threads);
    expectRuns(*session, {3, 2}, {2, 8});
    expectRuns(*session, {3, 5}, {2, 8});             // exactly at capacity
    expectRuns(*session, {4, 5}, {5, 40});            // one event too many
    expectRuns(*session, {1, 1, 1}, {5, 40});         // one window too many
    expectRuns(*session, {16, 0, 8, 15, 1}, {5, 40}); // exactly at capacity
    expectRuns(*session, {0}, {2, 8});                // no event
    expectRuns(*session, {0, 0, 0}, {5, 40});
    expectRuns(*session, {}, {2, 8}); // no window
    expectRuns(*session, {7}, {2, 8});
  }
}

TEST_F(SessionTest, FileAndMemoryGiveTheSame) {
  auto bytes = std::make_shared<const std::vector<std::byte>>(
      serializeProgram(*makeSegmentSumProgram(table, bias)));
  auto program = parseProgram(bytes, "memory");
  ASSERT_TRUE(program.isOk()) << program.status().message();
  expectRuns(*open(*program), {4, 3}, {2, 8});
}

TEST_F(SessionTest, InputsWithDefaultsMayBeLeftOut) {
  auto session = open(makeSegmentSumProgram(table, bias));
  SegmentSumBatch batch = makeBatch({2, 4});
  // An earlier step must not show through the default.
  ASSERT_TRUE(session->run(batch.inputs(), batch.outputs()).isOk());
  for (size_t b = 0; b < 2; ++b)
    for (int32_t e = batch.rowSplits[b]; e < batch.rowSplits[b + 1]; ++e)
      batch.time[size_t(e)] -= batch.windowStart[b];
  std::vector<InputBinding> inputs = batch.inputs();
  inputs.pop_back();
  batch.out.assign(batch.out.size(), -1);
  Status status = session->run(inputs, batch.outputs());
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(batch.out, batch.expected);
}

TEST_F(SessionTest, OutputsMayBeLeftOut) {
  auto session = open(makeSegmentSumProgram(table, bias));
  SegmentSumBatch batch = makeBatch({2});
  EXPECT_TRUE(session->run(batch.inputs(), {}).isOk());
}

TEST_F(SessionTest, LaunchesRunAlone) {
  auto session = open(makeSegmentSumProgram(table, bias));
  SegmentSumBatch batch = makeBatch({2, 3, 4});
  ASSERT_TRUE(session->run(batch.inputs(), batch.outputs()).isOk());
  for (size_t i = 0; i < session->lastPlan().launches.size(); ++i)
    EXPECT_TRUE(session->runLaunch(i).isOk());
  EXPECT_EQ(session->lastExtents()[1], 9);
}

// On a GPU, and on the driver's stand-in that ctest's session_test_cuda brings.
TEST_F(SessionTest, CudaGivesWhatTheCpuGives) {
  auto device = openDevice("cuda", {});
  if (device.status().getCode() == StatusCode::Unavailable)
    GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(device.isOk()) << device.status().message();
  auto session =
      Session::create(makeCudaSegmentSumProgram(table, bias), *device);
  ASSERT_TRUE(session.isOk()) << session.status().message();
  expectRuns(**session, {3, 2}, {2, 8});
  expectRuns(**session, {16, 0, 8, 15, 1}, {5, 40});
  expectRuns(**session, {0}, {2, 8});
  expectRuns(**session, {}, {2, 8});
  expectRuns(**session, {1, 1, 1}, {5, 40});
  for (size_t i = 0; i < (*session)->lastPlan().launches.size(); ++i)
    EXPECT_TRUE((*session)->runLaunch(i).isOk());
  auto onCpu = openDevice("cpu", {.threads = 1});
  ASSERT_TRUE(onCpu.isOk());
  Status status =
      Session::create(makeCudaSegmentSumProgram(table, bias), *onCpu).status();
  EXPECT_NE(status.message().find("it has cuda:sm_80 compute_80"),
            std::string::npos)
      << status.message();
}

/// Random steps, `room` of them in flight, waited for in random order. Inputs
/// are overwritten as soon as they are submitted.
void expectStepsInFlight(Session &session, size_t room,
                         const std::function<SegmentSumBatch()> &makeBatch,
                         std::mt19937 &random) {
  ASSERT_EQ(session.stepsInFlight(), room);
  std::vector<std::pair<StepTicket, std::unique_ptr<SegmentSumBatch>>> flying;
  for (int step = 0; step < 100; ++step) {
    if (flying.size() == room || (step % 7 == 0 && !flying.empty())) {
      const size_t which = random() % flying.size();
      auto [ticket, batch] = std::move(flying[which]);
      flying.erase(flying.begin() + ptrdiff_t(which));
      Status status = session.wait(ticket);
      ASSERT_TRUE(status.isOk()) << status.message();
      ASSERT_EQ(batch->out, batch->expected) << "step " << step;
      EXPECT_EQ(session.wait(ticket).getCode(), StatusCode::InvalidArgument);
    }
    auto batch = std::make_unique<SegmentSumBatch>(makeBatch());
    auto ticket = session.submit(batch->inputs(), batch->outputs());
    ASSERT_TRUE(ticket.isOk()) << ticket.status().message();
    for (auto *values : {&batch->id, &batch->time, &batch->rowSplits})
      values->assign(values->size(), -1);
    flying.emplace_back(*ticket, std::move(batch));
  }
  // What is left is waited for by the session's end.
}

TEST_F(SessionTest, StepsInFlightGiveWhatStepsAloneGive) {
  auto makeRandom = [&] {
    std::vector<int> lengths(random() % 6);
    for (int &length : lengths)
      length = int(random() % 9);
    return makeBatch(lengths);
  };
  for (size_t room : {1, 2, 3}) {
    auto device = openDevice("cpu", {.threads = 2});
    ASSERT_TRUE(device.isOk());
    auto session =
        Session::create(makeSegmentSumProgram(table, bias), *device, room);
    ASSERT_TRUE(session.isOk()) << session.status().message();
    expectStepsInFlight(**session, room, makeRandom, random);
  }
}

TEST_F(SessionTest, CudaStepsInFlightGiveWhatStepsAloneGive) {
  auto device = openDevice("cuda", {});
  if (device.status().getCode() == StatusCode::Unavailable)
    GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(device.isOk()) << device.status().message();
  auto makeRandom = [&] {
    std::vector<int> lengths(1 + random() % 5);
    for (int &length : lengths)
      length = int(random() % 9);
    return makeBatch(lengths);
  };
  for (size_t room : {1, 2, 3}) {
    auto session =
        Session::create(makeCudaSegmentSumProgram(table, bias), *device, room);
    ASSERT_TRUE(session.isOk()) << session.status().message();
    expectStepsInFlight(**session, room, makeRandom, random);
  }
}

class CudaFaults : public SessionTest {
protected:
  void SetUp() override {
    auto opened = openDevice("cuda", {});
    if (!opened.isOk())
      GTEST_SKIP() << opened.status().message();
    device = *opened;
    if (device->name().find("Stand-in") == std::string::npos)
      GTEST_SKIP() << "for ctest's session_test_cuda, which brings a driver "
                      "that fails on request";
  }
  void TearDown() override { ::unsetenv("BETZ_STAND_IN_CUDA"); }
  static void fail(const char *calls) {
    ::setenv("BETZ_STAND_IN_CUDA", calls, 1);
  }

  std::shared_ptr<Device> device;
};

TEST_F(CudaFaults, OutOfMemoryAtLoadSaysWhatIsAskedAndFree) {
  fail("cuMemAlloc=2");
  Status status =
      Session::create(makeCudaSegmentSumProgram(table, bias), device).status();
  EXPECT_EQ(status.getCode(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(),
            "cuda:0 (Stand-in, sm_90): cannot allocate 192 bytes: "
            "CUDA_ERROR_OUT_OF_MEMORY (as the stand-in says); 1000 of its 4000 "
            "bytes are free");
}

TEST_F(CudaFaults, AFailedLaunchLeavesTheStepInFlight) {
  auto session =
      Session::create(makeCudaSegmentSumProgram(table, bias), device, 2);
  ASSERT_TRUE(session.isOk()) << session.status().message();
  SegmentSumBatch first = makeBatch({3, 2}), second = makeBatch({4});
  auto ticket = (*session)->submit(first.inputs(), first.outputs());
  ASSERT_TRUE(ticket.isOk());
  fail("cuGraphLaunch=2");
  EXPECT_EQ((*session)->run(second.inputs(), second.outputs()).getCode(),
            StatusCode::ResourceExhausted);
  fail("");
  EXPECT_TRUE((*session)->run(second.inputs(), second.outputs()).isOk());
  EXPECT_TRUE((*session)->wait(*ticket).isOk());
  EXPECT_EQ(first.out, first.expected);
  EXPECT_EQ(second.out, second.expected);
}

TEST_F(CudaFaults, ADeviceLostInMidRunFailsEveryLaterStepAlike) {
  auto session =
      Session::create(makeCudaSegmentSumProgram(table, bias), device, 2);
  ASSERT_TRUE(session.isOk()) << session.status().message();
  SegmentSumBatch first = makeBatch({3, 2}), second = makeBatch({4});
  auto one = (*session)->submit(first.inputs(), first.outputs());
  auto two = (*session)->submit(second.inputs(), second.outputs());
  ASSERT_TRUE(one.isOk() && two.isOk());
  fail("cuStreamSynchronize=700");
  const Status lost = (*session)->wait(*one);
  EXPECT_NE(lost.message().find("this process can use the device no more"),
            std::string::npos)
      << lost.message();
  fail("");
  EXPECT_EQ((*session)->wait(*two).message(), lost.message());
  EXPECT_EQ((*session)->run(first.inputs(), first.outputs()).message(),
            lost.message());
}

// On a GPU, and on the stand-in.
TEST_F(SessionTest, CudaCodeThatTheDriverRefusesIsPassedOver) {
  auto device = openDevice("cuda", {});
  if (device.status().getCode() == StatusCode::Unavailable)
    GTEST_SKIP() << device.status().message();
  auto program =
      std::make_shared<Program>(*makeCudaSegmentSumProgram(table, bias));
  const std::vector<std::byte> junk = packPtx({"not PTX at all"});
  auto &executables = program->targets.front().executables;
  executables.insert(executables.begin(), {"compute_52", {"junk", junk}});
  testing::internal::CaptureStderr();
  auto session = Session::create(program, *device);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(session.isOk()) << session.status().message();
  EXPECT_EQ((*session)->isa(), "compute_80");
  EXPECT_NE(said.find("cannot load the kernels"), said.npos) << said;
  EXPECT_NE(said.find("; taking its compute_80 code instead"), said.npos)
      << said;
  expectRuns(**session, {3, 2}, {2, 8});

  executables.pop_back();
  Status refused = Session::create(program, *device).status();
  EXPECT_EQ(refused.getCode(), StatusCode::DataLoss);
  EXPECT_NE(refused.message().find("cannot load the kernels"), said.npos)
      << refused.message();
}

TEST_F(SessionTest, AStepThatFailsLeavesTheOthers) {
  auto device = openDevice("cpu", {.threads = 1});
  ASSERT_TRUE(device.isOk());
  auto opened = Session::create(makeSegmentSumProgram(table, bias), *device, 2);
  ASSERT_TRUE(opened.isOk());
  Session &session = **opened;
  SegmentSumBatch first = makeBatch({3, 2}), second = makeBatch({4});
  SegmentSumBatch wrong = makeBatch({2}), third = makeBatch({1});
  wrong.id[0] = kIds;
  auto ticket = session.submit(first.inputs(), first.outputs());
  ASSERT_TRUE(ticket.isOk());
  EXPECT_EQ(session.submit(wrong.inputs(), wrong.outputs()).status().getCode(),
            StatusCode::InvalidArgument);
  auto other = session.submit(second.inputs(), second.outputs());
  ASSERT_TRUE(other.isOk()) << other.status().message();
  const Status full = session.submit(third.inputs(), third.outputs()).status();
  EXPECT_EQ(full.getCode(), StatusCode::Unavailable);
  EXPECT_EQ(full.message(), "2 of 2 steps are in flight; wait for one before "
                            "another is submitted");
  EXPECT_EQ(session.run(third.inputs(), third.outputs()).message(),
            full.message());
  EXPECT_TRUE(session.wait(*other).isOk());
  EXPECT_TRUE(session.run(third.inputs(), third.outputs()).isOk());
  EXPECT_TRUE(session.wait(*ticket).isOk());
  EXPECT_EQ(first.out, first.expected);
  EXPECT_EQ(second.out, second.expected);
  EXPECT_EQ(third.out, third.expected);
  EXPECT_EQ(session.wait(*ticket).message(),
            "the step to wait for is not in flight: wait once for each submit");
}

TEST_F(SessionTest, AnOutputBoundTwiceIsAnError) {
  auto session = open(makeSegmentSumProgram(table, bias));
  SegmentSumBatch batch = makeBatch({2});
  std::vector<OutputBinding> outputs = batch.outputs();
  outputs.push_back(outputs.front());
  EXPECT_EQ(session->run(batch.inputs(), outputs).message(),
            "output out is bound twice");
}

TEST_F(SessionTest, DevicesAreCalledByName) {
  for (const char *name : {"tpu", "", "cuda:", "cuda:x", "cuda:-1", "cuda:1x",
                           "cuda0", "CUDA", "cuda:99999999999"}) {
    Status status = openDevice(name, {}).status();
    EXPECT_EQ(
        status.message(),
        fmt::format("no device \"{}\"; use cpu, cuda, cuda:N or null", name));
  }
  EXPECT_TRUE(openDevice("null", {}).isOk());
  for (const char *name : {"cuda", "cuda:0", "cuda:97"}) {
    auto device = openDevice(name, {});
    if (!device.isOk())
      EXPECT_EQ(device.status().getCode(), StatusCode::Unavailable) << name;
  }
  EXPECT_FALSE(openDevice("cuda:97", {}).isOk());
}

TEST_F(SessionTest, CodeForAnotherMachineIsAClearError) {
  auto device = openDevice("cpu", {.threads = 2});
  ASSERT_TRUE(device.isOk());
  auto other = Session::create(
      makeSegmentSumProgram(table, bias, {{1, 1}}, "avx1024"), *device);
  ASSERT_FALSE(other.isOk());
  std::string error = other.status().message();
  EXPECT_NE(error.find("no code for cpu ("), std::string::npos) << error;
  EXPECT_NE(error.find("it has cpu avx1024"), std::string::npos) << error;
  auto none = Session::create(std::make_shared<Program>(), *device);
  EXPECT_NE(none.status().message().find("it has none"), std::string::npos);
}

TEST_F(SessionTest, StepBeyondEveryBucketNamesTheLargest) {
  auto session = open(makeSegmentSumProgram(table, bias));
  SegmentSumBatch batch = makeBatch({1, 1, 1, 1, 1, 1});
  Status status = session->run(batch.inputs(), batch.outputs());
  EXPECT_EQ(status.message(),
            "a step of batch 6, events 6 fits no bucket of the program; the "
            "largest is batch 5, events 40");
}

TEST_F(SessionTest, BatchesOfAnySizeAreCut) {
  auto session = open(makeSegmentSumProgram(table, bias));
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<int> lengths(random() % 40);
    for (int &length : lengths)
      length = int(random() % (kMaxRows + 1));
    SegmentSumBatch batch = makeBatch(lengths);
    Status status = runBatched(*session, batch.inputs(), batch.outputs());
    ASSERT_TRUE(status.isOk()) << status.message();
    ASSERT_EQ(batch.out, batch.expected);
  }
}

TEST_F(SessionTest, CuttingKeepsWindowNumbersInErrors) {
  auto session = open(makeSegmentSumProgram(table, bias));
  SegmentSumBatch batch = makeBatch(std::vector<int>(30, 4));
  batch.id[4 * 27 + 1] = kIds;
  EXPECT_EQ(runBatched(*session, batch.inputs(), batch.outputs()).message(),
            "id[109] is 7; it must be in [0, 7) (window 27)");
  EXPECT_EQ(batch.out, std::vector<float>(90, -99));
}

TEST_F(SessionTest, WindowThatFitsNoBucketFails) {
  auto session = open(makeSegmentSumProgram(table, bias, {{4, 10}}));
  SegmentSumBatch batch = makeBatch({3, 12, 2, 2, 2, 2});
  std::string error =
      runBatched(*session, batch.inputs(), batch.outputs()).message();
  EXPECT_NE(error.find("windows 1 to 1: a step of batch 1, events 12"),
            std::string::npos)
      << error;
}

} // namespace
} // namespace betz
