//===- BitsTest.cpp - A window's result has the same bits anywhere --------===//
//
// Alone or in any batch, at any place in it, in any bucket, however the tasks
// are divided (DESIGN section 4, "Bits").
//
//===----------------------------------------------------------------------===//
#include "codegen/Compiler.h"
#include "tests/numerics/CpuRunner.h"
#include "tests/numerics/DecoderCases.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <numeric>

namespace betz {
namespace {

/// Windows with no event, one, around a key block, and as many as may be.
const std::vector<int32_t> kLengths = {0, 1, 63, 64, 65, 300, 4096, 0};

uint64_t freshSeed() {
  static const uint64_t seed = std::random_device()();
  return seed;
}

struct Named {
  const char *name;
  ModelConfig config;
};

ModelConfig demo() {
  ModelConfig config;
  config.dim = 64;
  config.layers = 2;
  config.heads = 4;
  config.latents = 16;
  config.maxNeurons = 256;
  config.maxTimeBins = 64;
  config.windowBins = 15;
  config.binMs = 20;
  config.norm = "rmsnorm";
  return config;
}

std::vector<Named> decoders() {
  Named plain{"demo", demo()}, odd{"odd", demo()}, rotary{"rotary", demo()},
      reach{"reach", demo()}, single{"single_latent", demo()};
  odd.config.dim = 24;
  odd.config.heads = 3;
  odd.config.latents = 7;
  odd.config.norm = "layernorm";
  odd.config.behaviorDim = 17;
  odd.config.mlpRatio = 3;
  odd.config.layers = 1;
  rotary.config.time = "rotary";
  rotary.config.dim = 36;
  rotary.config.heads = 3;
  rotary.config.latents = 33;
  rotary.config.behaviorDim = 1;
  rotary.config.layers = 1;
  reach.config.reachBins = 1.3;
  reach.config.behaviorDim = 3;
  reach.config.norm = "layernorm";
  reach.config.latents = 50;
  reach.config.layers = 1;
  single.config.latents = 1;
  single.config.dim = 35;
  single.config.heads = 5;
  single.config.mlpRatio = 1;
  single.config.layers = 1;
  return {plain, odd, rotary, reach, single};
}

class BitsTest : public testing::TestWithParam<Named> {
protected:
  void SetUp() override {
    SCOPED_TRACE(describe(GetParam().config));
    auto context = ir::makeContext();
    auto module = buildDecoder(*context, GetParam().config);
    ASSERT_TRUE(module.isOk()) << module.status().message();
    CompileOptions options;
    options.batches = {1, 8, 12};
    auto compiled =
        compileModule(**module, randomWeights(**module, random), options);
    ASSERT_TRUE(compiled.isOk()) << compiled.status().message();
    program = *compiled;
    batch = randomBatch(GetParam().config, kLengths, random);
  }

  /// Runs the windows in that order and compares each with itself alone.
  void expectSameBits(const CpuRunner &runner,
                      const std::vector<reference::TensorMap> &alone,
                      const std::vector<size_t> &windows, TaskCut cut,
                      size_t firstPlan) {
    auto outputs = runner.run(pickWindows(batch, windows), cut, firstPlan);
    ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
    for (size_t i = 0; i < windows.size(); ++i)
      for (const auto &[name, tensor] : *outputs)
        // As text no NaN and no sign of a zero is overlooked.
        EXPECT_EQ(
            fmt::format("{}", fmt::join(pickRow(tensor, i).real, " ")),
            fmt::format("{}", fmt::join(alone[windows[i]].at(name).real, " ")))
            << name << " of window " << windows[i] << " at place " << i
            << ", pieces of " << cut.largest << ", bucket from " << firstPlan
            << ", seed " << freshSeed();
  }

  Random random{freshSeed()};
  std::shared_ptr<const Program> program;
  reference::TensorMap batch;
};

TEST_P(BitsTest, AloneOrInAnyBatchAndBucket) {
  for (const std::string &level : runnableLevels(*program)) {
    SCOPED_TRACE(level);
    auto runner = CpuRunner::open(program, level);
    ASSERT_TRUE(runner.isOk()) << runner.status().message();
    std::vector<reference::TensorMap> alone;
    for (size_t window = 0; window < kLengths.size(); ++window) {
      auto outputs = runner->run(pickWindows(batch, {window}));
      ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
      alone.push_back(std::move(*outputs));
    }
    std::vector<size_t> order(kLengths.size());
    std::iota(order.begin(), order.end(), 0);
    for (size_t firstPlan : {1, 2}) {
      std::shuffle(order.begin(), order.end(), random);
      expectSameBits(*runner, alone, order, {}, firstPlan);
      std::shuffle(order.begin(), order.end(), random);
      expectSameBits(*runner, alone, order, {1, random()}, firstPlan);
      expectSameBits(*runner, alone, {order[0]}, {3, random()}, firstPlan);
    }
    expectSameBits(*runner, alone, {order[1]}, {1, random()}, 0);
    // Twice in a batch, and beside copies of itself.
    expectSameBits(*runner, alone, {5, 5, 0, 2, 5}, {5, random()}, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, BitsTest, testing::ValuesIn(decoders()),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace betz
