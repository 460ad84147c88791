//===- FoldingTest.cpp - Decoders with each folding pass and without ------===//
//
// Each pass alone, each pair in the pipeline's order and all together change
// no value; all together leave little to do. A failure of a random decoder
// prints the seed that brings it back: BETZ_TEST_SEED=... folding_test.
//
//===----------------------------------------------------------------------===//
#include "codegen/Compiler.h"
#include "ir/reference/Interpreter.h"
#include "passes/Passes.h"
#include "tests/numerics/CpuRunner.h"
#include "tests/numerics/DecoderCases.h"
#include "tests/numerics/Fixtures.h"
#include "tests/numerics/OpCases.h"
#include "tests/runtime/io/TestFiles.h"

#include <cstdlib>
#include <fmt/format.h>
#include <set>

namespace betz {
namespace {

/// What DESIGN asks of each rewrite, and of f32 through a whole model.
constexpr double kPassTolerance = 1e-10;
constexpr double kCpuTolerance = 2e-5;
/// As in RandomModelTest: where all values are far below, what cancelled sets
/// the error.
constexpr double kUsualMagnitude = 0.2;
/// Compiling takes longer than all else: of the sets of passes one in this many
/// runs on the CPU, another one for the next decoder. All together always do.
constexpr int kCpuStride = 4;

struct Folding {
  const char *name;
  std::unique_ptr<mlir::Pass> (*create)();
};

/// In the pipeline's order.
const Folding kFoldings[] = {
    {"centre", [] { return passes::createCentrePass(); }},
    {"project-tables", [] { return passes::createProjectTablesPass(); }},
    {"absorb-head", [] { return passes::createAbsorbHeadPass(); }},
    {"absorb-norm", [] { return passes::createAbsorbNormPass(); }},
};
constexpr unsigned kAll = 0b1111;

/// One bit a folding: single ones, pairs, all.
const std::vector<unsigned> kSets = {0b0001, 0b0010, 0b0100, 0b1000,
                                     0b0011, 0b0101, 0b1001, 0b0110,
                                     0b1010, 0b1100, kAll};

std::string nameOf(unsigned set) {
  std::string name;
  for (size_t i = 0; i < std::size(kFoldings); ++i)
    if (set >> i & 1)
      name += std::string(name.empty() ? "" : " + ") + kFoldings[i].name;
  return name;
}

uint64_t freshSeed() {
  static const uint64_t seed = [] {
    const char *asked = std::getenv("BETZ_TEST_SEED");
    return asked ? std::strtoull(asked, nullptr, 10) : std::random_device()();
  }();
  return seed;
}

/// A decoder and what it gives.
struct Decoder {
  ModelDescription model;
  reference::TensorMap weights, batch, expected;
  int number = 0;
};

class FoldingTest : public testing::Test {
protected:
  mlir::OwningOpRef<mlir::ModuleOp> build(const ModelDescription &model) {
    auto module = buildDecoder(*context, model, {"behavior", "latents_out"});
    EXPECT_TRUE(module.isOk()) << module.status().message();
    return std::move(*module);
  }

  reference::TensorMap interpret(mlir::ModuleOp module,
                                 const Decoder &decoder) {
    auto derived = reference::runPrepare(module, decoder.weights);
    EXPECT_TRUE(derived.isOk()) << derived.status().message();
    auto outputs = reference::runMain(module, *derived, decoder.batch);
    EXPECT_TRUE(outputs.isOk()) << outputs.status().message();
    return std::move(*outputs);
  }

  /// The decoder after betz-hoist and `set`, in the model phase.
  mlir::OwningOpRef<mlir::ModuleOp> fold(const Decoder &decoder, unsigned set) {
    auto module = build(decoder.model);
    mlir::PassManager manager(context.get());
    manager.addPass(passes::createHoistPass());
    for (size_t i = 0; i < std::size(kFoldings); ++i)
      if (set >> i & 1)
        manager.addPass(kFoldings[i].create());
    manager.addPass(passes::createVerifyModelPass());
    EXPECT_TRUE(mlir::succeeded(manager.run(*module)));
    return module;
  }

  /// `folded` through the passes that make it code; the foldings that the
  /// pipeline would add stay out.
  std::shared_ptr<const Program> compile(mlir::ModuleOp folded,
                                         const Decoder &decoder) {
    mlir::PassManager manager(context.get());
    manager.addPass(passes::createAnnotateSparsityPass());
    manager.addPass(passes::createPackPanelsPass());
    manager.addPass(passes::createFusePass());
    EXPECT_TRUE(mlir::succeeded(manager.run(folded)));
    CompileOptions options;
    options.batches = {8};
    options.maxEvents = 4096;
    auto program = compileModule(folded, decoder.weights, options);
    EXPECT_TRUE(program.isOk()) << program.status().message();
    return program.isOk() ? *program : nullptr;
  }

