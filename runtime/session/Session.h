//===- Session.h - A program on a device ----------------------------------===//
#pragma once

#include "runtime/session/StepSlot.h"

namespace betz {

/// A step that was submitted and is to be waited for, once.
enum class StepTicket : uint64_t {};

/// A program loaded on a device, with all memory that its steps need and one
/// recorded command graph for each shape bucket. Steps of a program with states
/// follow each other, however many are in flight. For one thread at a time;
/// several sessions may share a program and a device, and each has states of
/// its own.
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

  /// Copies a state, such as the weights that a training step updates, to or
  /// from the device, after the steps in flight. `bytes` is the whole tensor.
  /// Every state must have been written before the first step.
  Status writeState(std::string_view name, std::span<const std::byte> bytes);
  Status readState(std::string_view name, std::span<std::byte> bytes);

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
  Status allocateStates();
  Status createSlots(size_t count);
  /// The number of the state `name`, of `bytes` bytes.
  Result<size_t> findState(std::string_view name, size_t bytes) const;

  LoadedProgram loaded;
  std::vector<Slot> slots;
  std::vector<bool> isWritten; // of each state
  uint64_t submitted = 0;
  /// The slot of the step submitted last.
  StepSlot *last = nullptr;
};

} // namespace betz
