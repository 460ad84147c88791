#include "runtime/session/BatchedRun.h"
#include "runtime/session/BindingChecks.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace betz {
namespace {

/// The part of a symbol that one step works on.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

/// Cuts one batch into steps.
class BatchCutter {
public:
  BatchCutter(Session &session, std::span<const InputBinding> inputs,
              std::span<const OutputBinding> outputs,
              std::vector<int64_t> extents)
      : session(session), program(session.program()), inputs(inputs),
        outputs(outputs), whole(std::move(extents)) {}

  /// The symbol that all splits are over, or nothing when the program's inputs
  /// cannot be cut.
  std::optional<int32_t> findBatchSymbol() const;

  Status run(int32_t batchSymbol);

private:
  std::span<const int32_t> splitsOf(const SplitsCheck &check) const {
    const InputBinding *binding = findBinding(inputs, check.input);
    return {static_cast<const int32_t *>(binding->data),
            size_t(binding->shape[0])};
  }
  void setRange(int32_t batchSymbol, int64_t begin, int64_t end);
  bool fits(int32_t batchSymbol, int64_t begin, int64_t end);
  bool isSplits(uint32_t input) const;
  Status runRange();
  InputBinding cut(const InputBinding &binding, std::vector<int64_t> &shape,
                   std::vector<int32_t> &splits) const;
  OutputBinding cut(const OutputBinding &binding,
                    std::vector<int64_t> &shape) const;
  size_t offsetOf(const TensorSpec &tensor) const;
  std::vector<int64_t> shapeOf(const TensorSpec &tensor) const;

