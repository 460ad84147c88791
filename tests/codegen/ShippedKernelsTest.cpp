// Every kernel of every model in frontend/models compiles for every
// architecture, and ptxas keeps all of it in registers: no spills, no local
// memory. Needs NVRTC, no GPU.
#include "codegen/Compiler.h"
#include "codegen/LowerToSpec.h"
#include "codegen/cuda/CubinStack.h"
#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/Nvrtc.h"
#include "frontend/Frontend.h"
#include "runtime/program/CudaImages.h"

#include <filesystem>
#include <gtest/gtest.h>

namespace betz::cuda {
namespace {

/// Small, middling and large, for all tiles that a kernel may be given.
const std::vector<int64_t> kBatches = {1, 8, 64};

std::vector<std::filesystem::path> shippedModels() {
  std::vector<std::filesystem::path> models;
  for (const auto &entry :
       std::filesystem::directory_iterator(BETZ_SOURCE_DIR "/frontend/models"))
    if (entry.path().extension() == ".toml")
      models.push_back(entry.path());
  return models;
}

class ShippedKernels : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (Result<const Nvrtc *> nvrtc = Nvrtc::load(); !nvrtc.isOk())
      GTEST_SKIP() << nvrtc.status().message();
  }

  /// Adds the specs of a model's kernels, by code name: one that models share
  /// is there once.
  void addSpecs(const std::filesystem::path &model, DType precision,
                const std::vector<std::string> &outputs) {
    SCOPED_TRACE(model.filename());
    auto description = readModelToml(model);
    ASSERT_TRUE(description.isOk()) << description.status().message();
    auto context = ir::makeContext();
    auto module = buildDecoder(*context, *description, outputs);
    ASSERT_TRUE(module.isOk()) << module.status().message();
    CompileOptions options;
    options.targets = {architecture.target};
    options.precision = precision;
    options.batches = kBatches;
    options.maxEvents = 512;
    Status lowered = lowerModule(**module, ir::Phase::Program, options);
    ASSERT_TRUE(lowered.isOk()) << lowered.message();
    for (ir::KernelOp kernel : ir::getMain(**module).getOps<ir::KernelOp>()) {
      auto known = lowerToSpec(kernel);
      ASSERT_TRUE(known.isOk()) << known.status().message();
      for (int64_t batch : kBatches) {
        KernelSpec spec = known->spec;
        std::vector<int64_t> capacity;
        for (const std::string &symbol : spec.symbols)
          capacity.push_back(symbol == "batch" ? batch : batch * 512);
        chooseTile(spec, architecture, capacity);
        specs.emplace(codeName(spec), spec);
      }
    }
  }

  const Architecture &architecture = *findArchitecture(GetParam());
  std::map<std::string, KernelSpec> specs;
};

TEST_P(ShippedKernels, StayInRegisters) {
  for (const std::filesystem::path &model : shippedModels())
    addSpecs(model, DType::BF16, {"behavior"});
  addSpecs(BETZ_SOURCE_DIR "/frontend/models/demo.toml", DType::F32,
           {"behavior", "latents_out"});
  ASSERT_FALSE(HasFatalFailure());
  auto built = buildExecutables(specs, architecture, ignoreCompile());
  ASSERT_TRUE(built.isOk()) << built.status().message();
  const auto &[isa, code] = built->front();
  EXPECT_EQ(isa, architecture.isa);
  auto images = unpackCudaImages(code);
  ASSERT_TRUE(images.isOk()) << images.status().message();
  ASSERT_EQ(images->size(), specs.size());
  auto image = images->begin();
  for (const auto &[name, spec] : specs) {
    ASSERT_TRUE(isCubin(*image)) << name;
    EXPECT_EQ(stackBytes(*image++), 0u) << name << " for " << isa;
  }
}

std::string nameOf(const testing::TestParamInfo<const char *> &target) {
  return findArchitecture(target.param)->isa;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedKernels,
                         testing::Values("cuda:sm_90a", "cuda:sm_80"), nameOf);

} // namespace
} // namespace betz::cuda