  void expectCpuAgrees(const std::shared_ptr<const Program> &program,
                       const Decoder &decoder) {
    for (const std::string &level : runnableLevels(*program)) {
      auto runner = CpuRunner::open(program, level);
      ASSERT_TRUE(runner.isOk()) << runner.status().message();
      auto outputs = runner->run(decoder.batch, {7, freshSeed()});
      ASSERT_TRUE(outputs.isOk()) << outputs.status().message();
      for (const auto &[name, tensor] : decoder.expected) {
        double largest = 0;
        for (double value : tensor.real)
          largest = std::max(largest, std::abs(value));
        double tolerance =
            kCpuTolerance * std::max(1.0, kUsualMagnitude / largest);
        EXPECT_EQ(compareTensors(tensor, outputs->at(name), tolerance), "")
            << name << " at " << level;
      }
    }
  }

  void expectFoldingsChangeNothing(const Decoder &decoder) {
    // Sets that give the same module are tested once.
    std::set<std::string> seen;
    for (size_t i = 0; i < kSets.size(); ++i) {
      SCOPED_TRACE(nameOf(kSets[i]));
      auto module = fold(decoder, kSets[i]);
      if (!seen.insert(ir::printModule(*module)).second)
        continue;
      EXPECT_EQ(compareTensors(decoder.expected, interpret(*module, decoder),
                               kPassTolerance),
                "");
      if (kSets[i] != kAll && (int(i) + decoder.number) % kCpuStride != 0)
        continue;
      if (auto program = compile(*module, decoder))
        expectCpuAgrees(program, decoder);
    }
  }

