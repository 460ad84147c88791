#include "tools/CompilerCommands.h"

#include "runtime/base/File.h"
#include "runtime/base/Progress.h"
#include "tools/Model.h"
#include "tools/ModelOptions.h"

#include <chrono>
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

Result<std::shared_ptr<const Program>> compileAndWrite(const Options &options,
                                                       LoadedModel &model) {
  BETZ_RETURN_IF_ERROR(loadWeights(options.model, model));
  BusyLine busy("compiling " + model.name);
  BETZ_ASSIGN_OR_RETURN(
      std::shared_ptr<const Program> program,
      compileModule(*model.module, model.weights, options.compile));
  BETZ_RETURN_IF_ERROR(writeProgram(*program, options.output));
  return program;
}

Status run(const Options &options) {
  auto start = std::chrono::steady_clock::now();
  for (const std::filesystem::path &output : {options.output, options.json})
    BETZ_RETURN_IF_ERROR(
        checkKeeps(output, {options.model.model, options.model.weights}));
  BETZ_RETURN_IF_ERROR(checkCompileOptions(options.compile));
  BETZ_ASSIGN_OR_RETURN(LoadedModel model, loadModel(options.model));
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        compileAndWrite(options, model));
  Summary summary;
  summary.name = model.name;
  summary.parameters = model.parameters;
  summary.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  std::error_code error;
  summary.bytes = std::filesystem::file_size(options.output, error);
  if (options.json != "-")
    print(*program, summary, options);
  if (!options.json.empty())
    return writeJsonReport(toJson(*program, summary, options), options.json);
  return Status::ok();
}

} // namespace

void addCompileCommand(CommandLine &line) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      line.addCommand("compile", "Compile a model into one program file",
                      [options] { return run(*options); });
  addModelOptions(*command, options->model);
  addTargetOptions(*command, options->compile);
  command->add_option("-o,--output", options->output, "The program to write")
      ->required();
  command->add_option("--json", options->json,
                      "Write a report to FILE, or - for standard output");
  command->footer(
      "Examples:\n"
      "  betz compile frontend/models/cortex-s.toml --target cpu -o s.betz\n"
      "  betz compile --weights decoder.safetensors --batch 1,8 -o d.betz");
}

} // namespace betz
