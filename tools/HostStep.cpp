#include "tools/HostStep.h"

#include "runtime/session/BindingChecks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

Result<std::vector<std::optional<HostTensor>>>
readInputs(const Program &program, const SafetensorsFile &file) {
  std::vector<std::optional<HostTensor>> tensors;
  std::vector<std::string> missing;
  for (const InputSpec &input : program.inputs) {
    const SafeTensor *found = file.find(input.tensor.name);
    if (!found && !input.alias.empty())
      found = file.find(input.alias);
    tensors.emplace_back();
    if (!found && !input.defaultValue)
      missing.push_back(
          input.alias.empty()
              ? input.tensor.name
              : fmt::format("{} (or {})", input.tensor.name, input.alias));
    if (found) {
      BETZ_ASSIGN_OR_RETURN(tensors.back(), toHost(*found));
    }
  }
  if (!missing.empty())
    return invalidArgument(fmt::format(
        "the program's input{} {} {} not there", missing.size() > 1 ? "s" : "",
        fmt::join(missing, ", "), missing.size() > 1 ? "are" : "is"));
  return tensors;
}

Result<HostStep> makeStep(const Program &program, const SafetensorsFile &file) {
  HostStep step;
  BETZ_ASSIGN_OR_RETURN(step.inputs, readInputs(program, file));
  step.extents.resize(program.symbols.size());
  BETZ_RETURN_IF_ERROR(checkInputs(program, step.bindInputs(), step.extents));
  for (const TensorSpec &output : program.outputs)
    step.outputs.push_back(makeTensor(output, step.extents));
  return step;
}

} // namespace

std::vector<InputBinding> HostStep::bindInputs() const {
  std::vector<InputBinding> bindings;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const std::optional<HostTensor> &tensor = inputs[i])
      bindings.push_back(
          {uint32_t(i), tensor->dtype, tensor->data.data(), tensor->shape});
  return bindings;
}

std::vector<OutputBinding> HostStep::bindOutputs() {
  std::vector<OutputBinding> bindings;
  for (HostTensor &tensor : outputs)
    bindings.push_back({uint32_t(bindings.size()), tensor.dtype,
                        tensor.data.data(), tensor.shape});
  return bindings;
}

HostTensor makeTensor(const TensorSpec &spec,
                      std::span<const int64_t> extents) {
  HostTensor tensor = {spec.name, spec.dtype, {}, {}};
  for (const Dim &dim : spec.shape)
    tensor.shape.push_back(dim.evaluate(extents));
  tensor.data.resize(size_t(spec.bytes(extents)));
  return tensor;
}

Result<HostStep> readStep(const Program &program,
                          const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  Result<HostStep> step = makeStep(program, file);
  if (!step.isOk())
    return std::move(step).status().withContext(path.string());
  return step;
}

} // namespace betz
