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
                  "Devices to compile for: cpu, cuda:sm_90a, cuda:sm_80")
      ->delimiter(',');
  command
      .add_option("--precision", options.precision,
                  "What CUDA targets keep weights and activations as; the CPU "
                  "keeps f32")
      ->transform(CLI::CheckedTransformer(std::map<std::string, DType>{
          {"f32", DType::F32}, {"bf16", DType::BF16}}));
  command
      .add_option("--batch", options.batches,
                  "Largest number of windows of each shape bucket")
      ->delimiter(',');
  command.add_option("--max-events", options.maxEvents,
                     "Most events that a window may hold");
}

} // namespace betz
