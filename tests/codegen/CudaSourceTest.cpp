#include "codegen/cuda/CubinStack.h"
#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/Source.h"
#include "runtime/program/CudaImages.h"
#include "tests/codegen/TrainingSpecs.h"

#include <gtest/gtest.h>

namespace betz::cuda {
namespace {

std::map<std::string, KernelSpec> specsOfEveryPath() {
  std::map<std::string, KernelSpec> specs;
  specs["mma_512"] = matmulSpec(512, 1536, DType::BF16);
  specs["mma_wide"] = matmulSpec(512, 2048, DType::BF16);
  specs["mma_bare"] = matmulSpec(2048, 512, DType::BF16);
  specs["mma_tail"] = matmulSpec(200, 24, DType::BF16);
  specs["simt_f32"] = matmulSpec(512, 40, DType::F32);
  specs["simt_bf16"] = matmulSpec(33, 7, DType::BF16);
  specs["attention_mma"] = attentionSpec(8, 64, true, DType::BF16);
  specs["attention_mma_map"] = attentionSpec(2, 16, false, DType::BF16);
  specs["attention_simt"] = attentionSpec(3, 24, true, DType::F32);
  specs["attention_narrow"] = attentionSpec(4, 1, false, DType::BF16);

  KernelSpec gather = emptySpec();
  gather.operands = {events(1, DType::I32), events(1, DType::I32),
                     constant(50, 96), constant(20, 96), events(96)};
  gather.core = GatherCore{{0, 1}, {2, 3}, {}};
  specs["gather"] = gather;
  gather.operands.back() = events(1, DType::F32);
  gather.core = GatherCore{{0, 1}, {2, 3}, RowScaleSpec{}};
  specs["gather_scale"] = gather;

  KernelSpec norm = emptySpec();
  norm.operands = {batchRows(4, 36), constant(1, 36), constant(1, 36),
                   batchRows(4, 36)};
  norm.core = NormCore{0, {NormForm::Layer, 1e-5, 1, 2}};
  specs["norm_rows"] = norm;
  norm.core = NormScaleCore{0, {NormForm::Layer, 1e-5}};
  norm.operands = {batchRows(4, 36), batchRows(4, 1, DType::F32)};
  specs["norm_scale"] = norm;

  KernelSpec rotary = emptySpec();
  rotary.operands = {events(64), events(1, DType::I32), events(64)};
  rotary.core = RotaryCore{0, 1, 4, 0, 0.5, 5, 10, 1000};
  specs["rotary"] = rotary;

  KernelSpec sub = emptySpec();
  sub.operands = {events(1, DType::I32),
                  batchRows(1, 1, DType::I32),
                  {DType::I32, {0, 1, 1}, 1, 1, 0},
                  events(1, DType::I32)};
  sub.core = SegmentSubCore{0, 1, 2};
  specs["segment_sub"] = sub;
  return specs;
}

/// Kernels of training steps, with the tiles of small and of large buckets.
std::map<std::string, KernelSpec>
trainingSpecs(const Architecture &architecture) {
  using Kind = EpilogueStep::Kind;
  std::vector<KernelSpec> all = {
      contractSpec(512, 512, DType::BF16, 256),
      contractSpec(72, 200, DType::BF16, 256),
      contractSpec(64, 96, DType::F32, 256),
      contractSpec(33, 7, DType::BF16, 256),
      columnSumSpec(512, DType::BF16, 256),
      columnSumSpec(2, DType::F32, 1),
      scatterSpec(3, 512, DType::BF16),
      scatterSpec(200, 40, DType::F32),
      normGradSpec(NormForm::Rms, 512, DType::BF16),
      normGradSpec(NormForm::Layer, 36, DType::F32),
      headDotsSpec(8, 64, DType::BF16),
      headDotsSpec(5, 20, DType::F32),
      joinSpec(DType::BF16),
      joinVectorsSpec(),
      mseSpec(2, false),
      mseSpec(2, true),
      crossEntropySpec(13, false),
      crossEntropySpec(13, true),
      squareSumSpec(1, 100003),
      squareSumSpec(37, 24),
      adamwSpec(6400, 1),
      adamwSpec(6401, 0),
      transposeSpec(70, 133, DType::BF16),
      fillSpec(70, DType::F32),
      stepSpec(Kind::Sub, true, 72, DType::BF16),
      stepSpec(Kind::Sigmoid, false, 72, DType::F32),
      stepSpec(Kind::Tanh, false, 72, DType::F32),
      stepSpec(Kind::SiluGrad, true, 72, DType::F32),
      stepSpec(Kind::GeluGrad, false, 72, DType::F32),
      stepSpec(Kind::GeluGrad, true, 72, DType::BF16),
      dropoutSpec(72, DType::BF16)};
  for (const GradCase &c : gradCases())
    for (AttentionPart part : {AttentionPart::LogSum, AttentionPart::QueryGrad,
                               AttentionPart::KeyValueGrad})
      all.push_back(attentionGradSpec(c, part));
  std::map<std::string, KernelSpec> specs;
  for (const KernelSpec &given : all)
    for (int64_t windows : {1, 64}) {
      KernelSpec spec = given;
      const int64_t capacity[] = {windows, windows * 512};
      chooseTile(spec, architecture, capacity);
      specs.emplace(codeName(spec), spec);
    }
  return specs;
}

void expectNoStack(const std::string &isa,
                   const std::map<std::string, KernelSpec> &specs,
                   std::span<const std::span<const std::byte>> cubins) {
  auto cubin = cubins.begin();
  for (const auto &[name, spec] : specs) {
    ASSERT_TRUE(isCubin(*cubin)) << name;
    EXPECT_EQ(stackBytes(*cubin++), 0u) << name << " for " << isa;
  }
}

/// Every kernel compiles for an architecture, and all of it is in registers.
void expectCompiles(const Architecture &architecture,
                    const std::map<std::string, KernelSpec> &specs) {
  auto built = buildExecutables(specs, architecture, ignoreCompile());
  ASSERT_TRUE(built.isOk()) << built.status().message();
  EXPECT_EQ(built.value().front().first, architecture.isa);
  for (const auto &[isa, code] : built.value()) {
    auto images = unpackCudaImages(code);
    ASSERT_TRUE(images.isOk()) << images.status().message();
    ASSERT_EQ(images.value().size(), specs.size());
    if (isa.starts_with("sm_"))
      expectNoStack(isa, specs, images.value());
  }
}

TEST(CudaSource, EveryPathCompilesForEveryArchitecture) {
  if (Result<const Nvrtc *> nvrtc = Nvrtc::load(); !nvrtc.isOk())
    GTEST_SKIP() << nvrtc.status().message();
  const int64_t capacity[] = {64, 64 * 512};
  for (const Architecture &architecture : architectures()) {
    std::map<std::string, KernelSpec> specs = specsOfEveryPath();
    for (auto &[name, spec] : specs)
      chooseTile(spec, architecture, capacity);
    expectCompiles(architecture, specs);
  }
}

TEST(CudaSource, TrainingKernelsCompileForEveryArchitecture) {
  if (Result<const Nvrtc *> nvrtc = Nvrtc::load(); !nvrtc.isOk())
    GTEST_SKIP() << nvrtc.status().message();
  for (const Architecture &architecture : architectures())
    expectCompiles(architecture, trainingSpecs(architecture));
}

TEST(CudaSource, PathsFollowTypeAlignmentAndArchitecture) {
  const Architecture &hopper = *findArchitecture("cuda:sm_90a");
  const Architecture &ampere = *findArchitecture("cuda:sm_80");
  const KernelSpec wide = matmulSpec(512, 1536, DType::BF16);
  EXPECT_EQ(choosePath(wide, hopper), Path::MatmulTma);
  EXPECT_EQ(choosePath(wide, ampere), Path::MatmulMma);
  EXPECT_EQ(choosePath(matmulSpec(512, 1536, DType::F32), hopper),
            Path::MatmulSimt);
  EXPECT_EQ(choosePath(matmulSpec(33, 64, DType::BF16), hopper),
            Path::MatmulSimt);
  EXPECT_EQ(choosePath(attentionSpec(8, 64, true, DType::BF16), hopper),
            Path::AttentionWgmma);
  EXPECT_EQ(choosePath(attentionSpec(8, 64, true, DType::BF16), ampere),
            Path::AttentionMma);
  EXPECT_EQ(choosePath(attentionSpec(2, 16, true, DType::BF16), hopper),
            Path::AttentionMma);
  EXPECT_EQ(choosePath(attentionSpec(8, 20, true, DType::BF16), hopper),
            Path::AttentionSimt);
  const GradCase heads{GradCase::Ragged, 8, 8, 64, true, DType::BF16};
  auto gradPath = [&](AttentionPart part, const Architecture &architecture) {
    return choosePath(attentionGradSpec(heads, part), architecture);
  };
  EXPECT_EQ(gradPath(AttentionPart::LogSum, hopper), Path::AttentionWgmma);
  EXPECT_EQ(gradPath(AttentionPart::QueryGrad, ampere), Path::AttentionMma);
  EXPECT_EQ(gradPath(AttentionPart::KeyValueGrad, hopper),
            Path::AttentionKeysMma);
  EXPECT_EQ(choosePath(contractSpec(64, 64, DType::BF16, 1), ampere),
            Path::ContractMma);
  EXPECT_EQ(choosePath(contractSpec(64, 60, DType::BF16, 1), hopper),
            Path::ContractSimt);
}

TEST(CudaSource, RefusesWhatNoPathTakes) {
  KernelSpec spec = matmulSpec(64, 64, DType::F32);
  spec.prologue = NormSpec{NormForm::Layer, 1e-5, 2, -1};
  Result<std::string> source = kernelSource("k", spec, architectures()[0]);
  ASSERT_FALSE(source.isOk());
  EXPECT_NE(source.status().message().find("compile from the model phase"),
            std::string::npos);
  spec = matmulSpec(64, 64, DType::I8);
  source = kernelSource("k", spec, architectures()[0]);
  ASSERT_FALSE(source.isOk());
  EXPECT_NE(source.status().message().find("i8"), std::string::npos);
}

} // namespace
} // namespace betz::cuda
