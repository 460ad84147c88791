#include "tools/CompilerCommands.h"

#include "passes/Passes.h"
#include "runtime/base/File.h"
#include "tools/Graph.h"
#include "tools/GraphSvg.h"
#include "tools/Model.h"
#include "tools/ModelOptions.h"
#include "tools/Sparsity.h"

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
  int64_t batchSize = 1, events = 512;
  std::filesystem::path recording;
  std::vector<int64_t> windows;
  std::filesystem::path json;
};

/// The part of a program that --target asks for, the first without it.
Result<const TargetVariant *> chooseVariant(const Program &program,
                                            const CompileOptions &options) {
  std::vector<std::string> names;
  for (const TargetVariant &target : program.targets)
    names.push_back(target.target);
  if (names.empty())
    return invalidArgument("the program has no target, and so no IR");
  if (options.targets.empty())
    return &program.targets.front();
  if (options.targets.size() == 1)
    if (const TargetVariant *found =
            program.findTarget(options.targets.front()))
      return found;
  return invalidArgument(
      fmt::format("--target {}: name one of the program's: {}",
                  fmt::join(options.targets, ","), fmt::join(names, ", ")));
}

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
  BETZ_ASSIGN_OR_RETURN(const TargetVariant *variant,
                        chooseVariant(*program, options.compile));
  LoadedModel model;
  model.context = makeContext();
  BETZ_ASSIGN_OR_RETURN(model.module,
                        parseModule(*model.context, variant->irText,
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

/// For people: "demo".
std::string modelName(const Options &options) {
  const ModelRequest &model = options.model;
  return (model.model.empty() ? model.weights : model.model).stem().string();
}

Result<std::string> renderSvg(const Options &options, mlir::ModuleOp module) {
  // As far as row splits go.
  if (options.batchSize < 1 || options.events < 0 ||
      options.batchSize > INT32_MAX / std::max<int64_t>(1, options.events))
    return invalidArgument("--batch-size must be positive, --events zero or "
                           "more, and their product below 2^31");
  GraphTitle title{modelName(options), options.phase, ""};
  if (!options.kernel.empty()) {
    BETZ_ASSIGN_OR_RETURN(KernelOp kernel, findKernel(module, options.kernel));
    title.name += ", kernel " + options.kernel;
    return toSvg(makeKernelGraph(kernel), title);
  }
  Graph graph = makeGraph(module);
  BETZ_RETURN_IF_ERROR(
      addWork(graph, module, options.batchSize, options.events));
  if (getPhase(module) != Phase::Model)
    title.size = fmt::format("{} window{} × {} events", options.batchSize,
                             options.batchSize == 1 ? "" : "s", options.events);
  return toSvg(graph, title);
}

Result<std::string> render(const Options &options, mlir::ModuleOp module) {
  if (options.format == "svg")
    return renderSvg(options, module);
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

/// The report of --sparsity as text, as JSON with --json, and as a picture
/// with --format svg; one at most goes to standard output.
Status runSparsity(const Options &options) {
  bool draws = options.format == "svg";
  BETZ_RETURN_IF_ERROR(checkOutputs({options.output, options.json},
                                    {options.model.model, options.recording}));
  if (draws && options.output == "-" && options.json == "-")
    return invalidArgument("--format svg and --json both write to standard "
                           "output; name a file with -o");
  BETZ_ASSIGN_OR_RETURN(LoadedModel model,
                        loadAtPhase(options, Phase::Kernels));
  BETZ_ASSIGN_OR_RETURN(
      SparsityReport report,
      measureSparsity(*model.module, options.recording, options.windows));
  report.model = modelName(options);
  if (draws)
    BETZ_RETURN_IF_ERROR(writeText(toSvg(report), options.output));
  if (!options.json.empty())
    BETZ_RETURN_IF_ERROR(writeJsonReport(toJson(report), options.json));
  if (options.json == "-" || (draws && options.output == "-"))
    return Status::ok();
  return writeText(toText(report), "-");
}

Status run(const Options &options) {
  if (!options.recording.empty())
    return runSparsity(options);
  std::optional<Phase> phase = parsePhase(options.phase);
  if (!phase)
    return invalidArgument(fmt::format(
        "--phase {}: must be model, kernels or program", options.phase));
  if (options.format != "mlir" && options.format != "json" &&
      options.format != "dot" && options.format != "svg")
    return invalidArgument(fmt::format(
        "--format {}: must be mlir, json, dot or svg", options.format));
  BETZ_RETURN_IF_ERROR(checkOutputs({options.output}, {options.model.model}));
  BETZ_ASSIGN_OR_RETURN(LoadedModel model, loadAtPhase(options, *phase));
  BETZ_ASSIGN_OR_RETURN(std::string text, render(options, *model.module));
  return writeText(text, options.output);
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
                      "mlir, json, dot or svg (default mlir)");
  command->add_option("--kernel", options->kernel, "Only this kernel");
  command->add_option("--batch-size", options->batchSize,
                      "Windows that svg counts FLOPs and bytes for (default "
                      "1)");
  command->add_option("--events", options->events,
                      "Events of each of them (default 512)");
  command->add_option("--sparsity", options->recording,
                      "Which blocks of the attention to events are computed, "
                      "for a recording (NWB); as a picture with --format svg");
  command
      ->add_option("--window", options->windows,
                   "Windows for --sparsity (default the first with events)")
      ->delimiter(',');
  command->add_option("--json", options->json,
                      "Write the report of --sparsity to FILE, or - for "
                      "standard output");
  command->add_option("-o,--output", options->output,
                      "File to write (default standard output)");
  command->footer(
      "What it prints as mlir can be compiled: the program is the same, byte "
      "for byte.\n"
      "Examples:\n"
      "  betz dump frontend/models/demo.toml --phase kernels\n"
      "  betz dump m.betz --target cuda:sm_90a --phase kernels\n"
      "  betz dump m.betz --phase program --format dot | dot -Tsvg > m.svg");
}

} // namespace betz
