#include "passes/MemoryPlan.h"
#include "passes/Passes.h"

#include "llvm/ADT/StringSet.h"

namespace betz::passes {

#define GEN_PASS_DEF_VERIFYMODELPASS
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#define GEN_PASS_DEF_VERIFYPROGRAMPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace {

LogicalResult verifyPhaseName(mlir::ModuleOp module, Phase phase) {
  auto name = module->getAttrOfType<mlir::StringAttr>(kPhaseAttr);
  if (!name || name.getValue() != toString(phase))
    return module.emitError("betz.phase must be \"") << toString(phase) << "\"";
  if (!module->getAttrOfType<mlir::ArrayAttr>(kSymbolsAttr))
    return module.emitError("betz.symbols must list the symbols of dynamic "
                            "dimensions");
  if (auto metadata = module->getAttr(kMetadataAttr)) {
    auto entries = llvm::dyn_cast<mlir::DictionaryAttr>(metadata);
    if (!entries || !llvm::all_of(entries, [](mlir::NamedAttribute entry) {
          return llvm::isa<mlir::StringAttr>(entry.getValue());
        }))
      return module.emitError("betz.metadata must map names to JSON text");
  }
  return success();
}

/// Every name is there and stands once.
LogicalResult verifyNames(mlir::func::FuncOp function, unsigned count,
                          llvm::function_ref<llvm::StringRef(unsigned)> name,
                          llvm::StringRef what) {
  llvm::StringSet<> seen;
  for (unsigned i = 0; i < count; ++i)
    if (name(i).empty() || !seen.insert(name(i)).second)
      return function.emitError()
             << what << " " << i << " must have a name of its own";
  return success();
}

LogicalResult verifySymbols(mlir::ModuleOp module) {
  llvm::StringSet<> known;
  for (mlir::Attribute symbol :
       module->getAttrOfType<mlir::ArrayAttr>(kSymbolsAttr)) {
    auto text = llvm::dyn_cast<mlir::StringAttr>(symbol);
    if (!text || !known.insert(text.getValue()).second)
      return module.emitError("betz.symbols must be distinct names");
  }
  auto check = [&](mlir::Operation *op, mlir::Type type) -> LogicalResult {
    auto tensor = llvm::dyn_cast<Tensor>(type);
    if (!tensor)
      return op->emitError("only ranked tensors are supported, not ") << type;
    for (auto [i, size] : llvm::enumerate(tensor.getShape()))
      if (mlir::ShapedType::isDynamic(size) && i > 0)
        return op->emitError("only the leading dimension may be dynamic: ")
               << type;
    bool dynamic = !tensor.hasStaticShape();
    RowsAttr rows = getRows(tensor);
    if (dynamic != bool(rows) || (rows && !known.contains(rows.getSymbol())))
      return op->emitError("a dynamic dimension needs #betz.rows with one of "
                           "betz.symbols: ")
             << type;
    return success();
  };
  mlir::WalkResult result = module.walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      if (failed(check(op, type)))
        return mlir::WalkResult::interrupt();
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::Type type : block.getArgumentTypes())
          if (failed(check(op, type)))
            return mlir::WalkResult::interrupt();
    return mlir::WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult verifyFunctionFrame(mlir::ModuleOp module) {
  for (mlir::Operation &op : *module.getBody())
    if (!llvm::isa<mlir::func::FuncOp>(op))
      return op.emitError("only @prepare and @main may stand in a module");
  for (llvm::StringRef name : {kPrepare, kMain}) {
    auto function = module.lookupSymbol<mlir::func::FuncOp>(name);
    if (!function || function.isExternal())
      return module.emitError("the module needs a function @") << name;
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitError("must have one block");
  }
  if (llvm::range_size(module.getOps<mlir::func::FuncOp>()) != 2)
    return module.emitError("only @prepare and @main may stand in a module");
  return success();
}

LogicalResult verifyFunctions(mlir::ModuleOp module) {
  mlir::func::FuncOp prepare = getPrepare(module), main = getMain(module);
  auto prepareArg = [&](unsigned i) {
    return getArgName(prepare, i, kWeightAttr);
  };
  auto prepareResult = [&](unsigned i) {
    return getResultName(prepare, i, kDerivedAttr);
  };
  auto mainArg = [&](unsigned i) {
    llvm::StringRef input = getArgName(main, i, kInputAttr);
    llvm::StringRef derived = getArgName(main, i, kDerivedAttr);
    if (!input.empty() && !derived.empty())
      return llvm::StringRef();
    return input.empty() ? derived : input;
  };
  auto mainResult = [&](unsigned i) {
    return getResultName(main, i, kOutputAttr);
  };
  if (failed(verifyNames(prepare, prepare.getNumArguments(), prepareArg,
                         "betz.weight of argument")) ||
      failed(verifyNames(prepare, prepare.getNumResults(), prepareResult,
                         "betz.derived of result")) ||
      failed(verifyNames(main, main.getNumArguments(), mainArg,
                         "betz.input or betz.derived of argument")) ||
      failed(verifyNames(main, main.getNumResults(), mainResult,
                         "betz.output of result")))
    return failure();
  if (main.getNumResults() == 0)
    return main.emitError("must give at least one output");
  for (mlir::Type type : prepare.getArgumentTypes())
    if (!llvm::cast<Tensor>(type).hasStaticShape())
      return prepare.emitError("weights have constant shapes, not ") << type;

  llvm::StringMap<mlir::Type> derived;
  for (unsigned i = 0; i < prepare.getNumResults(); ++i)
    derived[prepareResult(i)] = prepare.getResultTypes()[i];
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    llvm::StringRef name = getArgName(main, i, kDerivedAttr);
    if (!name.empty() && derived.lookup(name) != main.getArgumentTypes()[i])
      return main.emitError("argument ")
             << i << " is derived value \"" << name
             << "\", which @prepare does not give in that type";
  }
  return success();
}

