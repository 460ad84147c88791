#include "tools/CompilerCommands.h"

#include "passes/Passes.h"
#include "runtime/base/File.h"
#include "tools/Graph.h"
#include "tools/Model.h"
#include "tools/ModelOptions.h"

#include <cstdio>
#include <fmt/format.h>
#include <memory>

namespace betz {

using namespace ir;

namespace {

struct Options {
  ModelRequest model;
  CompileOptions compile;
  std::string phase = "model";
  std::string format = "mlir";
  std::string kernel;
  std::filesystem::path output = "-";
};

/// The module in the asked phase: lowered from a model, or raised from a
/// program's own IR.
Result<LoadedModel> loadAtPhase(const Options &options, Phase phase) {
  if (options.model.model.extension() != ".betz") {
    BETZ_ASSIGN_OR_RETURN(LoadedModel model, loadModel(options.model));
    BETZ_RETURN_IF_ERROR(lowerModule(*model.module, phase, options.compile));
    return model;
  }
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        readProgram(options.model.model));
  LoadedModel model;
  model.context = makeContext();
  BETZ_ASSIGN_OR_RETURN(model.module,
                        parseModule(*model.context, program->irText,
                                    options.model.model.string()));
  BETZ_RETURN_IF_ERROR(passes::verifyPhase(*model.module));
  passes::raiseTo(phase, *model.module);
  return model;
}

Result<KernelOp> findKernel(mlir::ModuleOp module, const std::string &name) {
  std::vector<std::string> names;
  for (KernelOp kernel : getMain(module).getOps<KernelOp>()) {
    if (kernel.getName() == name)
      return kernel;
    names.push_back(kernel.getName().str());
  }
  if (names.empty())
    return invalidArgument("--kernel needs --phase kernels or program");
  return invalidArgument(fmt::format("no kernel \"{}\"; there are: {}", name,
                                     fmt::join(names, ", ")));
}

std::string printOperation(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text + "\n";
}

Result<std::string> render(const Options &options, mlir::ModuleOp module) {
  if (options.format == "mlir") {
    if (options.kernel.empty())
      return printModule(module);
    BETZ_ASSIGN_OR_RETURN(KernelOp kernel, findKernel(module, options.kernel));
    return printOperation(kernel);
  }
  Graph graph = makeGraph(module);
  if (!options.kernel.empty()) {
    BETZ_ASSIGN_OR_RETURN(KernelOp kernel, findKernel(module, options.kernel));
    graph = makeKernelGraph(kernel);
  }
  return options.format == "dot" ? toDot(graph) : toJson(graph).dump(2) + "\n";
}

Status run(const Options &options) {
  std::optional<Phase> phase = parsePhase(options.phase);
  if (!phase)
    return invalidArgument(fmt::format(
        "--phase {}: must be model, kernels or program", options.phase));
  if (options.format != "mlir" && options.format != "json" &&
      options.format != "dot")
    return invalidArgument(
        fmt::format("--format {}: must be mlir, json or dot", options.format));
  BETZ_RETURN_IF_ERROR(checkKeeps(options.output, {options.model.model}));
  BETZ_ASSIGN_OR_RETURN(LoadedModel model, loadAtPhase(options, *phase));
  BETZ_ASSIGN_OR_RETURN(std::string text, render(options, *model.module));
  if (options.output != "-")
    return writeFileAtomically(options.output, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    return resourceExhausted("cannot write to standard output");
  return Status::ok();
}

} // namespace

void addDumpCommand(CommandLine &line) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      line.addCommand("dump", "Print a model or program in any phase",
                      [options] { return run(*options); });
  addModelOptions(*command, options->model);
  addTargetOptions(*command, options->compile);
  command->add_option("--phase", options->phase,
                      "model, kernels or program (default model)");
  command->add_option("--format", options->format,
                      "mlir, json or dot (default mlir)");
  command->add_option("--kernel", options->kernel, "Only this kernel");
  command->add_option("-o,--output", options->output,
                      "File to write (default standard output)");
  command->footer(
      "What it prints as mlir can be compiled: the program is the same, byte "
      "for byte.\n"
      "Examples:\n"
      "  betz dump frontend/models/demo.toml --phase kernels\n"
      "  betz dump m.betz --phase program --format dot | dot -Tsvg > m.svg");
}

} // namespace betz
