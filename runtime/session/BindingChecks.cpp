#include "runtime/session/BindingChecks.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr int64_t kUnknown = -1;

std::span<const int32_t> integers(const InputBinding &binding) {
  return {static_cast<const int32_t *>(binding.data), size_t(binding.shape[0])};
}

/// All elements of an i32 input, whatever its rank.
std::span<const int32_t> allIntegers(const InputBinding &binding) {
  size_t count = 1;
  for (int64_t extent : binding.shape)
    count *= size_t(extent);
  return {static_cast<const int32_t *>(binding.data), count};
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Status shapeError(const TensorSpec &tensor, const Program &program,
                  const InputBinding &binding) {
  return invalidArgument(
      fmt::format("input {} has shape [{}]; the program takes {}", tensor.name,
                  fmt::join(binding.shape, ", "), shapeText(tensor, program)));
}

Status checkShape(const Program &program, const InputBinding &binding,
                  std::span<int64_t> extents) {
  const TensorSpec &tensor = program.inputs[binding.input].tensor;
  if (binding.shape.size() != tensor.shape.size())
    return shapeError(tensor, program, binding);
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const Dim &dim = tensor.shape[i];
    int64_t extent = binding.shape[i] - dim.plus;
    if (dim.symbol < 0 ? extent != 0 : extent < 0)
      return shapeError(tensor, program, binding);
    if (dim.symbol < 0)
      continue;
    int64_t &known = extents[size_t(dim.symbol)];
    if (known != kUnknown && known != extent)
      return invalidArgument(fmt::format(
          "input {} has shape [{}], which makes {} {}, but another input "
          "makes it {}",
          tensor.name, fmt::join(binding.shape, ", "),
          program.symbols[size_t(dim.symbol)], extent, known));
    known = extent;
  }
  return Status::ok();
}

Status checkBinding(const Program &program,
                    std::span<const InputBinding> inputs,
                    const InputBinding &binding) {
  if (binding.input >= program.inputs.size())
    return invalidArgument(
        fmt::format("input {} of {}", binding.input, program.inputs.size()));
  const TensorSpec &tensor = program.inputs[binding.input].tensor;
  if (findBinding(inputs, binding.input) != &binding)
    return invalidArgument(fmt::format("input {} is there twice", tensor.name));
  if (binding.dtype != tensor.dtype)
    return invalidArgument(fmt::format("input {} is {}; the program takes {}",
                                       tensor.name, toString(binding.dtype),
                                       toString(tensor.dtype)));
  return Status::ok();
}

Status checkAllThere(const Program &program,
                     std::span<const InputBinding> inputs) {
  auto isMissing = [&](size_t i) {
    return !program.inputs[i].defaultValue && !findBinding(inputs, uint32_t(i));
  };
  bool complete = true;
  for (size_t i = 0; i < program.inputs.size(); ++i)
    complete &= !isMissing(i);
  if (complete)
    return Status::ok();
  std::vector<std::string_view> names;
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (isMissing(i))
      names.push_back(program.inputs[i].tensor.name);
  return invalidArgument(fmt::format("missing input{} {}",
                                     names.size() > 1 ? "s" : "",
                                     fmt::join(names, ", ")));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Status checkSplits(const Program &program, const SplitsCheck &check,
                   std::span<const InputBinding> inputs,
                   std::span<const int64_t> extents) {
  const std::string &name = program.inputs[check.input].tensor.name;
  const std::string &rowsName = program.symbols[size_t(check.rowsSymbol)];
  const int64_t rows = extents[size_t(check.rowsSymbol)];
  std::span<const int32_t> splits = integers(*findBinding(inputs, check.input));
  if (splits.front() != 0)
    return invalidArgument(
        fmt::format("{}[0] is {}; it must be 0", name, splits.front()));
  for (size_t i = 1; i < splits.size(); ++i) {
    int64_t length = int64_t(splits[i]) - splits[i - 1];
    if (length < 0)
      return invalidArgument(
          fmt::format("{}[{}] is {}, less than {} before it (window {})", name,
                      i, splits[i], splits[i - 1], i - 1));
    if (length > check.maxRows)
      return invalidArgument(fmt::format(
          "window {} has {} {}; the program takes at most {} (compile with a "
          "larger --max-{})",
          i - 1, length, rowsName, check.maxRows, rowsName));
  }
  if (splits.back() != rows)
    return invalidArgument(fmt::format("{} ends at {}, but there are {} {}",
                                       name, splits.back(), rows, rowsName));
  return Status::ok();
}

/// " (window 3)" for an element of an input whose rows have checked splits.
std::string windowText(const Program &program, const IndexCheck &check,
                       std::span<const InputBinding> inputs, size_t row) {
  const TensorSpec &tensor = program.inputs[check.input].tensor;
  for (const SplitsCheck &splitsCheck : program.splitsChecks) {
    if (tensor.shape.size() != 1 ||
        tensor.shape[0].symbol != splitsCheck.rowsSymbol)
      continue;
    auto splits = integers(*findBinding(inputs, splitsCheck.input));
    auto after = std::ranges::upper_bound(splits, int64_t(row));
    return fmt::format(" (window {})", after - splits.begin() - 1);
  }
  return "";
}

Status indexError(const Program &program, const IndexCheck &check,
                  std::span<const InputBinding> inputs, size_t at,
                  int64_t base) {
  const std::string &name = program.inputs[check.input].tensor.name;
  int64_t value = allIntegers(*findBinding(inputs, check.input))[at];
  std::string window = windowText(program, check, inputs, at);
  if (!check.baseInput)
    return invalidArgument(fmt::format("{}[{}] is {}; it must be in [0, {}){}",
                                       name, at, value, check.below, window));
  const std::string &baseName = program.inputs[*check.baseInput].tensor.name;
  return invalidArgument(
      fmt::format("{}[{}] is {}; less its {} {} it must be in [0, {}){}", name,
                  at, value, baseName, base, check.below, window));
}

/// Where the first value outside [base, base + below) is, or values.size().
size_t findOutside(std::span<const int32_t> values, int64_t base,
                   int64_t below) {
  // One pass without a branch for the usual case, which vectorizes.
  int32_t least = INT32_MAX, most = INT32_MIN;
  for (int32_t value : values) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (values.empty() || (least >= base && most < base + below))
    return values.size();
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] < base || values[i] >= base + below)
      return i;
  return values.size();
}

