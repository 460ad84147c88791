#include "runtime/program/ProgramChecks.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace betz {
namespace {

/// Extents are held in i32 row splits.
constexpr int64_t kMaxExtent = INT32_MAX;
/// More than any machine holds; keeps sums of sizes far from overflow.
constexpr int64_t kMaxBytes = int64_t(1) << 40;
constexpr size_t kMaxRank = 8;
constexpr size_t kMaxSymbols = 16;
constexpr size_t kMaxOperands = 64;

/// Runs `check(element, i)` over `list`; errors name the element.
template <typename T, typename F>
Status checkEach(const std::vector<T> &list, std::string_view what, F check) {
  for (size_t i = 0; i < list.size(); ++i)
    if (Status status = check(list[i], i); !status.isOk())
      return std::move(status).withContext(fmt::format("{} {}", what, i));
  return Status::ok();
}

/// Names that must be there and differ.
class NameSet {
public:
  Status add(const std::string &name) {
    if (name.empty())
      return dataLoss("a name is empty");
    if (!names.insert(name).second)
      return dataLoss(fmt::format("\"{}\" is there twice", name));
    return Status::ok();
  }

private:
  std::set<std::string, std::less<>> names;
};

Status checkDim(const Dim &dim, const Program &program) {
  if (dim.plus < 0 || dim.plus > kMaxExtent)
    return dataLoss(fmt::format("dimension {} is out of range", dim.plus));
  if (dim.symbol < 0)
    return Status::ok();
  if (size_t(dim.symbol) >= program.symbols.size())
    return dataLoss(
        fmt::format("symbol {} of {}", dim.symbol, program.symbols.size()));
  if (dim.factor < 1 || dim.factor > kMaxExtent)
    return dataLoss(fmt::format("factor {} is out of range", dim.factor));
  return Status::ok();
}

/// `a * b` where both are at least 0, or nothing above kMaxBytes.
std::optional<int64_t> multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMaxBytes)
    return std::nullopt;
  return product;
}

/// Like Dim::evaluate for a checked dimension, which cannot overflow: factor,
/// extent and plus are all at most kMaxExtent.
Result<int64_t> checkedBytes(const TensorSpec &tensor,
                             std::span<const int64_t> extents) {
  std::optional<int64_t> bytes = int64_t(sizeOf(tensor.dtype));
  for (const Dim &dim : tensor.shape)
    if (bytes = multiply(*bytes, dim.evaluate(extents)); !bytes)
      return dataLoss(fmt::format("\"{}\" is too large", tensor.name));
  return *bytes;
}

Status checkTensor(const TensorSpec &tensor, const Program &program) {
  if (tensor.shape.size() > kMaxRank)
    return dataLoss(fmt::format("\"{}\" has rank {}, more than {}", tensor.name,
                                tensor.shape.size(), kMaxRank));
  for (const Dim &dim : tensor.shape)
    if (Status status = checkDim(dim, program); !status.isOk())
      return std::move(status).withContext(fmt::format("\"{}\"", tensor.name));
  return Status::ok();
}

bool hasShape(const TensorSpec &tensor, const Dim &only) {
  return tensor.shape.size() == 1 && tensor.shape[0] == only;
}

Status checkInputs(const Program &program) {
  NameSet names;
  std::set<int32_t> defined;
  BETZ_RETURN_IF_ERROR(checkEach(
      program.inputs, "input", [&](const InputSpec &input, size_t) -> Status {
        const TensorSpec &tensor = input.tensor;
        BETZ_RETURN_IF_ERROR(names.add(tensor.name));
        if (!input.alias.empty())
          BETZ_RETURN_IF_ERROR(names.add(input.alias));
        BETZ_RETURN_IF_ERROR(checkTensor(tensor, program));
        for (const Dim &dim : tensor.shape) {
          if (dim.symbol >= 0 && dim.factor != 1)
            return dataLoss(fmt::format("\"{}\" has a dimension with factor {}",
                                        tensor.name, dim.factor));
          if (dim.symbol >= 0 && !input.defaultValue)
            defined.insert(dim.symbol);
        }
        if (input.defaultValue && tensor.dtype != DType::I32)
          return dataLoss(fmt::format("\"{}\" has a default but is {}",
                                      tensor.name, toString(tensor.dtype)));
        return Status::ok();
      }));
  if (defined.size() != program.symbols.size())
    return dataLoss("a symbol is not the dimension of any required input");
  return Status::ok();
}