LogicalResult verifyFrame(mlir::ModuleOp module, Phase phase) {
  if (failed(verifyPhaseName(module, phase)) ||
      failed(verifyFunctionFrame(module)) || failed(verifySymbols(module)))
    return failure();
  return verifyFunctions(module);
}

LogicalResult verifyBodies(mlir::ModuleOp module, bool kernels) {
  for (mlir::Operation &op : getPrepare(module).getBody().front()) {
    if (llvm::isa<KernelOp>(op))
      return op.emitError("may not stand in @prepare");
    if (!llvm::isa<BetzDialect>(op.getDialect()) &&
        !llvm::isa<mlir::func::ReturnOp>(op))
      return op.emitError("only betz ops may stand in @prepare");
  }
  llvm::StringSet<> names;
  for (mlir::Operation &op : getMain(module).getBody().front()) {
    if (llvm::isa<mlir::func::ReturnOp>(op))
      continue;
    if (!llvm::isa<BetzDialect>(op.getDialect()))
      return op.emitError("only betz ops may stand in @main");
    auto kernel = llvm::dyn_cast<KernelOp>(op);
    if (kernels != (kernel || llvm::isa<SliceOp, ReshapeOp>(op)) &&
        (kernels || kernel))
      return op.emitError("may not stand in the ")
             << (kernels ? "kernels" : "model") << " phase";
    if (kernel && !names.insert(kernel.getName()).second)
      return op.emitError("another kernel has the name \"")
             << kernel.getName() << "\"";
  }
  return success();
}

struct VerifyModelPass : impl::VerifyModelPassBase<VerifyModelPass> {
  void runOnOperation() override {
    if (failed(verifyFrame(getOperation(), Phase::Model)) ||
        failed(verifyBodies(getOperation(), /*kernels=*/false)))
      signalPassFailure();
  }
};

struct VerifyKernelsPass : impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override {
    if (failed(verifyFrame(getOperation(), Phase::Kernels)) ||
        failed(verifyBodies(getOperation(), /*kernels=*/true)))
      return signalPassFailure();
    getOperation().walk([&](KernelOp kernel) {
      if (kernel.getOffsets()) {
        kernel.emitError("has arena offsets before the program phase");
        signalPassFailure();
      }
    });
  }
};

struct VerifyProgramPass : impl::VerifyProgramPassBase<VerifyProgramPass> {
  void runOnOperation() override {
    if (failed(verifyFrame(getOperation(), Phase::Program)) ||
        failed(verifyBodies(getOperation(), /*kernels=*/true)) ||
        failed(verifyMemoryPlan(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace betz::passes
