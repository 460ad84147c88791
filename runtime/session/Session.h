//===- Session.h - A program on a device ----------------------------------===//
#pragma once

#include "runtime/session/StepSlot.h"

namespace betz {

/// A step that was submitted and is to be waited for, once.
enum class StepTicket : uint64_t {};

/// A program loaded on a device, with all memory that its steps need and one
/// recorded command graph for each shape bucket. For one thread at a time;
/// several sessions may share a program and a device.
class Session {
public:
  /// Picks the first target and its best executable that `device` runs; having
  /// none is an error. Code that the device's driver refuses is passed over
  /// with a warning when other code is taken. Everything that steps need is
  /// allocated here, for as many as may be in flight at once (at least 1).
  static Result<std::unique_ptr<Session>>
  create(std::shared_ptr<const Program> program, std::shared_ptr<Device> device,
         size_t stepsInFlight = 1);

  /// Runs one step in the smallest bucket that holds it. The inputs' shapes
  /// give its extents. Outputs that are not bound are not copied. Wrong inputs
  /// are an InvalidArgument that names input, place and value, and then nothing
  /// has run. Allocates nothing and waits for the device once, at the end.
  Status run(std::span<const InputBinding> inputs,
             std::span<const OutputBinding> outputs);

  /// The first half of run(): all but the wait. Inputs are copied before it
  /// returns; the outputs' data must stay until wait(), which fills them. A
  /// step that fails here leaves those in flight as they are. Unavailable when
  /// as many steps as the session has room for are in flight.
  Result<StepTicket> submit(std::span<const InputBinding> inputs,
                            std::span<const OutputBinding> outputs);
  /// The second half: waits for this step alone, in any order among those in
  /// flight. Its ticket is spent, also when it failed.
  Status wait(StepTicket ticket);

  /// Whether some bucket holds a step of these extents.
  bool fits(std::span<const int64_t> extents) const {
    return loaded.choosePlan(extents) != nullptr;
  }

  /// For measurements, after a run(): the bucket that it used, and one launch
  /// of it alone, without the graph.
  const LaunchPlan &lastPlan() const { return last->lastPlan(); }
  Status runLaunch(size_t launch) { return last->runLaunch(launch); }
  /// The same without the wait, or recorded; the stream that it goes to; where
  /// one of its operands lies; and the bucket's graph.
  Status enqueueLaunch(size_t launch) { return last->enqueueLaunch(launch); }
  Stream &commands() { return last->commands(); }
  BufferSlice operandOf(size_t launch, size_t operand) const {
    return last->operandOf(launch, operand);
  }
  CommandGraph &lastGraph() { return last->lastGraph(); }
  /// What the last run()'s launch computed: its extents and its tasks.
  std::span<const int64_t> lastExtents() const { return last->lastExtents(); }

  size_t stepsInFlight() const { return slots.size(); }
  const Program &program() const { return *loaded.program; }
  const TargetVariant &target() const { return *loaded.variant; }
  /// The instruction-set level of the code that was picked.
  const std::string &isa() const { return loaded.code->isa; }
  Device &device() const { return *loaded.device; }

private:
  struct Slot {
    std::unique_ptr<StepSlot> step;
    StepTicket ticket{}; // of the step in flight
  };

  Session(std::shared_ptr<const Program> program,
          std::shared_ptr<Device> device);
  Status chooseCode();
  Status load(const TargetVariant &target, const ExecutableEntry &entry);
  StepLayout makeLayout(const LaunchPlan &bucket) const;

  LoadedProgram loaded;
  std::vector<Slot> slots;
  uint64_t submitted = 0;
  /// The slot of the step submitted last.
  StepSlot *last = nullptr;
};

} // namespace betz