Status checkOutputs(const Program &program) {
  NameSet names;
  return checkEach(program.outputs, "output",
                   [&](const TensorSpec &output, size_t) -> Status {
                     BETZ_RETURN_IF_ERROR(names.add(output.name));
                     return checkTensor(output, program);
                   });
}

Status checkStates(const Program &program) {
  NameSet names;
  for (const InputSpec &input : program.inputs)
    BETZ_RETURN_IF_ERROR(names.add(input.tensor.name));
  return checkEach(
      program.states, "state", [&](const TensorSpec &state, size_t) -> Status {
        BETZ_RETURN_IF_ERROR(names.add(state.name));
        BETZ_RETURN_IF_ERROR(checkTensor(state, program));
        for (const Dim &dim : state.shape)
          if (dim.symbol >= 0)
            return dataLoss(
                fmt::format("\"{}\" has a symbolic dimension", state.name));
        return checkedBytes(state, {}).status();
      });
}

Result<const TensorSpec *> integerInput(const Program &program,
                                        uint32_t index) {
  if (index >= program.inputs.size())
    return dataLoss(
        fmt::format("input {} of {}", index, program.inputs.size()));
  const TensorSpec &tensor = program.inputs[index].tensor;
  if (tensor.dtype != DType::I32)
    return dataLoss(fmt::format("\"{}\" is not i32", tensor.name));
  return &tensor;
}

Status checkSplits(const Program &program, const SplitsCheck &check) {
  BETZ_ASSIGN_OR_RETURN(const TensorSpec *splits,
                        integerInput(program, check.input));
  if (splits->shape.size() != 1 || splits->shape[0].symbol < 0 ||
      splits->shape[0].plus != 1)
    return dataLoss(
        fmt::format("\"{}\" is not of shape [segments + 1]", splits->name));
  if (check.rowsSymbol < 0 ||
      size_t(check.rowsSymbol) >= program.symbols.size() ||
      check.rowsSymbol == splits->shape[0].symbol)
    return dataLoss(
        fmt::format("rows symbol {} does not exist", check.rowsSymbol));
  if (check.maxRows < 0)
    return dataLoss(fmt::format("at most {} rows", check.maxRows));
  return Status::ok();
}

/// An index check relative to a base walks segments, so its splits must be
/// checked splits of the rows of its input.
Status checkIndex(const Program &program, const IndexCheck &check) {
  BETZ_ASSIGN_OR_RETURN(const TensorSpec *values,
                        integerInput(program, check.input));
  if (check.below < 0)
    return dataLoss(fmt::format("below {}", check.below));
  if (check.baseInput.has_value() != check.splitsInput.has_value())
    return dataLoss("a base input needs a splits input and the reverse");
  if (!check.baseInput)
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(const TensorSpec *base,
                        integerInput(program, *check.baseInput));
  for (const SplitsCheck &splits : program.splitsChecks) {
    if (splits.input != *check.splitsInput)
      continue;
    int32_t segments = program.inputs[splits.input].tensor.shape[0].symbol;
    if (hasShape(*values, {splits.rowsSymbol, 1, 0}) &&
        hasShape(*base, {segments, 1, 0}))
      return Status::ok();
  }
  return dataLoss(fmt::format("\"{}\" and \"{}\" do not fit the row splits",
                              values->name, base->name));
}

