//===- StepProfile.h - Where the time of a step goes ----------------------===//
#pragma once

#include "codegen/common/KernelSpec.h"
#include "runtime/hal/DeviceState.h"
#include "runtime/session/Session.h"
#include "tools/HostStep.h"

#include <optional>
#include <string>
#include <vector>

namespace betz {

/// All launches of one kernel in a step.
struct KernelTime {
  std::string name;
  /// Its function; kernels with equal specs share it.
  std::string code;
  std::string section;
  int64_t calls = 0;
  /// Of all calls together: inside a step, or in a graph of nothing else where
  /// the step is a graph; and each launched and waited for.
  double seconds = 0, aloneSeconds = 0;
  /// Of all calls together; nothing where the kernel's spec does not say.
  std::optional<KernelWork> work = {};

  double flops() const { return work ? work->flops : 0; }
  double bytes() const { return work ? work->bytes : 0; }
};

/// One launch inside a step; seconds since its first launch began.
struct LaunchTime {
  /// Of StepProfile::kernels.
  size_t kernel = 0;
  double begin = 0, end = 0;
  std::optional<KernelWork> work = {};
};

/// A step's graph on a device with a clock of its own.
struct GraphTime {
  size_t nodes = 0;
  /// Of a replay, and of the same launches given one by one.
  double seconds = 0, separateSeconds = 0;
};

struct StepProfile {
  /// Windows of the step.
  int64_t batch = 0;
  std::vector<int64_t> extents;
  size_t steps = 0;
  /// Seconds of a whole step.
  double median = 0, p99 = 0;
  /// Seconds a step with two in flight, where the session has room for two.
  std::optional<double> inFlight = {};
  /// Of the device, when the steps had run.
  DeviceState device = {};
  /// Those that the step launches.
  std::vector<KernelTime> kernels;
  /// Of the fastest pass; empty when only whole steps were measured.
  std::vector<LaunchTime> launches;
  /// Set for code that a GPU runs.
  std::optional<GraphTime> graph = {};

  double flops() const;
  double kernelSeconds() const;
  /// What a step takes beside its kernels: checks, copies, going from one
  /// kernel to the next, unless a graph does. Noise can make it negative.
  double hostSeconds() const {
    return median - (graph ? graph->seconds : kernelSeconds());
  }
};

struct ProfileOptions {
  /// The session's, by name, for StepProfile::device.
  std::string device = "cpu";
  /// Seconds of whole steps, at least.
  double minTime = 1;
  /// Leaves kernels' times and the launches out.
  bool stepsOnly = false;
};

/// A step of `batch` random windows of `events` events each, or of as many as
/// the program takes; always the same. An InvalidArgument when no bucket holds
/// such a step.
Result<HostStep> makeProfileStep(const Session &session, int64_t batch,
                                 int64_t events);

/// Runs `step` again and again: whole, then launch by launch with a timestamp
/// on either side, then each launch alone. A GPU's graph and kernels are timed
/// by its own clock. Fails as Session::run does.
Result<StepProfile> profileStep(Session &session, HostStep &step,
                                const ProfileOptions &options);

/// Work of one launch of a kernel; nothing where its spec does not say.
std::optional<KernelWork> workOf(const KernelSpecEntry &kernel,
                                 std::span<const int64_t> extents);

} // namespace betz
