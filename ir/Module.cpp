#include "ir/Module.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace betz::ir {
namespace {
constexpr llvm::StringLiteral kPhaseNames[] = {"model", "kernels", "program"};
} // namespace

llvm::StringRef toString(Phase phase) { return kPhaseNames[int(phase)]; }

std::optional<Phase> parsePhase(llvm::StringRef name) {
  for (int i = 0; i < 3; ++i)
    if (kPhaseNames[i] == name)
      return static_cast<Phase>(i);
  return std::nullopt;
}

std::unique_ptr<mlir::MLIRContext> makeContext() {
  auto context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  context->loadDialect<BetzDialect, mlir::func::FuncDialect>();
  return context;
}

Result<mlir::OwningOpRef<mlir::ModuleOp>>
parseModule(mlir::MLIRContext &context, llvm::StringRef text,
            llvm::StringRef origin) {
  DiagnosticCollector diagnostics(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, origin),
                             llvm::SMLoc());
  mlir::ParserConfig config(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, config);
  if (!module)
    return diagnostics.takeStatus(StatusCode::InvalidArgument,
                                  (origin + ": not a betz module").str());
  return module;
}

std::string printModule(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << "\n";
  return text;
}

mlir::func::FuncOp getPrepare(mlir::ModuleOp module) {
  return module.lookupSymbol<mlir::func::FuncOp>(kPrepare);
}
mlir::func::FuncOp getMain(mlir::ModuleOp module) {
  return module.lookupSymbol<mlir::func::FuncOp>(kMain);
}

Phase getPhase(mlir::ModuleOp module) {
  auto name = module->getAttrOfType<mlir::StringAttr>(kPhaseAttr);
  return name ? parsePhase(name).value_or(Phase::Model) : Phase::Model;
}

void setPhase(mlir::ModuleOp module, Phase phase) {
  module->setAttr(kPhaseAttr,
                  mlir::StringAttr::get(module.getContext(), toString(phase)));
}

llvm::StringRef getArgName(mlir::func::FuncOp function, unsigned index,
                           llvm::StringRef attribute) {
  auto name = function.getArgAttrOfType<mlir::StringAttr>(index, attribute);
  return name ? name.getValue() : "";
}

llvm::StringRef getResultName(mlir::func::FuncOp function, unsigned index,
                              llvm::StringRef attribute) {
  auto name = function.getResultAttrOfType<mlir::StringAttr>(index, attribute);
  return name ? name.getValue() : "";
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext &context)
    : handler(&context, [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
          return mlir::success();
        llvm::raw_string_ostream stream(text);
        if (!text.empty())
          stream << "; ";
        if (auto place = llvm::dyn_cast<mlir::FileLineColLoc>(
                mlir::LocationAttr(diagnostic.getLocation())))
          stream << place.getFilename().getValue() << ":" << place.getLine()
                 << ":" << place.getColumn() << ": ";
        stream << diagnostic.str();
        return mlir::success();
      }) {}

Status DiagnosticCollector::takeStatus(StatusCode code,
                                       llvm::StringRef fallback) {
  std::string message = text.empty() ? fallback.str() : std::move(text);
  text.clear();
  return {code, std::move(message)};
}

} // namespace betz::ir
