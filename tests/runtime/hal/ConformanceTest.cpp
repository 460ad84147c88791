// What every driver must do. A driver is a row in kDrivers; a test that it
// cannot pass is excluded there with the reason.
#include "runtime/base/File.h"
#include "runtime/hal/cpu/CpuDevice.h"
#include "runtime/hal/cuda/CudaDevice.h"
#include "runtime/hal/null/NullDevice.h"
#include "tests/runtime/hal/CudaCode.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <ostream>
#include <random>
#include <thread>

namespace betz {
namespace {

struct Driver {
  std::string name;
  Result<std::unique_ptr<Device>> (*create)();
  /// TestKernels for this device, and what they are compiled for.
  std::vector<std::byte> (*loadKernels)();
  std::string target, isa;
  /// Test name to reason.
  std::map<std::string, std::string> excluded;
};

void PrintTo(const Driver &driver, std::ostream *out) { *out << driver.name; }

template <int threads> Result<std::unique_ptr<Device>> createCpu() {
  return createCpuDevice({.threads = threads});
}

std::vector<std::byte> loadCpuKernels() {
  auto file = MappedFile::open(BETZ_TEST_KERNELS);
  EXPECT_TRUE(file.isOk()) << file.status().message();
  return {file->bytes().begin(), file->bytes().end()};
}

const Driver kDrivers[] = {
    {"cpu", createCpu<1>, loadCpuKernels, "cpu", "scalar", {}},
    {"cpu_threads", createCpu<5>, loadCpuKernels, "cpu", "scalar", {}},
    // Skipped, with what createCudaDevice says, where there is no GPU.
    {"cuda",
     [] { return createCudaDevice(0); },
     [] { return packPtx({kTestKernelsPtx}); },
     "cuda:sm_80",
     "compute_80",
     {}},
    {"null",
     []() -> Result<std::unique_ptr<Device>> {
       return std::unique_ptr<Device>(new NullDevice);
     },
     loadCpuKernels,
     "cpu",
     "scalar",
     {{"AllocationIsZeroedAndAligned", "device memory holds nothing"},
      {"CopiesRoundTrip", "device memory holds nothing"},
      {"WrappedMemoryIsReadByKernels", "executes nothing"},
      {"EveryTaskRunsOnce", "executes nothing"},
      {"ReplayGivesWhatEagerGives", "executes nothing"},
      {"ReplayReadsNewExtents", "executes nothing"},
      {"ExecutablesAreIndependent", "executes nothing"},
      {"ThreadsShareADevice", "serves one thread only"},
      {"BadCodeIsAnError", "takes any code, since it runs none"}}},
};

class HalConformance : public testing::TestWithParam<Driver> {
protected:
  void SetUp() override {
    std::string test =
        testing::UnitTest::GetInstance()->current_test_info()->name();
    test = test.substr(0, test.find('/'));
    auto excluded = GetParam().excluded.find(test);
    if (excluded != GetParam().excluded.end())
      GTEST_SKIP() << GetParam().name << ": " << excluded->second;
    auto created = GetParam().create();
    if (created.status().getCode() == StatusCode::Unavailable)
      GTEST_SKIP() << GetParam().name << ": " << created.status().message();
    device = take(std::move(created));
    stream = take(device->createStream());
    code = GetParam().loadKernels();
    executable = take(device->loadExecutable(code, kernels));
    extents = allocate(2 * sizeof(int64_t));
  }

  template <typename T> static T take(Result<T> result) {
    EXPECT_TRUE(result.isOk()) << result.status().message();
    return std::move(result).value();
  }
  static void check(const Status &status) {
    EXPECT_TRUE(status.isOk()) << status.message();
  }

  std::unique_ptr<Buffer> allocate(size_t bytes) {
    return take(device->allocate(bytes, MemoryKind::Device));
  }
  template <typename T>
  void upload(const Buffer &buffer, const std::vector<T> &values) {
    check(stream->copyToDevice({&buffer, 0}, values.data(),
                               values.size() * sizeof(T)));
    check(stream->synchronize());
  }
  std::vector<int32_t> download(const Buffer &buffer) {
    std::vector<int32_t> values(buffer.size() / sizeof(int32_t));
    check(stream->copyToHost(values.data(), {&buffer, 0}, buffer.size()));
    check(stream->synchronize());
    return values;
  }

