// Kernels that differ in where their operands begin alone share their code.
#include "codegen/Compiler.h"
#include "codegen/LowerToSpec.h"
#include "frontend/Gru.h"
#include "passes/TrainingStep.h"

#include <gmock/gmock.h>
#include <set>

namespace betz {
namespace {

/// Code names of all kernels of a recurrent network's training step.
std::multiset<std::string> codesOfStep(int64_t bins) {
  auto context = ir::makeContext();
  GruConfig config;
  config.units = 24;
  config.bins = bins;
  config.hidden = 32;
  config.inputDropout = 0.3;
  config.outputDropout = 0.2;
  passes::TrainingOptions training;
  training.losses = {{"behavior", "target"}};
  auto step = passes::makeTrainingModule(*buildGru(*context, config), training);
  EXPECT_TRUE(step.isOk()) << step.status().message();
  CompileOptions options;
  options.batches = {4};
  Status lowered = lowerModule(*step->module, ir::Phase::Program, options);
  EXPECT_TRUE(lowered.isOk()) << lowered.message();
  std::multiset<std::string> codes;
  for (ir::KernelOp kernel :
       ir::getMain(*step->module).getOps<ir::KernelOp>()) {
    Result<LoweredKernel> spec = lowerToSpec(kernel);
    EXPECT_TRUE(spec.isOk()) << spec.status().message();
    codes.insert(codeName(spec->spec));
    for (int64_t offset : spec->offsets)
      EXPECT_EQ(offset % int64_t(kTensorAlignment), 0);
  }
  return codes;
}

TEST(SharedCode, DoesNotGrowWithTheBinsOfARecurrentNetwork) {
  const std::multiset<std::string> few = codesOfStep(6), many = codesOfStep(12);
  EXPECT_GT(many.size(), few.size() + 60);
  const std::set<std::string> fewCodes(few.begin(), few.end());
  const std::set<std::string> manyCodes(many.begin(), many.end());
  EXPECT_EQ(manyCodes.size(), fewCodes.size());
}

} // namespace
} // namespace betz
