#include "train/loop/Parameters.h"
#include "runtime/base/Json.h"
#include "runtime/io/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz::train {
namespace {

constexpr int64_t kAlignment = 64;

Result<Parameter> parameterFrom(const Json &json) {
  Parameter parameter;
  BETZ_ASSIGN_OR_RETURN(parameter.name, getMember<std::string>(json, "name"));
  BETZ_ASSIGN_OR_RETURN(parameter.offset, getMember<int64_t>(json, "offset"));
  BETZ_ASSIGN_OR_RETURN(parameter.frozen, getMember<bool>(json, "frozen"));
  BETZ_ASSIGN_OR_RETURN(const Json *shape, getArray(json, "shape"));
  for (const Json &size : *shape)
    parameter.shape.push_back(size.get<int64_t>());
  return parameter;
}

} // namespace

int64_t Parameter::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Result<std::vector<Parameter>> readParameters(const Program &program) {
  const auto found = program.metadata.find("parameters");
  if (found == program.metadata.end())
    return invalidArgument("this program has no table of parameters: it is no "
                           "training program; make one by betz train");
  BETZ_ASSIGN_OR_RETURN(Json table, parseJson(found->second));
  std::vector<Parameter> parameters;
  for (const Json &entry : table) {
    BETZ_ASSIGN_OR_RETURN(Parameter parameter, parameterFrom(entry));
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

int64_t flatSize(std::span<const Parameter> parameters, bool frozen) {
  int64_t size = 0;
  for (const Parameter &parameter : parameters)
    if (parameter.frozen == frozen)
      size = std::max(size, parameter.offset + parameter.elements());
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

Result<std::vector<float>> readWeights(std::span<const Parameter> parameters,
                                       bool frozen,
                                       const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  std::vector<float> flat(size_t(flatSize(parameters, frozen)));
  std::vector<std::string> faults;
  for (const Parameter &parameter : parameters) {
    if (parameter.frozen != frozen)
      continue;
    const SafeTensor *tensor = file.find(parameter.name);
    if (!tensor)
      faults.push_back(fmt::format("{} is missing", parameter.name));
    else if (tensor->dtype != "F32" || tensor->shape != parameter.shape)
      faults.push_back(fmt::format("{} is {} {}, not F32 {}", parameter.name,
                                   tensor->dtype, tensor->shape,
                                   parameter.shape));
    else
      std::memcpy(flat.data() + parameter.offset, tensor->bytes.data(),
                  tensor->bytes.size());
  }
  if (!faults.empty())
    return invalidArgument(
        fmt::format("{}: these weights do not fit the model: {}", path.string(),
                    fmt::join(faults, ", ")));
  return flat;
}

Status writeWeights(std::span<const Parameter> parameters,
                    std::span<const float> trained,
                    std::span<const float> frozen,
                    const std::map<std::string, std::string> &metadata,
                    const std::filesystem::path &path) {
  std::vector<SafeTensor> tensors;
  for (const Parameter &parameter : parameters)
    tensors.push_back(
        {parameter.name, "F32", parameter.shape,
         std::as_bytes((parameter.frozen ? frozen : trained)
                           .subspan(size_t(parameter.offset),
                                    size_t(parameter.elements())))});
  return writeSafetensors(path, tensors, metadata);
}

} // namespace betz::train
