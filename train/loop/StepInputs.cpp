#include "train/loop/StepInputs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace betz::train {

void StepInputs::bind(std::string_view name, DType dtype, const void *data,
                      std::vector<int64_t> shape) {
  for (uint32_t i = 0; i < program->inputs.size(); ++i) {
    const InputSpec &input = program->inputs[i];
    if (input.tensor.name != name && input.alias != name)
      continue;
    shapes.push_back(std::move(shape));
    list.push_back({i, dtype, data, shapes.back()});
    return;
  }
}

void StepInputs::bindBatch(const Batch &batch, int64_t outputs) {
  const std::vector<int64_t> events = {int64_t(batch.neuronId.size())};
  bind("neuron_id", DType::I32, batch.neuronId.data(), events);
  bind("time_bin", DType::I32, batch.timeBin.data(), events);
  bind("value", DType::I32, batch.value.data(), events);
  bind("row_splits", DType::I32, batch.rowSplits.data(),
       {int64_t(batch.rowSplits.size())});
  bind("target", DType::F32, batch.target.data(), {batch.rows(), outputs});
  const int64_t queries =
      int64_t(batch.queryValue.size()) / std::max<int64_t>(batch.rows(), 1);
  for (auto [name, values] : {std::pair("query_neuron", &batch.queryNeuron),
                              std::pair("query_time", &batch.queryTime),
                              std::pair("query_value", &batch.queryValue)})
    bind(name, DType::I32, values->data(), {batch.rows(), queries});
  for (const InputSpec &input : program->inputs)
    if (input.tensor.name == "session")
      bindSessions(batch, queries);
    else if (input.tensor.name == "counts")
      bindCounts(input, batch);
}

void StepInputs::bindSessions(const Batch &batch, int64_t queries) {
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const int32_t session = batch.session[size_t(row)];
    eventSession.resize(size_t(batch.rowSplits[size_t(row) + 1]), session);
    querySession.resize(size_t((row + 1) * queries), session);
  }
  bind("session", DType::I32, eventSession.data(),
       {int64_t(eventSession.size())});
  bind("query_session", DType::I32, querySession.data(),
       {batch.rows(), queries});
}

void StepInputs::bindCounts(const InputSpec &input, const Batch &batch) {
  const int64_t bins = input.tensor.shape[1].plus;
  const int64_t units = input.tensor.shape[2].plus;
  counts.assign(size_t(batch.rows() * bins * units), 0.0f);
  for (int64_t row = 0; row < batch.rows(); ++row)
    for (int32_t i = batch.rowSplits[size_t(row)];
         i < batch.rowSplits[size_t(row) + 1]; ++i) {
      const int64_t cell = (row * bins + batch.timeBin[size_t(i)]) * units +
                           batch.neuronId[size_t(i)];
      counts[size_t(cell)] = std::sqrt(float(batch.value[size_t(i)]));
    }
  bind("counts", DType::F32, counts.data(), {batch.rows(), bins, units});
}

Result<uint32_t> findOutput(const Program &program, std::string_view name) {
  for (uint32_t i = 0; i < program.outputs.size(); ++i)
    if (program.outputs[i].name == name)
      return i;
  return invalidArgument(fmt::format("the program has no output \"{}\"", name));
}

} // namespace betz::train