  std::unique_ptr<mlir::MLIRContext> context = ir::makeContext();
};

//===----------------------------------------------------------------------===//
// Fixtures
//===----------------------------------------------------------------------===//

class FixtureFoldingTest : public FoldingTest,
                           public testing::WithParamInterface<int> {};

TEST_P(FixtureFoldingTest, ChangesNothing) {
  std::string stem = std::string("fixtures/") + kFixtures[GetParam()];
  BETZ_NEED_SHARED(weightsPath, (stem + ".weights.safetensors"));
  BETZ_NEED_SHARED(casesPath, (stem + ".cases.safetensors"));
  auto weightsFile = SafetensorsFile::open(weightsPath);
  auto casesFile = SafetensorsFile::open(casesPath);
  ASSERT_TRUE(weightsFile.isOk()) << weightsFile.status().message();
  ASSERT_TRUE(casesFile.isOk()) << casesFile.status().message();
  auto weights = readTensors(*weightsFile);
  auto cases = readTensors(*casesFile);
  ASSERT_TRUE(weights.isOk()) << weights.status().message();
  ASSERT_TRUE(cases.isOk()) << cases.status().message();
  auto model = readModelMetadata(weightsFile->metadata(), weightsPath);
  ASSERT_TRUE(model.isOk()) << model.status().message();
  // Expected values are PyTorch's in f64.
  Decoder decoder{*model,
                  *weights,
                  *cases,
                  {{"behavior", cases->at("behavior")},
                   {"latents_out", cases->at("latents_out")}},
                  GetParam()};
  expectFoldingsChangeNothing(decoder);
}

INSTANTIATE_TEST_SUITE_P(Shared, FixtureFoldingTest,
                         testing::Range(0, int(std::size(kFixtures))),
                         [](const auto &info) {
                           return std::string(kFixtures[info.param]);
                         });

//===----------------------------------------------------------------------===//
// Random decoders
//===----------------------------------------------------------------------===//

/// Of every norm and time; the first two of each four are wide enough for all
/// passes.
Decoder randomDecoder(int number, Random &random) {
  Decoder decoder;
  decoder.number = number;
  ModelConfig &config = decoder.model.config;
  config = randomConfig(random);
  config.norm = number & 1 ? "rmsnorm" : "layernorm";
  config.time = (number >> 1 ^ number >> 2) & 1 ? "table" : "rotary";
  config.layers = 1;
  if (number % 4 < 2) {
    config.heads = 4;
    config.dim = 64;
    config.behaviorDim = 1 + int64_t(random() % 8);
  } else if (config.time == "rotary") {
    config.dim = config.heads * 6;
  }
  config.reachBins = 0;
  return decoder;
}

class RandomFoldingTest : public FoldingTest,
                          public testing::WithParamInterface<int> {
protected:
  void SetUp() override {
    decoder = randomDecoder(GetParam(), random);
    ModelConfig &config = decoder.model.config;
    // Half of them narrow what a latent sees, two of these to nothing.
    if (GetParam() >= 4)
      config.reachBins = GetParam() % 2 ? 0.4 : 2.5;
    auto module = build(decoder.model);
    decoder.weights = randomWeights(*module, random);
    decoder.batch = randomBatch(
        config, {0, 1, 33, 64, 0, 65, int32_t(random() % 200)}, random);
    decoder.expected = interpret(*module, decoder);
  }

  Random random{freshSeed() + uint64_t(GetParam()) * 1000003};
  Decoder decoder;
};

TEST_P(RandomFoldingTest, ChangesNothing) {
  SCOPED_TRACE(fmt::format("BETZ_TEST_SEED={}: {}", freshSeed(),
                           describe(decoder.model.config)));
  expectFoldingsChangeNothing(decoder);
}

/// The batch with each window moved to `origin`.
reference::TensorMap moveTo(reference::TensorMap batch, int32_t origin) {
  std::vector<int32_t> &starts = batch.at("window_start").integer;
  const std::vector<int32_t> &splits = batch.at("row_splits").integer;
  for (size_t window = 0; window < starts.size(); ++window) {
    for (int32_t e = splits[window]; e < splits[window + 1]; ++e)
      batch.at("time_bin").integer[size_t(e)] += origin - starts[window];
    starts[window] = origin;
  }
  return batch;
}

TEST_P(RandomFoldingTest, WhereAWindowStartsChangesNoBits) {
  SCOPED_TRACE(fmt::format("BETZ_TEST_SEED={}: {}", freshSeed(),
                           describe(decoder.model.config)));
  auto module = fold(decoder, kAll);
  auto program = compile(*module, decoder);
  ASSERT_TRUE(program);
  reference::TensorMap wide;
  for (const std::string &level : runnableLevels(*program)) {
    auto runner = CpuRunner::open(program, level);
    ASSERT_TRUE(runner.isOk()) << runner.status().message();
    auto first = runner->run(moveTo(decoder.batch, 0));
    ASSERT_TRUE(first.isOk()) << first.status().message();
    for (int32_t origin : {7, 1000000, -5}) {
      auto moved = runner->run(moveTo(decoder.batch, origin));
      ASSERT_TRUE(moved.isOk()) << moved.status().message();
      for (const auto &[name, tensor] : *first)
        EXPECT_EQ(tensor.real, moved->at(name).real)
            << name << " at " << level << ", origin " << origin;
    }
    // The two levels with fused multiply-adds differ in their width only.
    if (level == "scalar")
      continue;
    for (const auto &[name, tensor] : wide)
      EXPECT_EQ(tensor.real, first->at(name).real) << name << " at " << level;
    wide = std::move(*first);
  }
}

INSTANTIATE_TEST_SUITE_P(Fresh, RandomFoldingTest, testing::Range(0, 8));

//===----------------------------------------------------------------------===//
// What is left to do
//===----------------------------------------------------------------------===//

TEST_F(FoldingTest, CortexSIsFolded) {
  auto model = readModelToml(BETZ_SOURCE_DIR "/frontend/models/cortex-s.toml");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  auto module = build(*model);
  Status lowered = lowerModule(*module, ir::Phase::Kernels, {});
  ASSERT_TRUE(lowered.isOk()) << lowered.message();

  int kernels = 0;
  ir::getMain(*module).walk([&](ir::KernelOp kernel) {
    ++kernels;
    std::string name = kernel.getName().str();
    // Two norms follow each other before the head; the first is no factor of
    // a row that a weight could take in.
    if (kernel.getFamily() == ir::Family::Row) {
      EXPECT_EQ(kernel.getSection().str(), "final_norm") << name;
    }
    auto matmul = llvm::dyn_cast_or_null<ir::MatmulOp>(kernel.getAnchor());
    if (!matmul)
      return;
    auto x = llvm::cast<ir::Tensor>(matmul.getX().getType());
    EXPECT_FALSE(ir::getRows(x) && ir::getRows(x).getSymbol() == "events")
        << name << " reads rows of events";
    if (kernel.getSection() == "behavior_head") {
      EXPECT_LE(matmul.getOutputColumns(), 64) << name;
    }
  });
  EXPECT_LE(kernels, 45);
  EXPECT_GT(kernels, 0);
}

TEST_F(FoldingTest, EachFires) {
  auto model = readModelToml(BETZ_SOURCE_DIR "/frontend/models/cortex-s.toml");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  Decoder decoder{*model, {}, {}, {}};
  decoder.model.config.norm = "layernorm";
  std::string plain = ir::printModule(*fold(decoder, 0));
  for (unsigned i = 0; i < std::size(kFoldings); ++i)
    EXPECT_NE(ir::printModule(*fold(decoder, 1u << i)), plain)
        << kFoldings[i].name;
}

} // namespace
} // namespace betz
