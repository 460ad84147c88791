// What is particular to one driver.
#include "runtime/hal/cpu/CpuDevice.h"
#include "runtime/hal/cpu/CpuIsa.h"
#include "runtime/hal/null/NullDevice.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

TEST(CpuIsa, LimitIsTheBestLevelUsed) {
  using Levels = std::vector<std::string_view>;
  auto all = usableCpuIsas("");
  ASSERT_TRUE(all.isOk());
  EXPECT_EQ(all->back(), "scalar");
  EXPECT_EQ(*usableCpuIsas("scalar"), Levels{"scalar"});
  EXPECT_EQ(*usableCpuIsas("avx512"), *all);
  Levels rest = *all;
  std::erase(rest, "avx512");
  EXPECT_EQ(*usableCpuIsas("avx2"), rest);
  auto unknown = usableCpuIsas("sse9");
  ASSERT_FALSE(unknown.isOk());
  EXPECT_NE(unknown.status().message().find("BETZ_CPU_ISA is \"sse9\""),
            std::string::npos);
}

TEST(CpuDevice, ThreadsAreChecked) {
  EXPECT_FALSE(createCpuDevice({.threads = -1}).isOk());
  EXPECT_FALSE(createCpuDevice({.threads = 100000}).isOk());
  auto device = createCpuDevice({.threads = 3});
  ASSERT_TRUE(device.isOk());
  EXPECT_NE((*device)->name().find("3 threads"), std::string::npos);
  EXPECT_FALSE((*device)->supports("cuda:sm_90a", "sm_90a"));
  EXPECT_FALSE((*device)->supports("cpu", "sse9"));
}

TEST(CpuDevice, HugeAllocationsCostNothingUntilTouched) {
  auto device = createCpuDevice({.threads = 1});
  ASSERT_TRUE(device.isOk());
  auto buffer = (*device)->allocate(size_t(1) << 38, MemoryKind::Device);
  EXPECT_TRUE(buffer.isOk());
  EXPECT_EQ(
      (*device)->allocate(SIZE_MAX / 2, MemoryKind::Device).status().getCode(),
      StatusCode::ResourceExhausted);
}

TEST(NullDevice, CountsWhatItIsAsked) {
  NullDevice device;
  auto buffer = device.allocate(64, MemoryKind::Device);
  auto staging = device.allocate(64, MemoryKind::Staging);
  ASSERT_TRUE(buffer.isOk() && staging.isOk());
  EXPECT_EQ((*buffer)->hostPointer(), nullptr);
  EXPECT_NE((*staging)->hostPointer(), nullptr);
  auto code = device.loadExecutable({}, std::vector<std::string>{"a", "b"});
  ASSERT_TRUE(code.isOk());
  auto stream = device.createStream();
  ASSERT_TRUE(stream.isOk());
  const Buffer *memory = buffer->get();
  int64_t tasks = 9;
  auto work = [&] {
    EXPECT_TRUE((*stream)
                    ->copyToDevice({memory, 0}, (*staging)->hostPointer(), 64)
                    .isOk());
    for (uint32_t kernel : {0, 1})
      EXPECT_TRUE(
          (*stream)
              ->launch({code->get(), kernel, {}, &tasks, tasks, {memory, 0}})
              .isOk());
  };
  work();
  ASSERT_TRUE((*stream)->beginCapture().isOk());
  work();
  auto graph = (*stream)->endCapture();
  ASSERT_TRUE(graph.isOk());
  NullCounters expected = {.allocations = 2,
                           .allocatedBytes = 128,
                           .executables = 1,
                           .captures = 1,
                           .launches = 2,
                           .copiesToDevice = 1};
  EXPECT_EQ(device.counters(), expected);

  ASSERT_TRUE((*stream)->mark(3).isOk());
  for (int replay = 0; replay < 3; ++replay)
    ASSERT_TRUE((*stream)->launchGraph(**graph).isOk());
  ASSERT_TRUE((*stream)->mark(4).isOk());
  EXPECT_DOUBLE_EQ((*stream)->secondsBetween(3, 4).value(), 6e-6);
  int32_t value = 7;
  ASSERT_TRUE((*stream)->copyToHost(&value, {memory, 0}, 4).isOk());
  ASSERT_TRUE((*stream)->synchronize().isOk());
  EXPECT_EQ(value, 0);
  expected.launches = 8;
  expected.copiesToDevice = 4;
  expected.copiesToHost = 1;
  expected.graphLaunches = 3;
  expected.synchronizations = 1;
  expected.marks = 2;
  EXPECT_EQ(device.counters(), expected);
}

} // namespace
} // namespace betz
