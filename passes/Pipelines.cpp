//===- Pipelines.cpp - The order of the passes, with a reason each --------===//
#include "passes/Passes.h"

#include "mlir/Pass/PassInstrumentation.h"

#include <chrono>
#include <fmt/format.h>

namespace betz::passes {

using namespace ir;

namespace {

/// Times passes and tells of each once it has ended.
class PassTimer : public mlir::PassInstrumentation {
public:
  explicit PassTimer(std::function<void(const PassEvent &)> onPass)
      : onPass(std::move(onPass)) {}

  void runBeforePass(mlir::Pass *, mlir::Operation *) override {
    start = Clock::now();
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    tell(pass, op, /*failed=*/false);
  }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override {
    tell(pass, op, /*failed=*/true);
  }

private:
  using Clock = std::chrono::steady_clock;

  void tell(mlir::Pass *pass, mlir::Operation *op, bool failed) {
    std::chrono::duration<double> taken = Clock::now() - start;
    llvm::StringRef name = pass->getArgument();
    name.consume_front("betz-");
    onPass({name, llvm::cast<mlir::ModuleOp>(op), failed, taken.count()});
  }

  std::function<void(const PassEvent &)> onPass;
  Clock::time_point start;
};

std::vector<std::string> bucketTexts(const PipelineOptions &options) {
  std::vector<std::string> texts;
  for (const std::vector<int64_t> &bucket : options.buckets)
    texts.push_back(fmt::format("{}", fmt::join(bucket, "x")));
  return texts;
}

void addModelToKernels(mlir::OpPassManager &manager,
                       const PipelineOptions &options) {
  // 1. Nothing below needs to cope with an ill-formed module.
  manager.addPass(createVerifyModelPass());
  // 2. First of all, so that later passes see only work that a step must do.
  manager.addPass(createHoistPass());
  // 3. Before norms are taken apart: it turns whole LayerNorms into RMSNorms,
  //    which need one pass over a row less.
  manager.addPass(createCentrePass());
  // 4. Before absorb-norm, which would take the norm that it looks for.
  manager.addPass(createProjectTablesPass());
  // 5. Before absorb-norm too, so that the head's norm goes into the narrow
  //    matmul that this leaves.
  manager.addPass(createAbsorbHeadPass());
  // 6. What norms are left before a matmul.
  manager.addPass(createAbsorbNormPass());
  // 7. On the attentions that are left.
  manager.addPass(createAnnotateSparsityPass());
  // 8. After the rewrites, which look for plain f32 ops, and before kernels,
  //    whose operands have the final types.
  if (options.narrow)
    manager.addPass(createNarrowPass());
  // 9. After everything that makes or replaces weights.
  if (options.panel > 0)
    manager.addPass(createPackPanelsPass({options.panel}));
  // 10. Last: the passes above rewrite plain ops only.
  manager.addPass(createFusePass({options.normsApart}));
  manager.addPass(createVerifyKernelsPass());
}

void addKernelsToProgram(mlir::OpPassManager &manager,
                         const PipelineOptions &options) {
  manager.addPass(createVerifyKernelsPass());
  // 11. Needs the final launch order.
  PlanMemoryPassOptions planOptions;
  std::vector<std::string> buckets = bucketTexts(options);
  planOptions.buckets = buckets;
  manager.addPass(createPlanMemoryPass(planOptions));
  manager.addPass(createVerifyProgramPass());
}

Status run(mlir::PassManager &manager, mlir::ModuleOp module) {
  DiagnosticCollector diagnostics(*module.getContext());
  if (mlir::failed(manager.run(module)))
    return diagnostics.takeStatus(StatusCode::InvalidArgument, "a pass failed");
  return Status::ok();
}

} // namespace

Status lowerTo(Phase phase, mlir::ModuleOp module,
               const PipelineOptions &options) {
  Phase from = getPhase(module);
  if (from > phase)
    return invalidArgument(fmt::format("the module is in phase {}, past {}",
                                       toString(from).str(),
                                       toString(phase).str()));
  mlir::PassManager manager(module.getContext());
  if (options.onPass)
    manager.addInstrumentation(std::make_unique<PassTimer>(options.onPass));
  if (from == Phase::Model && phase > Phase::Model)
    addModelToKernels(manager, options);
  if (from < Phase::Program && phase == Phase::Program)
    addKernelsToProgram(manager, options);
  if (from == phase)
    return verifyPhase(module);
  return run(manager, module);
}

Status verifyPhase(mlir::ModuleOp module) {
  mlir::PassManager manager(module.getContext());
  switch (getPhase(module)) {
  case Phase::Model:
    manager.addPass(createVerifyModelPass());
    break;
  case Phase::Kernels:
    manager.addPass(createVerifyKernelsPass());
    break;
  case Phase::Program:
    manager.addPass(createVerifyProgramPass());
    break;
  }
  return run(manager, module);
}

} // namespace betz::passes
