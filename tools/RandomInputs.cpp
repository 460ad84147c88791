#include "tools/RandomInputs.h"

#include <algorithm>
#include <random>

namespace betz {
namespace {

void fillFloats(HostTensor &tensor, std::mt19937 &random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  if (tensor.dtype == DType::F32)
    for (float &value : tensor.as<float>())
      value = uniform(random);
}

void fillSplits(const SplitsCheck &check, HostStep &step) {
  std::span<int32_t> splits = step.inputs[check.input]->as<int32_t>();
  int64_t segments = int64_t(splits.size()) - 1;
  int64_t rows = step.extents[size_t(check.rowsSymbol)];
  for (int64_t i = 1; i <= segments; ++i)
    splits[size_t(i)] = int32_t(rows / segments * i);
}

void fillIndices(const IndexCheck &check, HostStep &step,
                 std::mt19937 &random) {
  std::span<int32_t> values = step.inputs[check.input]->as<int32_t>();
  std::uniform_int_distribution<int64_t> uniform(
      0, std::max<int64_t>(check.below, 1) - 1);
  for (int32_t &value : values)
    value = int32_t(uniform(random));
  if (!check.splitsInput)
    return;
  // All bases are zero.
  std::span<const int32_t> splits =
      step.inputs[*check.splitsInput]->as<int32_t>();
  for (size_t i = 0; i + 1 < splits.size(); ++i)
    std::sort(values.begin() + splits[i], values.begin() + splits[i + 1]);
}

} // namespace

std::vector<int64_t> chooseExtents(const Program &program,
                                   const TargetVariant &target, int64_t batch,
                                   int64_t rows) {
  std::vector<int64_t> extents = target.plans.back().capacity;
  for (const SplitsCheck &check : program.splitsChecks) {
    const Dim &splits = program.inputs[check.input].tensor.shape[0];
    extents[size_t(splits.symbol)] = batch;
    extents[size_t(check.rowsSymbol)] = batch * std::min(rows, check.maxRows);
  }
  return extents;
}

HostStep makeRandomStep(const Program &program, std::vector<int64_t> extents,
                        uint32_t seed) {
  std::mt19937 random(seed);
  HostStep step;
  step.extents = std::move(extents);
  for (const InputSpec &input : program.inputs) {
    step.inputs.push_back(makeTensor(input.tensor, step.extents));
    fillFloats(*step.inputs.back(), random);
  }
  for (const TensorSpec &output : program.outputs)
    step.outputs.push_back(makeTensor(output, step.extents));
  for (const SplitsCheck &check : program.splitsChecks)
    fillSplits(check, step);
  for (const IndexCheck &check : program.indexChecks)
    fillIndices(check, step, random);
  return step;
}

Status writeRandomStates(Session &session) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 0.02f);
  for (const TensorSpec &state : session.program().states) {
    HostTensor tensor = makeTensor(state, {});
    if (tensor.dtype == DType::F32)
      for (float &value : tensor.as<float>())
        value = uniform(random);
    BETZ_RETURN_IF_ERROR(session.writeState(state.name, tensor.data));
  }
  return Status::ok();
}

} // namespace betz
