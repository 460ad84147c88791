// What is particular to CUDA. Tests named StandInCuda need the libcuda.so.1 of
// StandInCuda.cpp (ctest's hal_test_cuda brings it); those named Cuda run on a
// GPU too, and skip where there is neither.
#include "runtime/hal/cuda/CudaArchitecture.h"
#include "runtime/hal/cuda/CudaDevice.h"
#include "runtime/hal/cuda/CudaGrid.h"
#include "runtime/program/KernelAbi.h"
#include "tests/runtime/hal/CudaCode.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace betz {
namespace {

TEST(CudaArchitecture, CodeRunsWhereItsNameSays) {
  const CudaCapability ampere = {8, 0}, ada = {8, 9}, hopper = {9, 0},
                       blackwell = {10, 0};
  struct Case {
    std::string_view isa;
    bool onAmpere, onAda, onHopper, onBlackwell;
  };
  for (const Case &c : {Case{"sm_80", true, true, false, false},
                        Case{"sm_86", false, true, false, false},
                        Case{"sm_90", false, false, true, false},
                        Case{"sm_90a", false, false, true, false},
                        Case{"sm_100a", false, false, false, true},
                        Case{"compute_80", true, true, true, true},
                        Case{"compute_90", false, false, true, true},
                        Case{"compute_90a", false, false, true, false},
                        Case{"avx2", false, false, false, false},
                        Case{"sm_", false, false, false, false},
                        Case{"sm_a", false, false, false, false},
                        Case{"sm_8", false, false, false, false},
                        Case{"sm_80x", false, false, false, false},
                        Case{"sm_-80", false, false, false, false},
                        Case{"", false, false, false, false}}) {
    EXPECT_EQ(runsCudaIsa(ampere, c.isa), c.onAmpere) << c.isa;
    EXPECT_EQ(runsCudaIsa(ada, c.isa), c.onAda) << c.isa;
    EXPECT_EQ(runsCudaIsa(hopper, c.isa), c.onHopper) << c.isa;
    EXPECT_EQ(runsCudaIsa(blackwell, c.isa), c.onBlackwell) << c.isa;
  }
}

TEST(CudaGrid, HasABlockATaskOrFillsTheDevice) {
  auto size = [](int64_t tasks, uint32_t blocksPerSm, uint32_t flags = 0) {
    auto blocks = cudaGridSize(tasks, {32, 0, blocksPerSm, flags}, 132);
    return blocks.isOk() ? int64_t(*blocks) : -1;
  };
  EXPECT_EQ(size(0, 0), 0);
  EXPECT_EQ(size(0, 2), 0);
  EXPECT_EQ(size(1, 0), 1);
  EXPECT_EQ(size(INT32_MAX, 0), INT32_MAX);
  EXPECT_EQ(size(int64_t(INT32_MAX) + 1, 0), -1);
  EXPECT_EQ(size(263, 2), 263);
  EXPECT_EQ(size(265, 2), 264);
  EXPECT_EQ(size(INT64_MAX, 1), 132);
  EXPECT_EQ(size(5, 1, kCudaPairedBlocks), 6);
  EXPECT_EQ(size(6, 0, kCudaPairedBlocks), 6);
  EXPECT_EQ(size(5, 0, kCudaEightBlocks), 40);
  EXPECT_EQ(size(INT32_MAX, 0, kCudaEightBlocks), -1);
  EXPECT_EQ(size(INT64_MAX, 0, kCudaEightBlocks), -1);
  EXPECT_EQ(size(0, 1, kCudaPairedBlocks), 0);
  EXPECT_EQ(size(INT64_MAX, UINT32_MAX), -1);
}

TEST(NoCudaDriver, IsAClearError) {
  if (::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
    GTEST_SKIP() << "this machine has a CUDA driver";
  Status status = createCudaDevice(0).status();
  EXPECT_EQ(status.getCode(), StatusCode::Unavailable);
  EXPECT_NE(status.message().find("run with --device cpu"), std::string::npos)
      << status.message();
}

class Cuda : public testing::Test {
protected:
  void SetUp() override {
    auto created = createCudaDevice(0);
    if (created.status().getCode() == StatusCode::Unavailable)
      GTEST_SKIP() << created.status().message();
    ASSERT_TRUE(created.isOk()) << created.status().message();
    device = std::move(created).value();
    stream = take(device->createStream());
  }

  template <typename T> static T take(Result<T> result) {
    EXPECT_TRUE(result.isOk()) << result.status().message();
    return std::move(result).value();
  }
  static void check(const Status &status) {
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  template <typename T>
  std::unique_ptr<Buffer> upload(const std::vector<T> &values) {
    return take(device->wrapHost(std::as_bytes(std::span(values))));
  }

  /// Runs `kernel` of `code` from x to y and back to x, eagerly and recorded,
  /// with few tasks and many: y = 3 x, then x = 9 x.
  void runThere(std::span<const std::byte> code, const std::string &kernel) {
    auto executable =
        take(device->loadExecutable(code, std::vector<std::string>{kernel}));
    for (size_t size : {1, 3, 4, 1001, 300007}) {
      std::vector<int32_t> values(size), got(size);
      for (int32_t &value : values)
        value = int32_t(random() % 2001) - 1000;
      auto x = upload(values), y = upload(got);
      auto extents = upload<int64_t>({int64_t(size), 3});
      const int64_t tasks = (int64_t(size) + 3) / 4;
      auto submit = [&] {
        for (auto [from, to] : {std::pair(&x, &y), std::pair(&y, &x)}) {
          BufferSlice operands[] = {{from->get(), 0}, {to->get(), 0}};
          check(stream->launch({executable.get(),
                                0,
                                operands,
                                &tasks,
                                tasks,
                                {extents.get(), 0}}));
        }
        check(stream->copyToHost(got.data(), {x.get(), 0}, size * 4));
      };
      submit();
      check(stream->synchronize());
      for (size_t i = 0; i < size; ++i)
        ASSERT_EQ(got[i], 9 * values[i]) << i << " of " << size;
      check(stream->beginCapture());
      submit();
      auto graph = take(stream->endCapture());
      check(stream->launchGraph(*graph));
      check(stream->synchronize());
      for (size_t i = 0; i < size; ++i)
        ASSERT_EQ(got[i], 81 * values[i]) << i << " of " << size;
    }
  }

  std::string loadError(std::string_view ptx, const std::string &kernel) {
    auto loaded = device->loadExecutable(packPtx({ptx}),
                                         std::vector<std::string>{kernel});
    return loaded.isOk() ? "" : loaded.status().message();
  }

  std::mt19937 random{std::random_device{}()};
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
};

TEST_F(Cuda, NameAndTargets) {
  EXPECT_TRUE(device->name().starts_with("cuda:0 (")) << device->name();
  EXPECT_NE(device->name().find(", sm_"), std::string::npos);
  EXPECT_FALSE(device->supports("cpu", "compute_80"));
  EXPECT_FALSE(device->supports("cuda:sm_80", "avx2"));
}

TEST_F(Cuda, PersistentKernelsWithSharedMemoryDoEveryTask) {
  runThere(packPtx({kTestKernelsPtx}), "scale_persistent");
}

TEST_F(Cuda, DependentLaunchesKeepOrder) {
  if (!device->supports("cuda:sm_90a", "compute_90"))
    GTEST_SKIP() << device->name() << " knows no dependent launch";
  runThere(packPtx({kDependentKernelPtx}), "scale");
}

TEST_F(Cuda, KernelsAreFoundInAnyImage) {
  const std::string other = R"(.version 7.8
.target sm_80
.address_size 64
.visible .const .align 4 .b8 other_launch[16] = {1};
.visible .entry other(.param .align 8 .b8 p0[8], .param .u64 p1) { ret; }
)";
  auto executable = device->loadExecutable(
      packPtx({other, kTestKernelsPtx}),
      std::vector<std::string>{"scale", "other", "scale", "count_task"});
  EXPECT_TRUE(executable.isOk()) << executable.status().message();
}

TEST_F(Cuda, WrongImagesAreClearErrors) {
  std::string error = loadError("not PTX at all", "scale");
  EXPECT_NE(error.find("cannot load the kernels: cuda:0 ("), error.npos);
  EXPECT_NE(error.find("recompile with betz compile"), error.npos) << error;
  EXPECT_EQ(error.find('\n'), error.npos) << error;

  const std::string head = ".version 7.8\n.target sm_80\n.address_size 64\n";
  const std::string entry =
      ".visible .entry k(.param .align 8 .b8 p0[8], .param .u64 p1) { ret; }\n";
  const std::string constant = ".visible .const .align 4 .b8 k_launch[16] = ";
  error = loadError(head + entry, "k");
  EXPECT_NE(error.find("\"k_launch\""), error.npos) << error;
  error = loadError(head + constant + "{0};\n" + entry, "k");
  EXPECT_NE(error.find("0 of at most"), error.npos) << error;
  error = loadError(head + constant + "{1, 8};\n" + entry, "k");
  EXPECT_NE(error.find("2049 of at most"), error.npos) << error;
  error = loadError(head + constant + "{1,0,0,0,0,0,0,0,0,0,0,0,16};\n" + entry,
                    "k");
  EXPECT_NE(error.find("flags 16"), error.npos) << error;
  const std::string mapped = constant + "{1,0,0,0,0,0,0,0,0,0,0,0,2};\n";
  error = loadError(head + mapped + entry, "k");
  EXPECT_NE(error.find("find \"k_maps\" beside its kernel"), error.npos)
      << error;
  const std::string maps = ".visible .const .align 4 .b8 k_maps";
  for (const char *bytes : {"[16]", "[1000]"}) {
    error = loadError(head + mapped + maps + bytes + " = {1};\n" + entry, "k");
    EXPECT_NE(error.find("\"k_maps\" in the machine code has"), error.npos)
        << error;
  }
  const std::string one = fmt::format("[{}]", sizeof(CudaTensorMap));
  error = loadError(head + mapped + maps + one + " = {1};\n" + entry, "k");
  EXPECT_EQ(error, "");
  error = loadError(head + constant + "{1,0,0,0,0,0,16};\n" + entry, "k");
  EXPECT_NE(error.find("1048576 bytes of shared memory"), error.npos) << error;
  error = loadError(head + constant + "{1};\n" + entry, "k");
  EXPECT_EQ(error, "");
}

TEST_F(Cuda, TooManyBlocksAreAnError) {
  auto executable = take(device->loadExecutable(
      packPtx({kTestKernelsPtx}), std::vector<std::string>{"count_task"}));
  auto memory = take(device->allocate(64, MemoryKind::Device));
  const BufferSlice slice = {memory.get(), 0};
  const int64_t tasks = 0;
  Status status = stream->launch(
      {executable.get(), 0, {&slice, 1}, &tasks, int64_t(1) << 31, slice});
  EXPECT_EQ(status.message(),
            "a launch of 2147483648 blocks; CUDA takes 2147483647");
}

TEST_F(Cuda, MoreMemoryThanThereIsNamesBoth) {
  Status status =
      device->allocate(size_t(1) << 45, MemoryKind::Device).status();
  EXPECT_EQ(status.getCode(), StatusCode::ResourceExhausted);
  EXPECT_NE(status.message().find("cannot allocate 35184372088832 bytes"),
            std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("are free"), std::string::npos);
}

TEST_F(Cuda, OrdinalsAreChecked) {
  for (int ordinal : {-1, 99}) {
    Status status = createCudaDevice(ordinal).status();
    EXPECT_EQ(status.getCode(), StatusCode::Unavailable);
    EXPECT_NE(status.message().find("this machine has cuda:0"),
              std::string::npos)
        << status.message();
  }
}

/// Makes the stand-in fail for the life of the object.
class Fault {
public:
  explicit Fault(const char *setting) {
    ::setenv("BETZ_STAND_IN_CUDA", setting, 1);
  }
  ~Fault() { ::unsetenv("BETZ_STAND_IN_CUDA"); }
};

class StandInCuda : public Cuda {
protected:
  void SetUp() override {
    library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol =
        library ? ::dlsym(library, "standInCudaLiveObjects") : nullptr;
    if (!symbol)
      GTEST_SKIP() << "for ctest's hal_test_cuda, which brings a driver that "
                      "fails on request";
    liveObjects = reinterpret_cast<int (*)()>(symbol);
    before = liveObjects();
    Cuda::SetUp();
  }

  void *library = nullptr;
  int (*liveObjects)() = nullptr;
  int before = 0; // objects alive
};

TEST_F(StandInCuda, EverythingIsFreed) {
  runThere(packPtx({kTestKernelsPtx}), "scale");
  check(stream->mark(0));
  check(stream->beginCapture()); // and left so
  auto staging = take(device->allocate(100, MemoryKind::Staging));
  EXPECT_GT(liveObjects(), before);
  // What a device made keeps it open.
  device.reset();
  staging.reset();
  stream.reset();
  EXPECT_EQ(liveObjects(), before);
}

TEST_F(StandInCuda, LoadingAsksForNothingThatIsNotThere) {
  auto failed =
      reinterpret_cast<int (*)()>(::dlsym(library, "standInCudaFailedLookups"));
  ASSERT_TRUE(failed);
  const int before = failed();
  take(device->loadExecutable(packPtx({kTestKernelsPtx}),
                              std::vector<std::string>{"scale", "add_bias"}));
  EXPECT_EQ(failed(), before);
}

TEST_F(StandInCuda, StateIsWhatNvmlSays) {
  const DeviceState state = readCudaState(0);
  EXPECT_EQ(state.utilization, 0.37);
  EXPECT_EQ(state.memoryUsed, 3000);
  EXPECT_EQ(state.memoryTotal, 4000);
  EXPECT_EQ(state.watts, std::nullopt);
  EXPECT_EQ(state.coreHertz, 1980e6);
  EXPECT_EQ(state.memoryHertz, 3201e6);
}

TEST_F(StandInCuda, NoDeviceIsAClearError) {
  for (const char *setting : {"cuInit=100", "deviceCount=0"}) {
    Fault fault(setting);
    EXPECT_EQ(createCudaDevice(0).status().message(),
              "the CUDA driver finds no GPU on this machine; run with --device "
              "cpu");
  }
  Fault fault("cuInit=803");
  EXPECT_EQ(createCudaDevice(0).status().message(),
            "cannot start the CUDA driver: CUDA_ERROR_OF_STAND_IN (as the "
            "stand-in says); the NVIDIA driver was updated: restart the "
            "machine");
}

TEST_F(StandInCuda, FailuresNameDeviceCallAndCause) {
  auto memory = take(device->allocate(64, MemoryKind::Device));
  const std::string device0 = "cuda:0 (Stand-in, sm_90): ";
  const std::string outOfMemory =
      "CUDA_ERROR_OUT_OF_MEMORY (as the stand-in says); 1000 of its 4000 bytes "
      "are free";
  {
    Fault fault("cuMemAlloc=2");
    EXPECT_EQ(device->allocate(64, MemoryKind::Device).status().message(),
              device0 + "cannot allocate 64 bytes: " + outOfMemory);
    EXPECT_EQ(
        device->wrapHost(std::as_bytes(std::span("x"))).status().message(),
        device0 + "cannot allocate 2 bytes: " + outOfMemory);
  }
  {
    Fault fault("cuMemHostAlloc=2");
    Status status = device->allocate(64, MemoryKind::Staging).status();
    EXPECT_EQ(status.getCode(), StatusCode::ResourceExhausted);
    EXPECT_EQ(status.message(),
              device0 + "cannot pin 64 bytes of host memory: " + outOfMemory);
  }
  {
    Fault fault("cuMemcpyHtoDAsync=1000");
    EXPECT_EQ(stream->copyToDevice({memory.get(), 0}, "xyz", 3).message(),
              device0 + "cannot copy to it: CUDA error 1000");
  }
  {
    Fault fault("cuModuleLoadDataEx=222");
    std::string error = loadError(kTestKernelsPtx, "scale");
    EXPECT_NE(error.find("the NVIDIA driver is older than this code"),
              error.npos)
        << error;
  }
  for (const char *setting :
       {"cuModuleLoadDataEx=200", "cuModuleLoadDataEx=209"}) {
    Fault fault(setting);
    std::string error = loadError(kTestKernelsPtx, "scale");
    EXPECT_NE(error.find("the NVIDIA driver may be older than this code"),
              error.npos)
        << error;
  }
  std::string error = loadError("junk", "scale");
  EXPECT_NE(error.find("no version; line 1; recompile"), error.npos) << error;
}

TEST_F(StandInCuda, ALostDeviceFailsFastWithTheSame) {
  auto memory = take(device->allocate(64, MemoryKind::Device));
  Status lost;
  {
    Fault fault("cuStreamSynchronize=700");
    lost = stream->synchronize();
  }
  EXPECT_EQ(lost.getCode(), StatusCode::Internal);
  EXPECT_EQ(lost.message(),
            "cuda:0 (Stand-in, sm_90): cannot finish what it was given: "
            "CUDA_ERROR_ILLEGAL_ADDRESS (as the stand-in says); this process "
            "can use the device no more: restart it");
  // The driver would succeed again; nobody asks it.
  EXPECT_EQ(stream->synchronize().message(), lost.message());
  EXPECT_EQ(stream->copyToDevice({memory.get(), 0}, "xyz", 3).message(),
            lost.message());
  EXPECT_EQ(device->allocate(64, MemoryKind::Device).status().message(),
            lost.message());
  EXPECT_EQ(device->createStream().status().message(), lost.message());
  EXPECT_NE(loadError(kTestKernelsPtx, "scale").find(lost.message()),
            std::string::npos);
}

TEST_F(StandInCuda, AFailedCaptureLeavesAUsableStream) {
  for (const char *setting : {"cuGraphInstantiate=2", "cuGraphUpload=2"}) {
    auto memory = take(device->allocate(8, MemoryKind::Device));
    int before = liveObjects();
    check(stream->beginCapture());
    EXPECT_FALSE(stream->copyToDevice({memory.get(), 0}, "x", 9).isOk());
    check(stream->copyToDevice({memory.get(), 0}, "x", 1));
    {
      Fault fault(setting);
      EXPECT_EQ(stream->endCapture().status().getCode(),
                StatusCode::ResourceExhausted);
    }
    EXPECT_EQ(liveObjects(), before);
    check(stream->synchronize());
  }
}

} // namespace
} // namespace betz
