//===- CpuRunner.h - Runs a program's CPU kernels under a magnifier -------===//
//
// Not the way to run a program (a Session is): here tasks are cut as oddly as a
// test likes, and kernels work on buffers that show what they do wrong. Each
// input, derived tensor and output ends at a page that may not be touched;
// outputs and arena start as NaN.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/Tensor.h"
#include "runtime/program/Program.h"

#include <memory>
#include <string>

namespace betz {

/// How each launch's tasks are handed to its kernel.
struct TaskCut {
  /// Tasks of a call are at most this many; 0: all at once, in order. Pieces
  /// are of random size and come in random order.
  int64_t largest = 0;
  uint64_t seed = 0;
};

/// Levels of `program`'s CPU code that this machine runs, best first.
std::vector<std::string> runnableLevels(const Program &program);

/// One level's code of one program. Not thread-safe.
class CpuRunner {
public:
  static Result<CpuRunner> open(std::shared_ptr<const Program> program,
                                const std::string &isa);
  CpuRunner(CpuRunner &&other) noexcept;
  ~CpuRunner();

  /// Runs one step in the first plan from `firstPlan` on that fits. Inputs are
  /// found by name or alias; ones with a default may be left out. Ids and
  /// splits are not checked. Reals are rounded to f32. An output's memory that
  /// lies beyond its end and was written is an error.
  Result<reference::TensorMap> run(const reference::TensorMap &inputs,
                                   TaskCut cut = {},
                                   size_t firstPlan = 0) const;

private:
  CpuRunner(std::shared_ptr<const Program> program, void *library);

  std::shared_ptr<const Program> program;
  void *library = nullptr;
};

} // namespace betz
