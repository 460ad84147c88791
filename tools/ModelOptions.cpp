#include "tools/ModelOptions.h"

namespace betz {

void addModelOptions(CLI::App &command, ModelRequest &request) {
  command.add_option("model", request.model,
                     "A model TOML, or a module (.mlir) of any phase; may be "
                     "left out where the weights' metadata describes a model");
  command.add_option("--weights", request.weights,
                     "Safetensors; random weights without it");
  command.add_option("--seed", request.seed, "Seed of random weights");
  command
      .add_option("--outputs", request.outputs,
                  "Outputs to compute: behavior, latents_out")
      ->delimiter(',');
  command.add_flag("--strict", request.strict,
                   "Weights that the graph does not use are an error");
}

void addTargetOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--target", options.targets,
                  "Devices to compile for: cpu (default), cuda:sm_90a, "
                  "cuda:sm_80")
      ->delimiter(',');
  command
      .add_option_function<std::string>(
          "--precision",
          [&options](const std::string &name) {
            options.precision = parseDType(name);
          },
          "What CUDA targets keep weights and activations as: bf16 (default) "
          "or f32; sums are f32. The CPU is always f32")
      ->check(CLI::IsMember({"bf16", "f32"}));
  command
      .add_option("--batch", options.batches,
                  "Largest number of windows of each shape bucket")
      ->delimiter(',');
  command.add_option("--max-events", options.maxEvents,
                     "Most events that a window may hold");
}

} // namespace betz