Status checkDerived(const TargetVariant &target, const Program &program) {
  int64_t size = int64_t(target.derivedData.bytes.size());
  return checkEach(
      target.derived, "derived tensor",
      [&](const DerivedTensor &derived, size_t) -> Status {
        BETZ_RETURN_IF_ERROR(checkTensor(derived.tensor, program));
        for (const Dim &dim : derived.tensor.shape)
          if (dim.symbol >= 0)
            return dataLoss(fmt::format("\"{}\" has a symbolic dimension",
                                        derived.tensor.name));
        BETZ_ASSIGN_OR_RETURN(int64_t bytes, checkedBytes(derived.tensor, {}));
        if (derived.offset < 0 ||
            derived.offset % int64_t(kTensorAlignment) != 0 ||
            derived.offset > size || bytes > size - derived.offset)
          return dataLoss(fmt::format(
              "\"{}\" of {} bytes at {} does not fit its section of {} bytes",
              derived.tensor.name, bytes, derived.offset, size));
        return Status::ok();
      });
}

Status checkKernel(const KernelSpecEntry &kernel, const Program &program) {
  if (kernel.tasks.terms.size() > kMaxRank)
    return dataLoss(
        fmt::format("a task space of {} terms", kernel.tasks.terms.size()));
  for (const TaskSpace::Term &term : kernel.tasks.terms) {
    BETZ_RETURN_IF_ERROR(checkDim(term.dim, program));
    if (term.tile < 1 || term.tile > kMaxExtent)
      return dataLoss(fmt::format("tile {} is out of range", term.tile));
  }
  return Status::ok();
}

/// The number of elements that `ref.kind` indexes, or nothing for the arena.
std::optional<size_t> countOf(BufferKind kind, const Program &program,
                              const TargetVariant &target) {
  switch (kind) {
  case BufferKind::Input:
    return program.inputs.size();
  case BufferKind::Output:
    return program.outputs.size();
  case BufferKind::Derived:
    return target.derived.size();
  case BufferKind::State:
    return program.states.size();
  case BufferKind::Arena:
    return std::nullopt;
  }
  return 0;
}

Status checkOperand(const BufferRef &ref, const Program &program,
                    const TargetVariant &target, const LaunchPlan &plan) {
  if (std::optional<size_t> count = countOf(ref.kind, program, target);
      count && ref.index >= *count)
    return dataLoss(fmt::format("index {} of {}", ref.index, *count));
  if (ref.kind == BufferKind::Arena) {
    if (ref.offset < 0 || ref.offset >= plan.arenaBytes)
      return dataLoss(fmt::format("offset {} in an arena of {} bytes",
                                  ref.offset, plan.arenaBytes));
    return Status::ok();
  }
  const TensorSpec &tensor =
      ref.kind == BufferKind::Input    ? program.inputs[ref.index].tensor
      : ref.kind == BufferKind::Output ? program.outputs[ref.index]
      : ref.kind == BufferKind::State  ? program.states[ref.index]
                                       : target.derived[ref.index].tensor;
  BETZ_ASSIGN_OR_RETURN(int64_t bytes, checkedBytes(tensor, plan.capacity));
  if (ref.offset < 0 || ref.offset > bytes)
    return dataLoss(fmt::format("offset {} in \"{}\" of {} bytes", ref.offset,
                                tensor.name, bytes));
  return Status::ok();
}

Status checkLaunch(const Launch &launch, const Program &program,
                   const TargetVariant &target, const LaunchPlan &plan) {
  if (launch.kernel >= target.kernels.size())
    return dataLoss(
        fmt::format("kernel {} of {}", launch.kernel, target.kernels.size()));
  if (launch.operands.size() > kMaxOperands)
    return dataLoss(fmt::format("{} operands", launch.operands.size()));
  return checkEach(launch.operands, "operand",
                   [&](const BufferRef &ref, size_t) {
                     return checkOperand(ref, program, target, plan);
                   });
}