Status checkIndex(const Program &program, const IndexCheck &check,
                  std::span<const InputBinding> inputs) {
  const InputBinding *binding = findBinding(inputs, check.input);
  if (!binding) // It has its default, which the compiler chose.
    return Status::ok();
  if (!check.baseInput) {
    std::span<const int32_t> values = allIntegers(*binding);
    size_t at = findOutside(values, 0, check.below);
    return at == values.size() ? Status::ok()
                               : indexError(program, check, inputs, at, 0);
  }
  std::span<const int32_t> values = integers(*binding);
  std::span<const int32_t> splits =
      integers(*findBinding(inputs, *check.splitsInput));
  const InputBinding *bases = findBinding(inputs, *check.baseInput);
  for (size_t i = 0; i + 1 < splits.size(); ++i) {
    int64_t base = bases ? integers(*bases)[i]
                         : *program.inputs[*check.baseInput].defaultValue;
    size_t begin = size_t(splits[i]), length = size_t(splits[i + 1]) - begin;
    size_t at = findOutside(values.subspan(begin, length), base, check.below);
    if (at != length)
      return indexError(program, check, inputs, begin + at, base);
  }
  return Status::ok();
}

} // namespace

const InputBinding *findBinding(std::span<const InputBinding> inputs,
                                uint32_t input) {
  for (const InputBinding &binding : inputs)
    if (binding.input == input)
      return &binding;
  return nullptr;
}

std::string shapeText(const TensorSpec &tensor, const Program &program) {
  std::vector<std::string> dims;
  for (const Dim &dim : tensor.shape) {
    if (dim.symbol < 0) {
      dims.push_back(std::to_string(dim.plus));
      continue;
    }
    std::string text = program.symbols[size_t(dim.symbol)];
    if (dim.factor != 1)
      text = fmt::format("{} * {}", dim.factor, text);
    if (dim.plus != 0)
      text += fmt::format(" + {}", dim.plus);
    dims.push_back(std::move(text));
  }
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

Status checkInputs(const Program &program, std::span<const InputBinding> inputs,
                   std::span<int64_t> extents) {
  std::ranges::fill(extents, kUnknown);
  for (const InputBinding &binding : inputs)
    BETZ_RETURN_IF_ERROR(checkBinding(program, inputs, binding));
  BETZ_RETURN_IF_ERROR(checkAllThere(program, inputs));
  for (const InputBinding &binding : inputs)
    BETZ_RETURN_IF_ERROR(checkShape(program, binding, extents));
  for (const SplitsCheck &check : program.splitsChecks)
    BETZ_RETURN_IF_ERROR(checkSplits(program, check, inputs, extents));
  for (const IndexCheck &check : program.indexChecks)
    BETZ_RETURN_IF_ERROR(checkIndex(program, check, inputs));
  return Status::ok();
}

Status checkOutputs(const Program &program,
                    std::span<const OutputBinding> outputs,
                    std::span<const int64_t> extents) {
  for (const OutputBinding &binding : outputs) {
    if (binding.output >= program.outputs.size())
      return invalidArgument(fmt::format("output {} of {}", binding.output,
                                         program.outputs.size()));
    const TensorSpec &tensor = program.outputs[binding.output];
    if (std::ranges::count(outputs, binding.output, &OutputBinding::output) > 1)
      return invalidArgument(
          fmt::format("output {} is bound twice", tensor.name));
    auto matches = [&](int64_t extent, const Dim &dim) {
      return extent == dim.evaluate(extents);
    };
    if (binding.dtype != tensor.dtype ||
        !std::ranges::equal(binding.shape, tensor.shape, matches))
      return invalidArgument(
          fmt::format("output {} is {} {}, not {} [{}]", tensor.name,
                      toString(tensor.dtype), shapeText(tensor, program),
                      toString(binding.dtype), fmt::join(binding.shape, ", ")));
  }
  return Status::ok();
}

} // namespace betz
