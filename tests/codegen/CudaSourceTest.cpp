#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/Source.h"
#include "runtime/program/CudaImages.h"

#include <gtest/gtest.h>

namespace betz::cuda {
namespace {

OperandSpec rows(int64_t factor, int64_t columns, DType dtype = DType::BF16) {
  return {dtype, {0, factor, 0}, columns, columns, 0};
}
OperandSpec constant(int64_t rows, int64_t columns, DType dtype = DType::BF16) {
  return {dtype, Dim::constant(rows), columns, columns, 0};
}
OperandSpec events(int64_t columns, DType dtype = DType::BF16) {
  return {dtype, {1, 1, 0}, columns, columns, 0};
}

KernelSpec base() {
  KernelSpec spec;
  spec.symbols = {"batch", "events"};
  return spec;
}

/// x * w, row scale, bias, GELU, residual.
KernelSpec matmul(int64_t depth, int64_t columns, DType dtype) {
  KernelSpec spec = base();
  spec.operands = {rows(256, depth, dtype), constant(columns, depth, dtype),
                   constant(1, columns, dtype), rows(256, columns, dtype),
                   rows(256, columns, dtype)};
  spec.core = MatmulCore{0, 1, depth, columns, 0};
  spec.rowScale = RowScaleSpec{};
  using Kind = EpilogueStep::Kind;
  spec.epilogue = {{Kind::ScaleRows, -1}, {Kind::Add, 2}, {Kind::Gelu, -1},
                   {Kind::Add, 3}};
  return spec;
}

KernelSpec attention(int64_t heads, int64_t size, bool ragged, DType dtype) {
  KernelSpec spec = base();
  AttentionCore core;
  core.q = 0, core.k = 1, core.v = 2;
  core.heads = core.kvHeads = heads;
  core.headSize = size;
  core.queries = 33;
  core.scale = 0.125;
  core.batchSymbol = 0;
  OperandSpec kv = ragged ? events(heads * size, dtype)
                          : rows(70, heads * size, dtype);
  kv.rowStride = 2 * heads * size;
  spec.operands = {constant(33, heads * size, dtype), kv, kv};
  core.sharedQuery = true;
  if (ragged) {
    core.rowSplits = 3, core.keyTime = 4, core.bounds = 5;
    core.sparsity = SparsityRule::TimeBounds;
    spec.operands.push_back({DType::I32, {0, 1, 1}, 1, 1, 0});
    spec.operands.push_back(events(1, DType::I32));
    spec.operands.push_back(constant(33, 2, DType::I32));
  } else {
    core.keys = 70;
    core.blockMap = 3, core.mapBlock = 64, core.mapColumns = 2;
    core.sparsity = SparsityRule::BlockMap;
    spec.operands.push_back(constant(1, 2, DType::I32));
  }
  spec.operands.push_back(rows(33, heads * size, dtype));
  spec.core = core;
  return spec;
}

std::map<std::string, KernelSpec> specsOfEveryPath() {
  std::map<std::string, KernelSpec> specs;
  specs["mma_512"] = matmul(512, 1536, DType::BF16);
  specs["mma_wide"] = matmul(512, 2048, DType::BF16);
  specs["mma_tail"] = matmul(200, 24, DType::BF16);
  specs["simt_f32"] = matmul(512, 40, DType::F32);
  specs["simt_bf16"] = matmul(33, 7, DType::BF16);
  specs["attention_mma"] = attention(8, 64, true, DType::BF16);
  specs["attention_mma_map"] = attention(2, 16, false, DType::BF16);
  specs["attention_simt"] = attention(3, 24, true, DType::F32);
  specs["attention_narrow"] = attention(4, 1, false, DType::BF16);

  KernelSpec gather = base();
  gather.operands = {events(1, DType::I32), events(1, DType::I32),
                     constant(50, 96), constant(20, 96), events(96)};
  gather.core = GatherCore{{0, 1}, {2, 3}, {}};
  specs["gather"] = gather;
  gather.operands.back() = events(1, DType::F32);
  gather.core = GatherCore{{0, 1}, {2, 3}, RowScaleSpec{}};
  specs["gather_scale"] = gather;

  KernelSpec norm = base();
  norm.operands = {rows(4, 36), constant(1, 36), constant(1, 36), rows(4, 36)};
  norm.core = NormCore{0, {NormForm::Layer, 1e-5, 1, 2}};
  specs["norm_rows"] = norm;
  norm.core = NormScaleCore{0, {NormForm::Layer, 1e-5}};
  norm.operands = {rows(4, 36), rows(4, 1, DType::F32)};
  specs["norm_scale"] = norm;

  KernelSpec rotary = base();
  rotary.operands = {events(64), events(1, DType::I32), events(64)};
  rotary.core = RotaryCore{0, 1, 4, 0, 0.5, 5, 10, 1000};
  specs["rotary"] = rotary;

  KernelSpec sub = base();
  sub.operands = {events(1, DType::I32), rows(1, 1, DType::I32),
                  {DType::I32, {0, 1, 1}, 1, 1, 0}, events(1, DType::I32)};
  sub.core = SegmentSubCore{0, 1, 2};
  specs["segment_sub"] = sub;
  return specs;
}

TEST(CudaSource, EveryPathCompilesForEveryArchitecture) {
  if (Result<const Nvrtc *> nvrtc = Nvrtc::load(); !nvrtc.isOk())
    GTEST_SKIP() << nvrtc.status().message();
  const int64_t capacity[] = {64, 64 * 512};
  for (const Architecture &architecture : architectures()) {
    std::map<std::string, KernelSpec> specs = specsOfEveryPath();
    for (auto &[name, spec] : specs)
      chooseTile(spec, architecture, capacity);
    auto built = buildExecutables(specs, architecture, ignoreCompile());
    ASSERT_TRUE(built.isOk()) << built.status().message();
    EXPECT_EQ(built.value().front().first, architecture.isa);
    for (const auto &[isa, code] : built.value()) {
      auto images = unpackCudaImages(code);
      ASSERT_TRUE(images.isOk()) << images.status().message();
      EXPECT_EQ(images.value().size(), specs.size());
    }
  }
}

TEST(CudaSource, PathsFollowTypeAlignmentAndArchitecture) {
  const Architecture &hopper = *findArchitecture("cuda:sm_90a");
  const Architecture &ampere = *findArchitecture("cuda:sm_80");
  const KernelSpec wide = matmul(512, 1536, DType::BF16);
  EXPECT_EQ(choosePath(wide, hopper), Path::MatmulWgmma);
  EXPECT_EQ(choosePath(wide, ampere), Path::MatmulMma);
  EXPECT_EQ(choosePath(matmul(512, 1536, DType::F32), hopper),
            Path::MatmulSimt);
  EXPECT_EQ(choosePath(matmul(33, 64, DType::BF16), hopper), Path::MatmulSimt);
  EXPECT_EQ(choosePath(attention(8, 64, true, DType::BF16), hopper),
            Path::AttentionMma);
  EXPECT_EQ(choosePath(attention(8, 20, true, DType::BF16), hopper),
            Path::AttentionSimt);
}

TEST(CudaSource, RefusesWhatNoPathTakes) {
  KernelSpec spec = matmul(64, 64, DType::F32);
  spec.prologue = NormSpec{NormForm::Layer, 1e-5, 2, -1};
  Result<std::string> source = kernelSource("k", spec, architectures()[0]);
  ASSERT_FALSE(source.isOk());
  EXPECT_NE(source.status().message().find("compile from the model phase"),
            std::string::npos);
  spec = matmul(64, 64, DType::I8);
  source = kernelSource("k", spec, architectures()[0]);
  ASSERT_FALSE(source.isOk());
  EXPECT_NE(source.status().message().find("i8"), std::string::npos);
}

} // namespace
} // namespace betz::cuda
