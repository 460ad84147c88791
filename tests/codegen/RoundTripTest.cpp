//===- RoundTripTest.cpp - Any dump of a model compiles to the same bytes -===//
//
// What `betz dump` prints, in each phase, of the model or of its program, is
// compiled again: the program must be the same file.
//
//===----------------------------------------------------------------------===//
#include "codegen/Compiler.h"
#include "codegen/cuda/Nvrtc.h"
#include "frontend/Frontend.h"
#include "passes/Passes.h"
#include "tests/numerics/DecoderCases.h"

#include <gtest/gtest.h>

namespace betz {
namespace {

constexpr ir::Phase kPhases[] = {ir::Phase::Model, ir::Phase::Kernels,
                                 ir::Phase::Program};

struct Named {
  const char *name;
  /// Changes frontend/models/demo.toml.
  void (*change)(ModelConfig &);
  std::vector<std::string> outputs;
  const char *target = "cpu";
  /// Of a CUDA target.
  DType precision = DType::F32;
};

class RoundTripTest : public testing::TestWithParam<Named> {
protected:
  void SetUp() override {
    auto model = readModelToml(BETZ_SOURCE_DIR "/frontend/models/demo.toml");
    ASSERT_TRUE(model.isOk()) << model.status().message();
    if (std::string(GetParam().target).starts_with("cuda")) {
      if (Result<const cuda::Nvrtc *> nvrtc = cuda::Nvrtc::load();
          !nvrtc.isOk())
        GTEST_SKIP() << nvrtc.status().message();
      options.precision = GetParam().precision;
    }
    options.targets = {GetParam().target};
    description = *model;
    GetParam().change(description.config);
    options.maxEvents = 512;
    weights = randomWeights(*build(), random);
    expected = compile(*build(), options);
  }

  mlir::OwningOpRef<mlir::ModuleOp> build() {
    auto module = buildDecoder(*context, description, GetParam().outputs);
    EXPECT_TRUE(module.isOk()) << module.status().message();
    return std::move(*module);
  }

  std::shared_ptr<const Program> compile(mlir::ModuleOp module,
                                         const CompileOptions &with) {
    auto program = compileModule(module, weights, with);
    EXPECT_TRUE(program.isOk()) << program.status().message();
    return program.isOk() ? *program : nullptr;
  }

  /// As a compilation in a process of its own: from text in a new context. A
  /// module that was lowered says for what.
  void expectSameProgram(const std::string &text) {
    CompileOptions with = options;
    if (text.find("betz.target") != text.npos) {
      with.targets.clear();
      with.precision.reset();
    }
    auto fresh = ir::makeContext();
    auto parsed = ir::parseModule(*fresh, text, "dump");
    ASSERT_TRUE(parsed.isOk()) << parsed.status().message();
    std::shared_ptr<const Program> program = compile(**parsed, with);
    ASSERT_TRUE(program);
    EXPECT_EQ(program->targets[0].irText, expected->targets[0].irText);
    EXPECT_TRUE(serializeProgram(*program) == serializeProgram(*expected));
  }

  Random random{17};
  std::unique_ptr<mlir::MLIRContext> context = ir::makeContext();
  ModelDescription description;
  CompileOptions options;
  reference::TensorMap weights;
  std::shared_ptr<const Program> expected;
};

TEST_P(RoundTripTest, DumpsOfTheModel) {
  for (ir::Phase phase : kPhases) {
    SCOPED_TRACE(ir::toString(phase).str());
    auto module = build();
    Status lowered = lowerModule(*module, phase, options);
    ASSERT_TRUE(lowered.isOk()) << lowered.message();
    expectSameProgram(ir::printModule(*module));
  }
}

TEST_P(RoundTripTest, DumpsOfTheProgram) {
  for (ir::Phase phase : kPhases) {
    SCOPED_TRACE(ir::toString(phase).str());
    auto module =
        ir::parseModule(*context, expected->targets[0].irText, "program");
    ASSERT_TRUE(module.isOk()) << module.status().message();
    passes::raiseTo(phase, **module);
    Status legal = passes::verifyPhase(**module);
    EXPECT_TRUE(legal.isOk()) << legal.message();
    expectSameProgram(ir::printModule(**module));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Decoders, RoundTripTest,
    testing::Values(
        Named{"demo", [](ModelConfig &) {}, {"behavior"}},
        Named{"rotary",
              [](ModelConfig &c) {
                c.time = "rotary";
                c.norm = "layernorm";
              },
              {"latents_out", "behavior"}},
        Named{"reach", [](ModelConfig &c) { c.reachBins = 3; }, {"behavior"}},
        Named{"cuda_f32", [](ModelConfig &) {}, {"behavior"}, "cuda:sm_90a"},
        Named{"cuda_bf16",
              [](ModelConfig &c) {
                c.time = "rotary";
                c.norm = "layernorm";
              },
              {"latents_out", "behavior"},
              "cuda:sm_90a",
              DType::BF16}),
    [](const auto &info) { return std::string(info.param.name); });

/// CUDA targets of one program share the derived data; the CPU has its own. The
/// parts of a target are what a compile for it alone gives.
TEST(ManyTargets, AreWhatEachIsAlone) {
  if (auto nvrtc = cuda::Nvrtc::load(); !nvrtc.isOk())
    GTEST_SKIP() << nvrtc.status().message();
  auto model = readModelToml(BETZ_SOURCE_DIR "/frontend/models/demo.toml");
  ASSERT_TRUE(model.isOk()) << model.status().message();
  auto context = ir::makeContext();
  auto module = buildDecoder(*context, *model, {"behavior"});
  ASSERT_TRUE(module.isOk()) << module.status().message();
  Random random(23);
  const reference::TensorMap weights = randomWeights(**module, random);
  CompileOptions options;
  options.batches = {1, 8};
  options.maxEvents = 512;
  options.targets = {"cuda:sm_90a", "cpu", "cuda:sm_80"};
  auto together = compileModule(**module, weights, options);
  ASSERT_TRUE(together.isOk()) << together.status().message();
  EXPECT_EQ(ir::getPhase(**module), ir::Phase::Model);

  auto read = parseProgram(std::make_shared<const std::vector<std::byte>>(
                               serializeProgram(**together)),
                           "program");
  ASSERT_TRUE(read.isOk()) << read.status().message();
  ASSERT_EQ((*read)->targets.size(), 3u);
  auto derived = [&](size_t i) {
    return (*read)->targets[i].derivedData.bytes;
  };
  EXPECT_EQ(derived(0).data(), derived(2).data());
  EXPECT_NE(derived(0).data(), derived(1).data());
  for (size_t i = 0; i < 3; ++i) {
    const TargetVariant &one = (*read)->targets[i];
    EXPECT_EQ(one.target, options.targets[i]);
    CompileOptions only = options;
    only.targets = {one.target};
    auto alone = compileModule(**module, weights, only);
    ASSERT_TRUE(alone.isOk()) << alone.status().message();
    const TargetVariant &other = (*alone)->targets.front();
    EXPECT_EQ(one.irText, other.irText);
    EXPECT_TRUE(
        std::ranges::equal(one.derivedData.bytes, other.derivedData.bytes));
    ASSERT_EQ(one.executables.size(), other.executables.size());
    for (size_t e = 0; e < one.executables.size(); ++e)
      EXPECT_TRUE(std::ranges::equal(one.executables[e].code.bytes,
                                     other.executables[e].code.bytes));
  }
}

} // namespace
} // namespace betz