Status checkSizes(const LaunchPlan &plan, const Program &program,
                  const TargetVariant &target) {
  for (const InputSpec &input : program.inputs)
    if (auto bytes = checkedBytes(input.tensor, plan.capacity); !bytes.isOk())
      return bytes.status();
  for (const TensorSpec &output : program.outputs)
    if (auto bytes = checkedBytes(output, plan.capacity); !bytes.isOk())
      return bytes.status();
  for (const KernelSpecEntry &kernel : target.kernels) {
    std::optional<int64_t> tasks = 1;
    for (const TaskSpace::Term &term : kernel.tasks.terms)
      if (tasks = multiply(*tasks, term.dim.evaluate(plan.capacity)); !tasks)
        return dataLoss(
            fmt::format("kernel \"{}\" has too many tasks", kernel.name));
  }
  return Status::ok();
}

Status checkPlan(const LaunchPlan &plan, const LaunchPlan *previous,
                 const Program &program, const TargetVariant &target) {
  if (plan.capacity.size() != program.symbols.size())
    return dataLoss(fmt::format("{} capacities for {} symbols",
                                plan.capacity.size(), program.symbols.size()));
  for (int64_t capacity : plan.capacity)
    if (capacity < 0 || capacity > kMaxExtent)
      return dataLoss(fmt::format("capacity {} is out of range", capacity));
  if (previous && previous->capacity >= plan.capacity)
    return dataLoss("capacities do not ascend");
  if (plan.arenaBytes < 0 || plan.arenaBytes > kMaxBytes)
    return dataLoss(fmt::format("an arena of {} bytes", plan.arenaBytes));
  BETZ_RETURN_IF_ERROR(checkSizes(plan, program, target));
  return checkEach(plan.launches, "launch", [&](const Launch &launch, size_t) {
    return checkLaunch(launch, program, target, plan);
  });
}

Status checkTarget(const TargetVariant &target, const Program &program) {
  BETZ_RETURN_IF_ERROR(checkDerived(target, program));
  NameSet kernelNames;
  BETZ_RETURN_IF_ERROR(
      checkEach(target.kernels, "kernel",
                [&](const KernelSpecEntry &kernel, size_t) -> Status {
                  BETZ_RETURN_IF_ERROR(kernelNames.add(kernel.name));
                  return checkKernel(kernel, program);
                }));
  if (target.plans.empty())
    return dataLoss("no plan");
  BETZ_RETURN_IF_ERROR(
      checkEach(target.plans, "plan", [&](const LaunchPlan &plan, size_t i) {
        const LaunchPlan *previous = i > 0 ? &target.plans[i - 1] : nullptr;
        return checkPlan(plan, previous, program, target);
      }));
  NameSet levels;
  return checkEach(target.executables, "executable",
                   [&](const ExecutableEntry &entry, size_t) -> Status {
                     BETZ_RETURN_IF_ERROR(levels.add(entry.isa));
                     if (entry.code.bytes.empty())
                       return dataLoss("no code");
                     return Status::ok();
                   });
}

} // namespace

Status checkProgram(const Program &program) {
  if (program.symbols.size() > kMaxSymbols)
    return dataLoss(fmt::format("{} symbols", program.symbols.size()));
  NameSet symbols;
  BETZ_RETURN_IF_ERROR(checkEach(
      program.symbols, "symbol",
      [&](const std::string &name, size_t) { return symbols.add(name); }));
  BETZ_RETURN_IF_ERROR(checkInputs(program));
  BETZ_RETURN_IF_ERROR(checkOutputs(program));
  BETZ_RETURN_IF_ERROR(checkStates(program));
  BETZ_RETURN_IF_ERROR(checkEach(program.splitsChecks, "splits check",
                                 [&](const SplitsCheck &check, size_t) {
                                   return checkSplits(program, check);
                                 }));
  BETZ_RETURN_IF_ERROR(checkEach(program.indexChecks, "index check",
                                 [&](const IndexCheck &check, size_t) {
                                   return checkIndex(program, check);
                                 }));
  NameSet targets;
  return checkEach(program.targets, "target",
                   [&](const TargetVariant &target, size_t) -> Status {
                     BETZ_RETURN_IF_ERROR(targets.add(target.target));
                     return checkTarget(target, program);
                   });
}

} // namespace betz
