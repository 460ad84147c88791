//===- StepInputs.h - A batch as the inputs of a step ---------------------===//
#pragma once

#include "runtime/program/Program.h"
#include "runtime/session/Bindings.h"
#include "train/data/Batches.h"

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace betz::train {

/// Binds tensors to a program's inputs by name or alias; those that the program
/// lacks are left out. The bound data must outlive the bindings.
class StepInputs {
public:
  explicit StepInputs(const Program &program) : program(&program) {}

  void bind(std::string_view name, DType dtype, const void *data,
            std::vector<int64_t> shape);
  /// neuron_id, time_bin, value, row_splits, the queries of masked-spike
  /// training, the session of each event and query, and target where there is
  /// one; or `counts` (f32[B, bins, units]), the square roots of the values by
  /// bin and neuron.
  void bindBatch(const Batch &batch, int64_t outputs);
  std::span<const InputBinding> bindings() const { return list; }

private:
  void bindSessions(const Batch &batch, int64_t queries);
  void bindCounts(const InputSpec &input, const Batch &batch);

  const Program *program;
  std::vector<float> counts;
  std::vector<int32_t> eventSession, querySession;
  std::deque<std::vector<int64_t>> shapes; // stable addresses
  std::vector<InputBinding> list;
};

/// Output `name` of a program; an error that names it where there is none.
Result<uint32_t> findOutput(const Program &program, std::string_view name);

} // namespace betz::train
