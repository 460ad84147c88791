#include "serve/engine/DecoderPorts.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz::serve {
namespace {

std::optional<uint32_t> findInput(const Program &program,
                                  std::string_view name) {
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (program.inputs[i].tensor.name == name)
      return uint32_t(i);
  return std::nullopt;
}

Result<uint32_t> needInput(const Program &program, std::string_view name) {
  if (auto input = findInput(program, name))
    return *input;
  return invalidArgument(fmt::format(
      "the program has no input {}, so it is no decoder of spikes", name));
}

Status findInputs(const Program &program, DecoderPorts &ports) {
  BETZ_ASSIGN_OR_RETURN(ports.neuronId, needInput(program, "neuron_id"));
  BETZ_ASSIGN_OR_RETURN(ports.timeBin, needInput(program, "time_bin"));
  BETZ_ASSIGN_OR_RETURN(ports.value, needInput(program, "value"));
  BETZ_ASSIGN_OR_RETURN(ports.rowSplits, needInput(program, "row_splits"));
  ports.windowStart = findInput(program, "window_start");
  for (const SplitsCheck &check : program.splitsChecks)
    if (check.input == ports.rowSplits)
      ports.maxEvents = check.maxRows;
  for (uint32_t i = 0; i < program.inputs.size(); ++i)
    if (!program.inputs[i].defaultValue && i != ports.neuronId &&
        i != ports.timeBin && i != ports.value && i != ports.rowSplits)
      return invalidArgument(fmt::format(
          "the program's input {} is not something that a recording gives",
          program.inputs[i].tensor.name));
  return Status::ok();
}

} // namespace

Result<DecoderPorts> findDecoderPorts(const Program &program) {
  DecoderPorts ports;
  BETZ_RETURN_IF_ERROR(findInputs(program, ports));
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const TensorSpec &output = program.outputs[i];
    if (output.name != "behavior")
      continue;
    if (output.dtype != DType::F32 || output.shape.size() != 2 ||
        output.shape[0].symbol < 0 || output.shape[1].symbol >= 0)
      return invalidArgument(
          "the program's output behavior is not f32 [windows, columns]");
    ports.behavior = uint32_t(i);
    ports.columns = output.shape[1].plus;
    return ports;
  }
  return invalidArgument("the program has no output behavior; compile it with "
                         "--outputs behavior");
}

int32_t indexLimit(const Program &program, uint32_t input) {
  int64_t limit = INT32_MAX;
  for (const IndexCheck &check : program.indexChecks)
    if (check.input == input)
      limit = std::min(limit, check.below);
  return int32_t(limit);
}

} // namespace betz::serve
