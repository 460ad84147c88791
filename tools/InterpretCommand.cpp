#include "tools/CompilerCommands.h"

#include "ir/reference/Interpreter.h"
#include "passes/Passes.h"
#include "runtime/base/File.h"
#include "runtime/base/Progress.h"
#include "tools/Compare.h"
#include "tools/Model.h"
#include "tools/ModelOptions.h"

#include <chrono>
#include <fmt/format.h>
#include <memory>

namespace betz {

namespace {

struct Options {
  ModelRequest model;
  CompileOptions compile;
  std::string phase = "model";
  std::filesystem::path input, expect, json;
  double tolerance = 1e-10;
};

std::vector<NamedValues> toNamed(const reference::TensorMap &tensors) {
  std::vector<NamedValues> named;
  for (const auto &[name, tensor] : tensors)
    if (tensor.integer.empty())
      named.push_back({name, tensor.shape, tensor.real});
  return named;
}

Result<reference::TensorMap> interpret(const Options &options,
                                       const reference::TensorMap &inputs) {
  std::optional<ir::Phase> phase = ir::parsePhase(options.phase);
  if (!phase)
    return invalidArgument(fmt::format(
        "--phase {}: must be model, kernels or program", options.phase));
  BETZ_ASSIGN_OR_RETURN(LoadedModel model, loadModel(options.model));
  BETZ_RETURN_IF_ERROR(loadWeights(options.model, model));
  BusyLine busy("interpreting " + model.name);
  if (ir::getPhase(*model.module) < *phase)
    BETZ_RETURN_IF_ERROR(lowerModule(*model.module, *phase, options.compile));
  BETZ_ASSIGN_OR_RETURN(reference::TensorMap derived,
                        reference::runPrepare(*model.module, model.weights));
  Result<reference::TensorMap> outputs =
      reference::runMain(*model.module, derived, inputs);
  if (!outputs.isOk())
    return std::move(outputs).status().withContext(options.input.string());
  return outputs;
}

Status run(const Options &options) {
  auto start = std::chrono::steady_clock::now();
  BETZ_RETURN_IF_ERROR(
      checkOutputs({options.json}, {options.model.model, options.model.weights,
                                    options.input, options.expect}));
  BETZ_ASSIGN_OR_RETURN(reference::TensorMap inputs,
                        readTensors(options.input));
  BETZ_ASSIGN_OR_RETURN(reference::TensorMap outputs,
                        interpret(options, inputs));
  Json report;
  report["seconds"] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  for (const NamedValues &output : toNamed(outputs))
    report["outputs"][output.name] = output.shape;
  Status status;
  if (!options.expect.empty()) {
    BETZ_ASSIGN_OR_RETURN(reference::TensorMap expected,
                          readTensors(options.expect));
    status = compareOutputs(toNamed(outputs), toNamed(expected),
                            options.tolerance, report);
    if (options.json != "-")
      printComparison(report, options.tolerance);
  }
  if (!options.json.empty())
    BETZ_RETURN_IF_ERROR(writeJsonReport(report, options.json));
  return status;
}

} // namespace

void addInterpretCommand(CommandLine &line) {
  auto options = std::make_shared<Options>();
  CLI::App *command = line.addCommand(
      "interpret", "Run a model in the f64 reference interpreter",
      [options] { return run(*options); });
  addModelOptions(*command, options->model);
  addTargetOptions(*command, options->compile);
  command->add_option("--phase", options->phase,
                      "Lower to model, kernels or program first");
  command->add_option("--input", options->input, "Safetensors with one batch")
      ->required();
  command->add_option("--expect", options->expect,
                      "Compare the outputs with those in this file");
  command->add_option("--tol", options->tolerance,
                      "Allowed error, relative to the largest magnitude of "
                      "each expected tensor");
  command->add_option("--json", options->json,
                      "Write a report to FILE, or - for standard output");
  command->footer(
      "Example:\n"
      "  betz interpret --weights w.safetensors --input c.safetensors"
      " --expect c.safetensors --outputs behavior,latents_out");
}

} // namespace betz