  /// y = x * extents[1] over extents[0] elements.
  void launchScale(const Buffer &x, const Buffer &y, const int64_t *tasks,
                   int64_t maxTasks) {
    BufferSlice operands[] = {{&x, 0}, {&y, 0}};
    check(stream->launch(
        {executable.get(), 1, operands, tasks, maxTasks, {extents.get(), 0}}));
  }

  std::mt19937 random{std::random_device{}()};
  const std::vector<std::string> kernels = {"count_task", "scale"};
  std::unique_ptr<Device> device;
  std::vector<std::byte> code;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Buffer> extents;
};

std::vector<int32_t> randomValues(size_t count, std::mt19937 &random) {
  std::vector<int32_t> values(count);
  for (int32_t &value : values)
    value = int32_t(random() % 20001) - 10000;
  return values;
}

TEST_P(HalConformance, HasANameAndKnowsItsCode) {
  EXPECT_FALSE(device->name().empty());
  EXPECT_TRUE(device->supports(GetParam().target, GetParam().isa));
}

TEST_P(HalConformance, AllocationIsZeroedAndAligned) {
  for (size_t bytes : {1, 64, 4097, 1 << 20}) {
    for (MemoryKind kind : {MemoryKind::Device, MemoryKind::Staging}) {
      auto buffer = take(device->allocate(bytes, kind));
      EXPECT_EQ(buffer->size(), bytes);
      if (kind == MemoryKind::Staging)
        ASSERT_NE(buffer->hostPointer(), nullptr);
      EXPECT_EQ(uintptr_t(buffer->hostPointer()) % 64, 0u);
    }
    auto buffer = allocate(bytes * sizeof(int32_t));
    EXPECT_EQ(download(*buffer), std::vector<int32_t>(bytes));
  }
}

TEST_P(HalConformance, EmptyBuffersAreLegal) {
  auto empty = allocate(0);
  EXPECT_EQ(empty->size(), 0u);
  check(stream->copyToDevice({empty.get(), 0}, nullptr, 0));
  check(stream->copyToHost(nullptr, {empty.get(), 0}, 0));
  auto wrapped = take(device->wrapHost({}));
  EXPECT_EQ(wrapped->size(), 0u);
}

TEST_P(HalConformance, CopiesRoundTrip) {
  std::vector<int32_t> values = randomValues(1003, random);
  auto buffer = allocate(values.size() * sizeof(int32_t));
  upload(*buffer, values);
  EXPECT_EQ(download(*buffer), values);
  int32_t one = 0;
  check(stream->copyToHost(&one, {buffer.get(), 700 * 4}, sizeof(one)));
  check(stream->synchronize());
  EXPECT_EQ(one, values[700]);
}

TEST_P(HalConformance, CopiesOutsideABufferAreErrors) {
  auto buffer = allocate(16);
  char bytes[32] = {};
  EXPECT_FALSE(stream->copyToDevice({buffer.get(), 0}, bytes, 17).isOk());
  EXPECT_FALSE(stream->copyToDevice({buffer.get(), 17}, bytes, 0).isOk());
  EXPECT_FALSE(stream->copyToHost(bytes, {buffer.get(), -1}, 1).isOk());
  EXPECT_FALSE(stream->copyToHost(bytes, {nullptr, 0}, 1).isOk());
}

TEST_P(HalConformance, WrappedMemoryIsReadByKernels) {
  std::vector<int32_t> x = randomValues(37, random);
  auto wrapped = take(device->wrapHost(std::as_bytes(std::span(x))));
  EXPECT_EQ(wrapped->size(), x.size() * sizeof(int32_t));
  auto y = allocate(wrapped->size());
  upload<int64_t>(*extents, {37, 3});
  int64_t tasks = 10;
  launchScale(*wrapped, *y, &tasks, tasks);
  std::vector<int32_t> got = download(*y);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(got[i], 3 * x[i]) << i;
}

TEST_P(HalConformance, EveryTaskRunsOnce) {
  for (int64_t tasks : {0, 1, 2, 7, 1000, 100003}) {
    auto counts = allocate(100003 * sizeof(int32_t));
    BufferSlice operands[] = {{counts.get(), 0}};
    for (int repeat = 0; repeat < 3; ++repeat)
      check(stream->launch(
          {executable.get(), 0, operands, &tasks, tasks, {extents.get(), 0}}));
    std::vector<int32_t> got = download(*counts);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], int64_t(i) < tasks ? 3 : 0) << i << " of " << tasks;
  }
}

