//===- Tuner.h - A program with the tiles that are fastest here -----------===//
#pragma once

#include "codegen/tune/Tasks.h"
#include "runtime/hal/cuda/CudaBaseline.h"
#include "runtime/session/Session.h"

#include <optional>

namespace betz {

/// A task and what was measured of it.
struct TunedKernel {
  tune::Task task;
  std::vector<int64_t> extents = {};
  /// The program's own tile first, then the compiler's choice and the others.
  std::vector<tune::Trial> trials = {};
  /// Of trials: what the compiler chooses, and what won.
  size_t untuned = 0, winner = 0;
  /// Sets of buffers that launches took turns among; more than one where a step
  /// does not fit the L2 cache.
  size_t sets = 1;
  /// A matmul's product alone, by cuBLASLt.
  std::optional<double> cublasSeconds = {};
};

/// Seconds of a whole step on the device, by one graph replay.
struct StepTimes {
  std::vector<int64_t> extents;
  int64_t bytes = 0;
  /// Of the program as it was, with the compiler's tiles, and with the winners.
  double given = 0, untuned = 0, tuned = 0;
};

struct TuningReport {
  std::string device, driver, target, isa;
  size_t cacheBytes = 0;
  /// UTC, as "2026-11-30T12:00:00Z".
  std::string time;
  /// The record that the program came with; empty where it was not tuned.
  std::string startedFrom;
  /// Why there are no times of cuBLASLt; empty where there are.
  std::string withoutCublas;
  std::vector<TunedKernel> kernels;
  std::vector<StepTimes> steps;

  /// The most that a step takes longer with the compiler's tiles than with the
  /// winners, as a fraction; below 0 where it is faster.
  double untunedLoss() const;
};

/// The machine that it runs on, beside the device itself.
struct TuningDevice {
  std::shared_ptr<Device> device;
  std::string driver;
  size_t cacheBytes = 0;
  /// Null where there is nothing to compare with.
  CudaBaseline *baseline = nullptr;
};

struct TuningResult {
  std::shared_ptr<const Program> program;
  TuningReport report;
};

/// Measures each kernel of each bucket with each tile on random windows of
/// `events` events, and builds the program with the winners. Its outputs have
/// the same bits: another result is an error. Needs NVRTC.
Result<TuningResult> tuneProgram(std::shared_ptr<const Program> program,
                                 const TuningDevice &machine, int64_t events);

} // namespace betz