  Session &session;
  const Program &program;
  std::span<const InputBinding> inputs;
  std::span<const OutputBinding> outputs;
  const std::vector<int64_t> whole;
  /// One for each symbol.
  std::vector<Range> ranges;
};

/// Whether `tensor` is one row for each of a symbol, in the first dimension
/// only: what can be cut by moving a pointer.
bool hasRows(const TensorSpec &tensor) {
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    if (tensor.shape[i].symbol >= 0 &&
        (i > 0 || tensor.shape[i].factor != 1 || tensor.shape[i].plus != 0))
      return false;
  return !tensor.shape.empty() && tensor.shape[0].symbol >= 0;
}

bool BatchCutter::isSplits(uint32_t input) const {
  return std::ranges::any_of(
      program.splitsChecks,
      [&](const SplitsCheck &check) { return check.input == input; });
}

std::optional<int32_t> BatchCutter::findBatchSymbol() const {
  if (program.splitsChecks.empty())
    return std::nullopt;
  auto batchOf = [&](const SplitsCheck &check) {
    return program.inputs[check.input].tensor.shape[0].symbol;
  };
  int32_t batch = batchOf(program.splitsChecks.front());
  std::vector<bool> isCut(program.symbols.size());
  isCut[size_t(batch)] = true;
  for (const SplitsCheck &check : program.splitsChecks) {
    if (batchOf(check) != batch)
      return std::nullopt;
    isCut[size_t(check.rowsSymbol)] = true;
  }
  auto canCut = [&](const TensorSpec &tensor) {
    return hasRows(tensor) && isCut[size_t(tensor.shape[0].symbol)];
  };
  for (const InputBinding &binding : inputs)
    if (!isSplits(binding.input) &&
        !canCut(program.inputs[binding.input].tensor))
      return std::nullopt;
  for (const OutputBinding &binding : outputs)
    if (binding.output >= program.outputs.size() ||
        !canCut(program.outputs[binding.output]))
      return std::nullopt;
  return batch;
}

void BatchCutter::setRange(int32_t batchSymbol, int64_t begin, int64_t end) {
  ranges[size_t(batchSymbol)] = {begin, end};
  for (const SplitsCheck &check : program.splitsChecks) {
    std::span<const int32_t> splits = splitsOf(check);
    ranges[size_t(check.rowsSymbol)] = {splits[size_t(begin)],
                                        splits[size_t(end)]};
  }
}

bool BatchCutter::fits(int32_t batchSymbol, int64_t begin, int64_t end) {
  setRange(batchSymbol, begin, end);
  std::vector<int64_t> extents;
  for (const Range &range : ranges)
    extents.push_back(range.size());
  return session.fits(extents);
}

Status BatchCutter::run(int32_t batchSymbol) {
  ranges.resize(program.symbols.size());
  const int64_t windows = whole[size_t(batchSymbol)];
  for (int64_t begin = 0; begin < windows;) {
    int64_t end = begin;
    while (end < windows && fits(batchSymbol, begin, end + 1))
      ++end;
    // A window that fits nothing is run all the same, for its error.
    end = std::max(end, begin + 1);
    setRange(batchSymbol, begin, end);
    if (Status status = runRange(); !status.isOk())
      return std::move(status).withContext(
          fmt::format("windows {} to {}", begin, end - 1));
    begin = end;
  }
  return Status::ok();
}

std::vector<int64_t> BatchCutter::shapeOf(const TensorSpec &tensor) const {
  std::vector<int64_t> shape;
  for (const Dim &dim : tensor.shape)
    shape.push_back(dim.symbol < 0
                        ? dim.plus
                        : ranges[size_t(dim.symbol)].size() + dim.plus);
  return shape;
}

size_t BatchCutter::offsetOf(const TensorSpec &tensor) const {
  int64_t rowBytes = int64_t(sizeOf(tensor.dtype));
  for (size_t i = 1; i < tensor.shape.size(); ++i)
    rowBytes *= tensor.shape[i].plus;
  return size_t(rowBytes * ranges[size_t(tensor.shape[0].symbol)].begin);
}

InputBinding BatchCutter::cut(const InputBinding &binding,
                              std::vector<int64_t> &shape,
                              std::vector<int32_t> &splits) const {
  const TensorSpec &tensor = program.inputs[binding.input].tensor;
  shape = shapeOf(tensor);
  if (!isSplits(binding.input))
    return {binding.input, binding.dtype,
            static_cast<const std::byte *>(binding.data) + offsetOf(tensor),
            shape};
  const auto *values = static_cast<const int32_t *>(binding.data) +
                       ranges[size_t(tensor.shape[0].symbol)].begin;
  splits.assign(values, values + shape[0]);
  for (int32_t &split : splits)
    split -= *values;
  return {binding.input, binding.dtype, splits.data(), shape};
}

OutputBinding BatchCutter::cut(const OutputBinding &binding,
                               std::vector<int64_t> &shape) const {
  const TensorSpec &tensor = program.outputs[binding.output];
  shape = shapeOf(tensor);
  return {binding.output, binding.dtype,
          static_cast<std::byte *>(binding.data) + offsetOf(tensor), shape};
}

Status BatchCutter::runRange() {
  std::vector<std::vector<int64_t>> shapes(inputs.size() + outputs.size());
  std::vector<std::vector<int32_t>> splits(inputs.size());
  std::vector<InputBinding> cutInputs;
  std::vector<OutputBinding> cutOutputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    cutInputs.push_back(cut(inputs[i], shapes[i], splits[i]));
  for (size_t i = 0; i < outputs.size(); ++i)
    cutOutputs.push_back(cut(outputs[i], shapes[inputs.size() + i]));
  return session.run(cutInputs, cutOutputs);
}

} // namespace

Status runBatched(Session &session, std::span<const InputBinding> inputs,
                  std::span<const OutputBinding> outputs) {
  const Program &program = session.program();
  std::vector<int64_t> extents(program.symbols.size());
  BETZ_RETURN_IF_ERROR(checkInputs(program, inputs, extents));
  if (session.fits(extents))
    return session.run(inputs, outputs);
  BatchCutter cutter(session, inputs, outputs, extents);
  std::optional<int32_t> batchSymbol = cutter.findBatchSymbol();
  if (!batchSymbol)
    return session.run(inputs, outputs);
  BETZ_RETURN_IF_ERROR(checkOutputs(program, outputs, extents));
  return cutter.run(*batchSymbol);
}

} // namespace betz