TEST_P(HalConformance, ReplayGivesWhatEagerGives) {
  const size_t size = 1 + random() % 5000;
  std::vector<int32_t> x = randomValues(size, random);
  auto input = allocate(size * sizeof(int32_t));
  auto middle = allocate(size * sizeof(int32_t));
  auto output = allocate(size * sizeof(int32_t));
  upload<int64_t>(*extents, {int64_t(size), 3});
  int64_t tasks = (int64_t(size) + 3) / 4;
  auto submit = [&] {
    check(stream->copyToDevice({input.get(), 0}, x.data(), size * 4));
    launchScale(*input, *middle, &tasks, tasks);
    launchScale(*middle, *output, &tasks, tasks);
  };
  submit();
  std::vector<int32_t> eager = download(*output);

  auto renew = [&] {
    std::ranges::copy(randomValues(size, random), x.begin());
  };
  renew();
  check(stream->beginCapture());
  submit();
  std::unique_ptr<CommandGraph> graph = take(stream->endCapture());
  EXPECT_EQ(download(*output), eager) << "recording must not run";
  for (int replay = 0; replay < 2; ++replay) {
    check(stream->launchGraph(*graph));
    std::vector<int32_t> got = download(*output);
    for (size_t i = 0; i < size; ++i)
      ASSERT_EQ(got[i], 9 * x[i]) << i;
    renew(); // The copy reads it at the next replay.
  }
}

TEST_P(HalConformance, ReplayReadsNewExtents) {
  const int64_t most = 401;
  std::vector<int32_t> x = randomValues(most, random);
  auto input = allocate(most * sizeof(int32_t));
  auto output = allocate(most * sizeof(int32_t));
  upload(*input, x);
  int64_t tasks = (most + 3) / 4;
  check(stream->beginCapture());
  launchScale(*input, *output, &tasks, tasks);
  std::unique_ptr<CommandGraph> graph = take(stream->endCapture());
  for (int64_t size : {401, 0, 17, 400}) {
    upload(*output, std::vector<int32_t>(most, -1));
    upload<int64_t>(*extents, {size, size + 2});
    tasks = (size + 3) / 4;
    check(stream->launchGraph(*graph));
    std::vector<int32_t> got = download(*output);
    for (int64_t i = 0; i < most; ++i)
      ASSERT_EQ(got[i], i < size ? x[i] * (size + 2) : -1) << i;
  }
}

TEST_P(HalConformance, EmptyGraphRuns) {
  check(stream->beginCapture());
  std::unique_ptr<CommandGraph> graph = take(stream->endCapture());
  check(stream->launchGraph(*graph));
  check(stream->synchronize());
}

TEST_P(HalConformance, MisuseIsAnError) {
  EXPECT_FALSE(stream->endCapture().isOk());
  check(stream->beginCapture());
  EXPECT_FALSE(stream->beginCapture().isOk());
  EXPECT_FALSE(stream->synchronize().isOk());
  std::unique_ptr<CommandGraph> graph = take(stream->endCapture());
  int64_t tasks = 1;
  EXPECT_FALSE(
      stream->launch({executable.get(), 2, {}, &tasks, 1, {extents.get(), 0}})
          .isOk());
  std::vector<BufferSlice> many(kMaxOperands + 1, {extents.get(), 0});
  EXPECT_FALSE(
      stream->launch({executable.get(), 0, many, &tasks, 1, {extents.get(), 0}})
          .isOk());
}

