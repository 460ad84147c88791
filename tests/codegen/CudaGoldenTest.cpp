// Generated CUDA sources are what golden/ holds, one of each family. After a
// wanted change, look at what differs and write them anew:
//   BETZ_UPDATE_GOLDENS=1 build/test-bin/cuda_source_test \
//     --gtest_filter='*CudaGolden*'
#include "codegen/cuda/Source.h"
#include "runtime/base/File.h"
#include "tests/codegen/TrainingSpecs.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace betz::cuda {
namespace {

struct Golden {
  std::string name; // of the file, without ".cu"
  const char *target;
  KernelSpec spec;
};

KernelSpec gatherSpec() {
  KernelSpec spec = emptySpec();
  spec.operands = {events(1, DType::I32), events(1, DType::I32),
                   constant(50, 96), constant(20, 96), events(96)};
  spec.core = GatherCore{{0, 1}, {2, 3}, {}};
  return spec;
}

KernelSpec normSpec() {
  KernelSpec spec = emptySpec();
  spec.operands = {batchRows(4, 36), constant(1, 36), constant(1, 36),
                   batchRows(4, 36)};
  spec.core = NormCore{0, {NormForm::Layer, 1e-5, 1, 2}};
  return spec;
}

KernelSpec elementwiseSpec() {
  KernelSpec spec = emptySpec();
  spec.operands = {batchRows(4, 64), constant(1, 64),
                   batchRows(4, 1, DType::F32), batchRows(4, 64)};
  spec.core = IdentityCore{0};
  using Kind = EpilogueStep::Kind;
  spec.epilogue = {
      {Kind::Add, 1}, {Kind::Silu, -1}, {Kind::ScaleRows, 2}, {Kind::Mul, 1}};
  return spec;
}

std::vector<Golden> goldens() {
  const char *hopper = "cuda:sm_90a", *ampere = "cuda:sm_80";
  const GradCase heads{GradCase::Ragged, 8, 8, 64, true, DType::BF16};
  return {{"matmul_tma", hopper, matmulSpec(512, 1536, DType::BF16)},
          {"matmul_mma", ampere, matmulSpec(512, 1536, DType::BF16)},
          {"matmul_simt", hopper, matmulSpec(512, 40, DType::F32)},
          {"attention_mma", hopper, attentionSpec(8, 64, true, DType::BF16)},
          {"attention_simt", ampere, attentionSpec(3, 24, false, DType::F32)},
          {"gather", hopper, gatherSpec()},
          {"norm", hopper, normSpec()},
          {"elementwise", ampere, elementwiseSpec()},
          {"contract_mma", hopper, contractSpec(512, 512, DType::BF16, 256)},
          {"attention_grad_q", hopper,
           attentionGradSpec(heads, AttentionPart::QueryGrad)},
          {"attention_grad_kv", ampere,
           attentionGradSpec(heads, AttentionPart::KeyValueGrad)},
          {"scatter_sum", hopper, scatterSpec(200, 96, DType::BF16)},
          {"square_sum", hopper, squareSumSpec(1, 6400)},
          {"join", ampere, joinVectorsSpec()},
          {"adamw", hopper, adamwSpec(6400, 1)},
          {"dropout", hopper, dropoutSpec(72, DType::BF16)}};
}

class CudaGolden : public testing::TestWithParam<Golden> {};

TEST_P(CudaGolden, SourceIsAsInTheFile) {
  const Architecture &architecture = *findArchitecture(GetParam().target);
  const int64_t capacity[] = {64, 64 * 512};
  KernelSpec spec = GetParam().spec;
  chooseTile(spec, architecture, capacity);
  auto source = kernelSource(GetParam().name, spec, architecture);
  ASSERT_TRUE(source.isOk()) << source.status().message();
  const std::filesystem::path path =
      std::filesystem::path(BETZ_SOURCE_DIR "/tests/codegen/golden") /
      (GetParam().name + ".cu");
  if (std::getenv("BETZ_UPDATE_GOLDENS")) {
    Status written = writeFileAtomically(path, *source);
    ASSERT_TRUE(written.isOk()) << written.message();
    return;
  }
  auto golden = readTextFile(path);
  ASSERT_TRUE(golden.isOk()) << golden.status().message();
  EXPECT_EQ(*source, *golden)
      << "differs from " << path << "; CudaGoldenTest.cpp says how to renew it";
}

INSTANTIATE_TEST_SUITE_P(Families, CudaGolden, testing::ValuesIn(goldens()),
                         [](const auto &golden) { return golden.param.name; });

} // namespace
} // namespace betz::cuda
