// A step allocates nothing and waits for the device once.
#include "runtime/hal/null/NullDevice.h"
#include "runtime/session/OpenDevice.h"
#include "runtime/session/Session.h"
#include "tests/AllocationCounter.h"
#include "tests/runtime/session/SegmentSumProgram.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

TEST(StepCost, CountingSeesAllocations) {
  int64_t before = heapAllocations;
  auto value = std::make_unique<std::vector<int>>(100);
  EXPECT_EQ(heapAllocations - before, 2);
  EXPECT_EQ(value->size(), 100u);
}

TEST(StepCost, CpuStepAllocatesNothing) {
  std::mt19937 random(std::random_device{}());
  const std::vector<float> table = randomFloats(kIds * kColumns, random);
  const std::vector<float> bias = randomFloats(kColumns, random);
  auto device = openDevice("cpu", {.threads = 3});
  ASSERT_TRUE(device.isOk());
  auto session = Session::create(makeSegmentSumProgram(table, bias), *device);
  ASSERT_TRUE(session.isOk()) << session.status().message();
  SegmentSumBatch small({3, 2}, table, bias, random);
  SegmentSumBatch large({9, 2, 0, 16, 4}, table, bias, random);
  for (SegmentSumBatch *batch : {&small, &large, &small}) {
    std::vector<InputBinding> inputs = batch->inputs();
    std::vector<OutputBinding> outputs = batch->outputs();
    int64_t before = heapAllocations;
    // From the first step on: nothing is made late.
    Status status = (*session)->run(inputs, outputs);
    int64_t after = heapAllocations;
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(after - before, 0);
    EXPECT_EQ(batch->out, batch->expected);
  }
}

TEST(StepCost, NullDeviceSeesOneGraphAndOneWait) {
  std::mt19937 random(std::random_device{}());
  const std::vector<float> table = randomFloats(kIds * kColumns, random);
  const std::vector<float> bias = randomFloats(kColumns, random);
  auto device = std::make_shared<NullDevice>();
  auto session = Session::create(makeSegmentSumProgram(table, bias), device);
  ASSERT_TRUE(session.isOk()) << session.status().message();
  EXPECT_EQ(device->counters().captures, 2);
  EXPECT_EQ(device->counters().launches, 0);
  for (std::vector<int> lengths : {std::vector<int>{3, 2}, {8, 8, 8, 8, 8}}) {
    SegmentSumBatch batch(lengths, table, bias, random);
    std::vector<InputBinding> inputs = batch.inputs();
    std::vector<OutputBinding> outputs = batch.outputs();
    NullCounters expected = device->counters();
    int64_t before = heapAllocations;
    Status status = (*session)->run(inputs, outputs);
    EXPECT_EQ(heapAllocations - before, 0);
    ASSERT_TRUE(status.isOk()) << status.message();
    expected.launches += 2;
    expected.copiesToDevice += 1; // extents and inputs together
    expected.copiesToHost += 1;
    expected.graphLaunches += 1;
    expected.synchronizations += 1;
    EXPECT_EQ(device->counters(), expected);
    EXPECT_EQ(batch.out, std::vector<float>(batch.out.size(), 0));
  }
}

TEST(StepCost, TwoStepsInFlightCostTwiceOne) {
  std::mt19937 random(std::random_device{}());
  const std::vector<float> table = randomFloats(kIds * kColumns, random);
  const std::vector<float> bias = randomFloats(kColumns, random);
  auto device = std::make_shared<NullDevice>();
  auto session = Session::create(makeSegmentSumProgram(table, bias), device, 2);
  ASSERT_TRUE(session.isOk()) << session.status().message();
  // Weights once; arena, exchange and staging for each step.
  EXPECT_EQ(device->counters().allocations, 1 + 2 * 3);
  EXPECT_EQ(device->counters().executables, 1);
  EXPECT_EQ(device->counters().captures, 2 * 2);
  SegmentSumBatch first({3, 2}, table, bias, random);
  SegmentSumBatch second({8, 8, 8, 8, 8}, table, bias, random);
  const std::vector<InputBinding> inputs[] = {first.inputs(), second.inputs()};
  const std::vector<OutputBinding> outputs[] = {first.outputs(),
                                                second.outputs()};
  NullCounters expected = device->counters();
  const int64_t before = heapAllocations;
  auto one = (*session)->submit(inputs[0], outputs[0]);
  auto two = (*session)->submit(inputs[1], outputs[1]);
  EXPECT_EQ(heapAllocations - before, 0);
  ASSERT_TRUE(one.isOk() && two.isOk());
  // All is given to the device before the first wait.
  expected.launches += 4;
  expected.copiesToDevice += 2;
  expected.copiesToHost += 2;
  expected.graphLaunches += 2;
  EXPECT_EQ(device->counters(), expected);
  for (StepTicket ticket : {*one, *two}) {
    EXPECT_TRUE((*session)->wait(ticket).isOk());
    ++expected.synchronizations;
    EXPECT_EQ(device->counters(), expected);
  }
  EXPECT_EQ(heapAllocations - before, 0);
  EXPECT_EQ(second.out, std::vector<float>(second.out.size(), 0));
}

TEST(StepCost, FarApartInputsAreCopiedAlone) {
  std::mt19937 random(std::random_device{}());
  const std::vector<float> table = randomFloats(kIds * kColumns, random);
  const std::vector<float> bias = randomFloats(kColumns, random);
  auto device = std::make_shared<NullDevice>();
  // At this capacity, three windows leave a megabyte unused in each input.
  auto session = Session::create(
      makeSegmentSumProgram(table, bias, {{300000, 300000}}), device);
  ASSERT_TRUE(session.isOk()) << session.status().message();
  SegmentSumBatch batch({3, 2, 1}, table, bias, random);
  NullCounters before = device->counters();
  ASSERT_TRUE((*session)->run(batch.inputs(), batch.outputs()).isOk());
  // The extents go with the first input.
  EXPECT_EQ(device->counters().copiesToDevice - before.copiesToDevice, 4);
  EXPECT_EQ(device->counters().copiesToHost - before.copiesToHost, 1);
}

} // namespace
} // namespace betz