TEST_P(HalConformance, MarksMeasureWorkInOrder) {
  const int64_t size = 100003;
  auto x = allocate(size * sizeof(int32_t)), y = allocate(x->size());
  upload<int64_t>(*extents, {size, 3});
  int64_t tasks = (size + 3) / 4;
  EXPECT_FALSE(stream->secondsBetween(0, 1).isOk()) << "no marks yet";
  for (int repeat = 0; repeat < 2; ++repeat) {
    check(stream->mark(0));
    launchScale(*x, *y, &tasks, tasks);
    check(stream->mark(kMaxMarks - 1));
    launchScale(*x, *y, &tasks, tasks);
    check(stream->mark(7));
    check(stream->synchronize());
    const double first = take(stream->secondsBetween(0, kMaxMarks - 1));
    const double second = take(stream->secondsBetween(kMaxMarks - 1, 7));
    const double both = take(stream->secondsBetween(0, 7));
    EXPECT_GT(first, 0);
    EXPECT_GT(second, 0);
    EXPECT_LT(both, 10);
    // A GPU's clock has steps of half a microsecond.
    EXPECT_NEAR(both, first + second, 5e-6);
  }
  EXPECT_FALSE(stream->secondsBetween(0, 1).isOk());
  EXPECT_FALSE(stream->secondsBetween(kMaxMarks, 0).isOk());
  EXPECT_FALSE(stream->mark(kMaxMarks).isOk());
  check(stream->beginCapture());
  EXPECT_FALSE(stream->mark(0).isOk()) << "while recording";
  take(stream->endCapture());
}

TEST_P(HalConformance, ExecutablesAreIndependent) {
  auto second = take(device->loadExecutable(
      code, std::vector<std::string>{"scale", "count_task"}));
  executable.reset();
  auto third = take(device->loadExecutable(code, kernels));
  auto counts = allocate(5 * sizeof(int32_t));
  BufferSlice operands[] = {{counts.get(), 0}};
  int64_t tasks = 5;
  check(stream->launch(
      {second.get(), 1, operands, &tasks, tasks, {extents.get(), 0}}));
  check(stream->launch(
      {third.get(), 0, operands, &tasks, tasks, {extents.get(), 0}}));
  EXPECT_EQ(download(*counts), std::vector<int32_t>(5, 2));
}

TEST_P(HalConformance, ThreadsShareADevice) {
  auto work = [&](int32_t seed) {
    std::vector<int32_t> x(501, seed), y(501);
    auto own = take(device->createStream());
    auto input = take(device->wrapHost(std::as_bytes(std::span(x))));
    auto output = allocate(x.size() * 4);
    std::vector<int64_t> sizes = {501, 3};
    auto ownExtents = take(device->wrapHost(std::as_bytes(std::span(sizes))));
    BufferSlice operands[] = {{input.get(), 0}, {output.get(), 0}};
    int64_t tasks = 126;
    check(own->beginCapture());
    check(own->launch(
        {executable.get(), 1, operands, &tasks, tasks, {ownExtents.get(), 0}}));
    check(own->copyToHost(y.data(), {output.get(), 0}, y.size() * 4));
    auto graph = take(own->endCapture());
    check(own->launchGraph(*graph));
    check(own->synchronize());
    EXPECT_EQ(y, std::vector<int32_t>(501, 3 * seed));
  };
  std::vector<std::thread> threads;
  for (int32_t seed = 1; seed <= 4; ++seed)
    threads.emplace_back([&work, seed] {
      for (int repeat = 0; repeat < 10; ++repeat)
        work(seed + 4 * repeat);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_P(HalConformance, BadCodeIsAnError) {
  std::vector<std::byte> noise(5000, std::byte('x'));
  auto bad = device->loadExecutable(noise, kernels);
  ASSERT_FALSE(bad.isOk());
  EXPECT_NE(bad.status().message().find("cannot load the kernels"),
            std::string::npos);
  EXPECT_FALSE(device->loadExecutable({}, kernels).isOk());
  EXPECT_FALSE(
      device->loadExecutable(std::span(code).first(200), kernels).isOk());
  auto missing = device->loadExecutable(
      code, std::vector<std::string>{"scale", "no_such_kernel"});
  ASSERT_FALSE(missing.isOk());
  EXPECT_NE(missing.status().message().find("\"no_such_kernel\""),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Drivers, HalConformance, testing::ValuesIn(kDrivers),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace betz
