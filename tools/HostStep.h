//===- HostStep.h - What a step reads and writes, in host memory ----------===//
#pragma once

#include "runtime/io/HostTensor.h"
#include "runtime/program/Program.h"
#include "runtime/session/Bindings.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace betz {

/// One step of a program: its extents, a tensor for each input that is given,
/// and room for each output.
struct HostStep {
  /// One for each of the program's symbols.
  std::vector<int64_t> extents;
  /// One for each of the program's inputs; nothing where its default counts.
  std::vector<std::optional<HostTensor>> inputs;
  /// One for each of the program's outputs.
  std::vector<HostTensor> outputs;

  /// Views of the tensors; they live as long as the step.
  std::vector<InputBinding> bindInputs() const;
  std::vector<OutputBinding> bindOutputs();
};

/// Zeros of the type and shape that `spec` has in a step of these extents.
HostTensor makeTensor(const TensorSpec &spec, std::span<const int64_t> extents);

/// The batch of a safetensors file, which has its tensors by the names of the
/// program's inputs or by their aliases. Every error names the file: required
/// inputs that it lacks, all at once, and what Session::run would refuse.
Result<HostStep> readStep(const Program &program,
                          const std::filesystem::path &path);

} // namespace betz
