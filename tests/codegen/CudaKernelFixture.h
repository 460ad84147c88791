//===- CudaKernelFixture.h - Generated CUDA kernels on a GPU --------------===//
#pragma once

#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/Nvrtc.h"
#include "runtime/base/BFloat16.h"
#include "runtime/hal/cuda/CudaDevice.h"
#include "tests/codegen/CudaSpecs.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace betz::cuda {

/// An operand's buffer on the host; values as the device reads them.
struct Operand {
  OperandSpec spec;
  int64_t rows = 0;
  std::vector<float> real;
  std::vector<int32_t> integer;

  double at(int64_t row, int64_t column) const {
    return real[size_t(row * spec.columns + column)];
  }
};

class CudaKernelFixture : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (Result<const Nvrtc *> nvrtc = Nvrtc::load(); !nvrtc.isOk())
      GTEST_SKIP() << nvrtc.status().message();
    Result<std::unique_ptr<Device>> opened = createCudaDevice(0);
    if (!opened.isOk())
      GTEST_SKIP() << opened.status().message();
    device = std::move(opened).value();
    architecture = findArchitecture(GetParam());
  }

  Operand random(const OperandSpec &spec) {
    Operand operand{spec, spec.rows.evaluate(extents), {}, {}};
    std::normal_distribution<float> normal;
    operand.real.resize(size_t(operand.rows * spec.columns));
    for (float &value : operand.real) {
      value = normal(generator);
      if (spec.dtype == DType::BF16)
        value = fromBFloat16(toBFloat16(value));
    }
    return operand;
  }
  static Operand integers(const OperandSpec &spec,
                          std::vector<int32_t> values) {
    return {spec, int64_t(values.size()), {}, std::move(values)};
  }

  /// Bytes as they lie on the device, rows `rowStride` apart, with NaN between.
  static std::vector<std::byte> bytesOf(const Operand &operand) {
    const OperandSpec &spec = operand.spec;
    const size_t width = sizeOf(spec.dtype);
    if (spec.dtype == DType::I32) {
      std::vector<std::byte> bytes(operand.integer.size() * 4);
      std::memcpy(bytes.data(), operand.integer.data(), bytes.size());
      return bytes;
    }
    std::vector<std::byte> bytes(
        size_t(spec.offset + operand.rows * spec.rowStride) * width,
        std::byte(0xff));
    for (int64_t row = 0; row < operand.rows; ++row)
      for (int64_t column = 0; column < spec.columns; ++column) {
        const uint32_t bits =
            std::bit_cast<uint32_t>(float(operand.at(row, column)));
        std::byte *to =
            &bytes[size_t(spec.offset + row * spec.rowStride + column) * width];
        if (spec.dtype == DType::F32)
          std::memcpy(to, &bits, 4);
        else
          std::memcpy(to, reinterpret_cast<const char *>(&bits) + 2, 2);
      }
    return bytes;
  }

  /// The tiles that the kernel of a bucket may have.
  std::vector<TileConfig> tilesOf(KernelSpec spec,
                                  const std::vector<int64_t> &capacity) const {
    chooseTile(spec, *architecture, capacity);
    return tileCandidates(spec, *architecture);
  }

  /// The result of runAll.
  Operand run(const KernelSpec &spec, const std::vector<Operand> &inputs,
              const std::vector<int64_t> &capacity) {
    return runAll(spec, inputs, capacity)[0];
  }

  /// Runs the kernel, with the tile of the bucket or a given one; what it
  /// writes, the result first, starts as NaN.
  std::vector<Operand> runAll(KernelSpec spec,
                              const std::vector<Operand> &inputs,
                              const std::vector<int64_t> &capacity,
                              const TileConfig *tile = nullptr) {
    chooseTile(spec, *architecture, capacity);
    if (tile)
      spec.tile = *tile;
    auto built = buildExecutables({{"kernel_under_test", spec}}, *architecture,
                                  ignoreCompile());
    std::vector<Operand> results;
    for (size_t i = inputs.size(); i < spec.operands.size(); ++i)
      results.push_back(
          {spec.operands[i], spec.operands[i].rows.evaluate(extents), {}, {}});
    if (!built.isOk()) {
      ADD_FAILURE() << built.status().message();
      return results;
    }
    // The last entry of sm_80 is PTX, which runs on any later GPU.
    const auto &code = built.value().back().second;
    const std::string names[] = {"kernel_under_test"};
    auto executable = device->loadExecutable(code, names);
    EXPECT_TRUE(executable.isOk()) << executable.status().message();
    auto stream = device->createStream().value();
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<BufferSlice> slices;
    std::vector<std::vector<std::byte>> contents;
    for (const Operand &input : inputs)
      contents.push_back(bytesOf(input));
    for (Operand &result : results) {
      result.real.assign(size_t(result.rows * result.spec.columns), NAN);
      contents.push_back(bytesOf(result));
    }
    for (std::vector<std::byte> &content : contents) {
      content.resize(std::max<size_t>(content.size(), 4)); // of no rows
      buffers.push_back(
          device->allocate(content.size(), MemoryKind::Device).value());
      slices.push_back({buffers.back().get(), 0});
      EXPECT_TRUE(
          stream->copyToDevice(slices.back(), content.data(), content.size())
              .isOk());
    }
    auto extentBuffer = device->allocate(16, MemoryKind::Device).value();
    EXPECT_TRUE(stream
                    ->copyToDevice({extentBuffer.get(), 0}, extents.data(),
                                   extents.size() * 8)
                    .isOk());
    const int64_t tasks = taskSpace(spec).count(capacity);
    Status launched = stream->launch({.executable = executable.value().get(),
                                      .kernel = 0,
                                      .operands = slices,
                                      .tasks = &tasks,
                                      .maxTasks = tasks,
                                      .extents = {extentBuffer.get(), 0}});
    EXPECT_TRUE(launched.isOk()) << launched.message();
    for (size_t i = inputs.size(); i < contents.size(); ++i)
      EXPECT_TRUE(
          stream->copyToHost(contents[i].data(), slices[i], contents[i].size())
              .isOk());
    Status done = stream->synchronize();
    EXPECT_TRUE(done.isOk()) << done.message();
    for (size_t i = 0; i < results.size(); ++i)
      readBack(results[i], contents[inputs.size() + i]);
    return results;
  }

  static void readBack(Operand &result, const std::vector<std::byte> &bytes) {
    const OperandSpec &spec = result.spec;
    for (int64_t row = 0; row < result.rows; ++row)
      for (int64_t column = 0; column < spec.columns; ++column) {
        const std::byte *from =
            &bytes[size_t(spec.offset + row * spec.rowStride + column) *
                   sizeOf(spec.dtype)];
        uint32_t bits = 0;
        if (spec.dtype == DType::F32)
          std::memcpy(&bits, from, 4);
        else
          std::memcpy(reinterpret_cast<char *>(&bits) + 2, from, 2);
        result.real[size_t(row * spec.columns + column)] =
            std::bit_cast<float>(bits);
      }
  }

  static void expectSameBits(const Operand &a, const Operand &b) {
    ASSERT_EQ(a.real.size(), b.real.size());
    EXPECT_EQ(0, std::memcmp(a.real.data(), b.real.data(), a.real.size() * 4));
  }

  /// ||result - expected|| / ||expected||; bf16 rounds results by 2^-9.
  static void expectNear(const Operand &result,
                         const std::vector<double> &expected) {
    double error = 0, size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double difference = result.real[i] - expected[i];
      error += difference * difference;
      size += expected[i] * expected[i];
    }
    const double tolerance = result.spec.dtype == DType::BF16 ? 6e-3 : 3e-6;
    EXPECT_LE(std::sqrt(error), tolerance * std::sqrt(size) + 1e-12);
  }

  std::unique_ptr<Device> device;
  const Architecture *architecture = nullptr;
  std::mt19937 generator{20261130};
  std::vector<int64_t> extents = {3, 0};
};

inline std::string isaOf(const testing::TestParamInfo<const char *> &target) {
  return std::string(target.param).substr(5);
}

} // namespace betz::cuda
