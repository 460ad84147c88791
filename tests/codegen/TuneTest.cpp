#include "codegen/common/KernelTable.h"
#include "codegen/cuda/CubinStack.h"
#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/Source.h"
#include "codegen/tune/LaunchTimer.h"
#include "runtime/hal/null/NullDevice.h"
#include "runtime/program/CudaImages.h"
#include "tests/codegen/CudaSpecs.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace betz::tune {
namespace {

constexpr int64_t kCapacity[] = {64, 64 * 512};

/// Shared memory that a block may have at most.
int64_t sharedLimit(const cuda::Architecture &architecture) {
  return (architecture.isa == std::string_view("sm_90a") ? 227 : 163) << 10;
}

TEST(Tune, TheFastestMeasuredTileWins) {
  std::vector<Trial> trials = {{{.rows = 1}, 10e-6},
                               {{.rows = 2}, 8e-6},
                               {{.rows = 3}, 1e-6, "does not build"},
                               {{.rows = 4}, 9e-6}};
  EXPECT_EQ(pickWinner(trials), 1u);
  EXPECT_EQ(verdict(trials, 1, 0), "25.0 % slower");
  EXPECT_EQ(verdict(trials, 1, 1), "won");
  EXPECT_EQ(verdict(trials, 1, 2), "does not build");
}

TEST(Tune, NoiseMovesNothing) {
  std::vector<Trial> trials = {{{.rows = 1}, 10e-6}, {{.rows = 2}, 9.95e-6}};
  EXPECT_EQ(pickWinner(trials), 0u);
  EXPECT_EQ(verdict(trials, 0, 1), "0.5 % faster, which is noise");
  trials[1].seconds = 9.8e-6;
  EXPECT_EQ(pickWinner(trials), 1u);
}

TEST(Tune, ARejectedFirstTileLosesToAnyMeasured) {
  std::vector<Trial> trials = {{{.rows = 1}, 0, "spills"},
                               {{.rows = 2}, 0, "spills"}};
  EXPECT_EQ(pickWinner(trials), 0u);
  trials.push_back({{.rows = 3}, 5});
  EXPECT_EQ(pickWinner(trials), 2u);
}

TEST(Tune, TrialsAreDistinct) {
  std::vector<Trial> trials;
  EXPECT_EQ(addTrial(trials, {64, 64, 64, 4}), 0u);
  EXPECT_EQ(addTrial(trials, {64, 64, 64, 8}), 1u);
  EXPECT_EQ(addTrial(trials, {64, 64, 64, 4}), 0u);
}

TEST(Tune, CandidatesHoldTheDefaultAndBuild) {
  std::map<std::string, KernelSpec> all;
  KernelSpec rows = emptySpec();
  rows.operands = {batchRows(4, 64), batchRows(4, 64)};
  rows.core = IdentityCore{0};
  for (const cuda::Architecture &architecture : cuda::architectures()) {
    all.clear();
    for (KernelSpec spec :
         {matmulSpec(512, 1536, DType::BF16), matmulSpec(512, 40, DType::F32),
          attentionSpec(8, 64, true, DType::BF16),
          attentionSpec(3, 24, true, DType::F32), rows}) {
      cuda::chooseTile(spec, architecture, kCapacity);
      const std::vector<TileConfig> tiles =
          cuda::tileCandidates(spec, architecture);
      EXPECT_NE(std::ranges::find(tiles, spec.tile), tiles.end());
      const ReductionPlan plan = spec.plan;
      for (const TileConfig &tile : tiles) {
        spec.tile = tile;
        EXPECT_EQ(spec.plan, plan);
        // Two bytes an element, and what the barriers take.
        EXPECT_LT((tile.rows + tile.columns) * tile.depth * tile.stages * 2,
                  sharedLimit(architecture) - 1024);
        all.emplace(codeName(spec), spec);
      }
    }
    auto codes = cuda::compileKernels(all, architecture, architecture.isa,
                                      [](size_t) {});
    if (codes.status().getCode() == StatusCode::Unavailable)
      GTEST_SKIP() << codes.status().message();
    ASSERT_TRUE(codes.isOk()) << codes.status().message();
    EXPECT_EQ(codes->size(), all.size());
    for (const auto &[name, code] : *codes) {
      ASSERT_TRUE(code.isOk())
          << name << ", " << toJson(all.at(name))["tile"].dump() << ": "
          << code.status().message();
      auto images = unpackCudaImages(*code);
      ASSERT_TRUE(images.isOk()) << images.status().message();
      ASSERT_EQ(images->size(), 1u);
      EXPECT_EQ(cuda::stackBytes(images->front()), 0u)
          << name << ", " << toJson(all.at(name))["tile"].dump()
          << " spills on " << architecture.isa;
    }
  }
}

TEST(Tune, KernelNamesSurviveOtherTiles) {
  KernelSpec spec = matmulSpec(512, 1536, DType::BF16);
  KernelTable table;
  spec.tile = {64, 64, 64, 4};
  EXPECT_EQ(table.add("a.qkv", "a", spec), 0u);
  EXPECT_EQ(table.add("b.qkv", "b", spec), 1u);
  EXPECT_EQ(table.add("a.qkv", "a", spec), 0u);
  spec.tile.stages = 8;
  EXPECT_EQ(table.add("a.qkv", "a", spec), 2u);
  EXPECT_EQ(table.specs().size(), 2u);
  EXPECT_EQ(table.entries()[0].code, table.entries()[1].code);
  EXPECT_EQ(table.entries()[2].name, "a.qkv_64x64x8");
  EXPECT_EQ(kernelNameOf(table.entries()[2], spec), "a.qkv");
  EXPECT_EQ(kernelNameOf(table.entries()[1], spec), "b.qkv");
}

/// Two launches of one matmul and one of another, in two buckets.
TargetVariant makeTarget() {
  KernelTable table;
  KernelSpec one = matmulSpec(64, 128, DType::BF16);
  KernelSpec other = matmulSpec(128, 64, DType::BF16);
  one.tile = other.tile = {64, 64, 64, 4};
  const uint32_t first = table.add("a", "a", one);
  const uint32_t again = table.add("b", "b", one);
  const uint32_t last = table.add("c", "c", other);
  TargetVariant target;
  target.target = "cuda:sm_90a";
  const std::vector<BufferRef> operands = {
      {BufferKind::Arena, 0, 0},    {BufferKind::Derived, 0, 0},
      {BufferKind::Derived, 1, 0},  {BufferKind::Arena, 0, 4096},
      {BufferKind::Arena, 0, 8192}, {BufferKind::Arena, 0, 4096},
      {BufferKind::Arena, 0, 12288}};
  for (int64_t batch : {1, 8})
    target.plans.push_back(
        {{batch, batch * 16},
         0,
         {{first, operands}, {last, operands}, {again, operands}}});
  target.kernels = table.entries();
  return target;
}

TEST(Tune, EqualLaunchesOfABucketAreOneTask) {
  TargetVariant target = makeTarget();
  auto tasks = listTasks(target);
  ASSERT_TRUE(tasks.isOk()) << tasks.status().message();
  ASSERT_EQ(tasks->size(), 4u);
  EXPECT_EQ((*tasks)[0].launches, (std::vector<size_t>{0, 2}));
  EXPECT_EQ((*tasks)[1].launches, (std::vector<size_t>{1}));
  EXPECT_EQ((*tasks)[2].plan, 1u);
  EXPECT_EQ((*tasks)[3].kernel, "c");

  // x [256, 128], weight [128, 64] and [64, 128], a row of 128, 256 rows, and
  // sums of squares of 32 columns, read and written.
  const int64_t extents[] = {1, 16};
  auto bytes = workingSetBytes(target, target.plans[0], extents);
  ASSERT_TRUE(bytes.isOk());
  EXPECT_EQ(*bytes, 2 * (256 * 128 + 128 * 64 + 128 + 256 * 128) +
                        4 * (256 * 4 + 256 * 4));

  target.kernels[2].spec = "{}";
  EXPECT_NE(listTasks(target).status().message().find("kernel c"),
            std::string::npos);
}

TEST(Tune, OnlyStepsBeyondTheCacheRotateBuffers) {
  const TargetVariant target = makeTarget();
  auto tasks = listTasks(target);
  ASSERT_TRUE(tasks.isOk());
  LaunchShape shape = {(*tasks)[0].spec,
                       target.plans[0].launches[0].operands,
                       {1, 16},
                       {8, 128}};
  // In place: the residual is the result.
  const int64_t used =
      2 * (256 * 64 + 128 * 64 + 128 + 256 * 128) + 4 * (256 * 2 + 256 * 4);
  EXPECT_EQ(bufferSets(shape, 1000, 1000), 1u);
  EXPECT_EQ(bufferSets(shape, 1001, 1000), 1u);
  EXPECT_EQ(bufferSets(shape, 50 << 20, 40 << 20),
            size_t(2 * (40 << 20) / used + 1));
  shape.capacity = {1 << 15, 1 << 19};
  EXPECT_EQ(bufferSets(shape, 50 << 20, 40 << 20), 1u) << "4 GiB at most";
}

TEST(Tune, LaunchesAreTimedOnTheirOwnBuffers) {
  NullDevice device;
  const TargetVariant target = makeTarget();
  auto tasks = listTasks(target);
  ASSERT_TRUE(tasks.isOk());
  std::vector<size_t> reads;
  auto timer = LaunchTimer::create(
      device,
      {(*tasks)[0].spec,
       target.plans[0].launches[0].operands,
       {1, 16},
       {1, 16}},
      3, [&](size_t, size_t bytes) -> Result<std::vector<std::byte>> {
        reads.push_back(bytes);
        return std::vector<std::byte>(bytes);
      });
  ASSERT_TRUE(timer.isOk()) << timer.status().message();
  EXPECT_EQ(reads,
            (std::vector<size_t>{256 * 64 * 2, 128 * 64 * 2, 128 * 2,
                                 256 * 128 * 2, 256 * 2 * 4, 256 * 4 * 4}));
  EXPECT_EQ(device.counters().allocations, 1 + 3 * 6);
  auto seconds = timer->time({}, "k", {64, 64, 64, 4});
  ASSERT_TRUE(seconds.isOk()) << seconds.status().message();
  // A launch takes the null device a microsecond.
  EXPECT_NEAR(*seconds, 1e-6, 1e-12);
}

} // namespace
} // namespace betz::tune
