#include "tools/CompilerCommands.h"

#include "runtime/base/File.h"
#include "runtime/base/Progress.h"
#include "tools/CompileObservers.h"
#include "tools/Model.h"
#include "tools/ModelOptions.h"

#include <fmt/format.h>
#include <memory>
#include <set>

namespace betz {

namespace {

struct Options {
  ModelRequest model;
  CompileOptions compile;
  std::filesystem::path output;
  std::filesystem::path json;
  std::string stopAfter;
  std::filesystem::path dumpFolder;
};

struct Summary {
  std::string name;
  int64_t parameters = 0;
  double seconds = 0;
  size_t bytes = 0;
};

std::string withSeparators(int64_t value) {
  std::string digits = std::to_string(value);
  for (int64_t at = int64_t(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(size_t(at), ",");
  return digits;
}

Json toJson(const Program &program, const Summary &summary,
            const Options &options) {
  Json report;
  report["model"] = summary.name;
  report["output"] = options.output.string();
  report["parameters"] = summary.parameters;
  report["compile_s"] = summary.seconds;
  report["program_bytes"] = summary.bytes;
  report["program_hash"] = programHash(program);
  Json &targets = report["targets"] = Json::array();
  for (const TargetVariant &target : program.targets) {
    Json entry;
    entry["target"] = target.target;
    entry["kernels"] = target.kernels.size();
    std::set<std::string> codes;
    for (const KernelSpecEntry &kernel : target.kernels)
      codes.insert(kernel.code);
    entry["distinct_kernels"] = codes.size();
    entry["derived_bytes"] = target.derivedData.bytes.size();
    for (const ExecutableEntry &executable : target.executables)
      entry["code_bytes"][executable.isa] = executable.code.bytes.size();
    Json &buckets = entry["buckets"] = Json::array();
    for (const LaunchPlan &plan : target.plans)
      buckets.push_back(
          {{"capacity", plan.capacity}, {"arena_bytes", plan.arenaBytes}});
    targets.push_back(std::move(entry));
  }
  return report;
}

void print(const Program &program, const Summary &summary,
           const Options &options) {
  fmt::print("compiled {}: {} parameters, {:.2f} s\n", summary.name,
             withSeparators(summary.parameters), summary.seconds);
  for (const TargetVariant &target : program.targets) {
    std::set<std::string> codes;
    for (const KernelSpecEntry &kernel : target.kernels)
      codes.insert(kernel.code);
    fmt::print("  {}: {} kernels ({} distinct)", target.target,
               target.kernels.size(), codes.size());
    for (const ExecutableEntry &executable : target.executables)
      fmt::print(", {} {:.1f} KB", executable.isa,
                 double(executable.code.bytes.size()) / 1e3);
    fmt::print("\n");
    for (const LaunchPlan &plan : target.plans) {
      fmt::print("  bucket");
      for (size_t i = 0; i < plan.capacity.size(); ++i)
        fmt::print(" {} {}", program.symbols[i], plan.capacity[i]);
      fmt::print(": arena {:.2f} MB\n", double(plan.arenaBytes) / 1e6);
    }
  }
  fmt::print("  wrote {}: {:.2f} MB\n", options.output.string(),
             double(summary.bytes) / 1e6);
}

Status compile(const Options &options, const CompileTimings &timings) {
  CompileObserver &observer = *options.compile.observer;
  Stopwatch whole;
  BETZ_ASSIGN_OR_RETURN(LoadedModel model, loadModel(options.model));
  BETZ_RETURN_IF_ERROR(loadWeights(options.model, model));
  observer.onStage("load", whole.seconds());
  std::optional<BusyLine> busy("compiling " + model.name);
  BETZ_ASSIGN_OR_RETURN(
      std::shared_ptr<const Program> program,
      compileModule(*model.module, model.weights, options.compile));
  Stopwatch writing;
  BETZ_RETURN_IF_ERROR(writeProgram(*program, options.output));
  observer.onStage("write", writing.seconds());
  busy.reset();
  Summary summary;
  summary.name = model.name;
  summary.parameters = model.parameters;
  summary.seconds = whole.seconds();
  std::error_code error;
  summary.bytes = std::filesystem::file_size(options.output, error);
  if (options.json != "-")
    print(*program, summary, options);
  if (options.json.empty())
    return Status::ok();
  Json report = toJson(*program, summary, options);
  timings.addTo(report);
  return writeJsonReport(report, options.json);
}

/// Lowers as far as `phase` and writes the module instead of a program.
Status lowerOnly(const Options &options, ir::Phase phase,
                 const CompileTimings &timings) {
  Stopwatch loading;
  BETZ_ASSIGN_OR_RETURN(LoadedModel model, loadModel(options.model));
  options.compile.observer->onStage("load", loading.seconds());
  BETZ_RETURN_IF_ERROR(lowerModule(*model.module, phase, options.compile));
  BETZ_RETURN_IF_ERROR(
      writeText(ir::printModule(*model.module), options.output));
  if (options.json.empty())
    return Status::ok();
  Json report = {{"model", model.name},
                 {"output", options.output.string()},
                 {"parameters", model.parameters},
                 {"stopped_after", ir::toString(phase).str()}};
  timings.addTo(report);
  return writeJsonReport(report, options.json);
}

/// Runs one of the two with every observer that was asked for.
Status runObserved(Options options, std::optional<ir::Phase> stopAfter) {
  ObserverList observers;
  CompileTimings timings;
  observers.add(timings);
  BETZ_ASSIGN_OR_RETURN(int level, debugLevel());
  DebugPrinter printer(level);
  if (level > 0)
    observers.add(printer);
  std::optional<DumpFolder> folder;
  if (!options.dumpFolder.empty()) {
    BETZ_ASSIGN_OR_RETURN(folder, DumpFolder::create(options.dumpFolder));
    observers.add(*folder);
  }
  options.compile.observer = &observers;
  Status status = stopAfter ? lowerOnly(options, *stopAfter, timings)
                            : compile(options, timings);
  if (!folder)
    return status;
  Status written = folder->finish(status);
  return status.isOk() ? std::move(written) : std::move(status);
}

Status run(const Options &options) {
  BETZ_RETURN_IF_ERROR(
      checkOutputs({options.output, options.json},
                   {options.model.model, options.model.weights}));
  BETZ_RETURN_IF_ERROR(checkCompileOptions(options.compile));
  if (options.stopAfter.empty()) {
    if (options.output.empty())
      return invalidArgument("-o is missing: name the program to write");
    return runObserved(options, std::nullopt);
  }
  std::optional<ir::Phase> phase = ir::parsePhase(options.stopAfter);
  if (!phase)
    return invalidArgument(
        fmt::format("--stop-after {}: must be model, kernels or program",
                    options.stopAfter));
  Options lowering = options;
  if (lowering.output.empty())
    lowering.output = "-";
  if (lowering.output == "-" && lowering.json == "-")
    return invalidArgument("--stop-after and --json both write to standard "
                           "output; name a file with -o");
  return runObserved(std::move(lowering), phase);
}

} // namespace

void addCompileCommand(CommandLine &line) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      line.addCommand("compile", "Compile a model into one program file",
                      [options] { return run(*options); });
  addModelOptions(*command, options->model);
  addTargetOptions(*command, options->compile);
  command
      ->add_option("-o,--output", options->output,
                   "The program to write; required without --stop-after")
      ->check(kFileName);
  command->add_option("--json", options->json,
                      "Write a report to FILE, or - for standard output");
  command->add_option("--stop-after", options->stopAfter,
                      "Write the IR of this phase (model, kernels, program) "
                      "instead of a program, to -o or standard output");
  command->add_option("--dump-dir", options->dumpFolder,
                      "Write IR after every pass, and each kernel's spec, "
                      "source, LLVM IR or PTX, and assembly, to a new folder");
  command->footer(
      "Examples:\n"
      "  betz compile frontend/models/cortex-s.toml --target cpu -o s.betz\n"
      "  betz compile frontend/models/cortex-s.toml"
      " --target cuda:sm_90a,cuda:sm_80,cpu -o s.betz\n"
      "  betz compile --weights decoder.safetensors --batch 1,8 -o d.betz\n"
      "  betz compile frontend/models/demo.toml --dump-dir dump -o demo.betz");
}

} // namespace betz
