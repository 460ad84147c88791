//===- RoundTripTest.cpp - Any dump of a model compiles to the same bytes -===//
//
// What `betz dump` prints, in each phase, of the model or of its program, is
// compiled again: the program must be the same file.
//
//===----------------------------------------------------------------------===//
#include "codegen/Compiler.h"
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
};

class RoundTripTest : public testing::TestWithParam<Named> {
protected:
  void SetUp() override {
    auto model = readModelToml(BETZ_SOURCE_DIR "/frontend/models/demo.toml");
    ASSERT_TRUE(model.isOk()) << model.status().message();
    description = *model;
    GetParam().change(description.config);
    options.maxEvents = 512;
    weights = randomWeights(*build(), random);
    expected = compile(*build());
  }

  mlir::OwningOpRef<mlir::ModuleOp> build() {
    auto module = buildDecoder(*context, description, GetParam().outputs);
    EXPECT_TRUE(module.isOk()) << module.status().message();
    return std::move(*module);
  }

  std::shared_ptr<const Program> compile(mlir::ModuleOp module) {
    auto program = compileModule(module, weights, options);
    EXPECT_TRUE(program.isOk()) << program.status().message();
    return program.isOk() ? *program : nullptr;
  }

  /// As a compilation in a process of its own: from text in a new context.
  void expectSameProgram(const std::string &text) {
    auto fresh = ir::makeContext();
    auto parsed = ir::parseModule(*fresh, text, "dump");
    ASSERT_TRUE(parsed.isOk()) << parsed.status().message();
    std::shared_ptr<const Program> program = compile(**parsed);
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
        Named{"reach", [](ModelConfig &c) { c.reachBins = 3; }, {"behavior"}}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace betz
