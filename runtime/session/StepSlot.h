//===- StepSlot.h - All that one step in flight needs ---------------------===//
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/program/Program.h"
#include "runtime/session/Bindings.h"

namespace betz {

/// Where a bucket's extents (at 0), inputs and outputs lie in the memory that
/// host and device exchange: close together, so that few copies move them.
struct StepLayout {
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
  int64_t bytes = 0;
};

/// A program on a device: what all steps share and none changes.
struct LoadedProgram {
  std::shared_ptr<const Program> program;
  std::shared_ptr<Device> device;
  const TargetVariant *variant = nullptr;
  const ExecutableEntry *code = nullptr;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Buffer> derived;
  /// What all steps read and update, and where in it each state lies.
  std::unique_ptr<Buffer> states;
  std::vector<int64_t> stateOffsets;
  /// One for each of variant->plans.
  std::vector<StepLayout> layouts;

  /// The smallest bucket that holds a step of these extents, or null.
  const LaunchPlan *choosePlan(std::span<const int64_t> extents) const;
  size_t indexOf(const LaunchPlan &plan) const {
    return size_t(&plan - variant->plans.data());
  }
};

/// Memory, a stream and the recorded graphs of all buckets for one step at a
/// time. For one thread at a time.
class StepSlot {
public:
  /// `loaded` must outlive it. Everything that a step needs is allocated here.
  /// Slots whose steps must follow each other share a stream.
  static Result<std::unique_ptr<StepSlot>>
  create(const LoadedProgram &loaded, std::shared_ptr<Stream> stream);
  /// Waits for a step that is in flight.
  ~StepSlot();

  /// Checks a step, copies its inputs and gives it to the device; `outputs`'
  /// data must stay until wait(). After an error nothing is in flight.
  Status submit(std::span<const InputBinding> inputs,
                std::span<const OutputBinding> outputs);
  /// Waits for the step in flight and fills its outputs.
  Status wait();
  bool isInFlight() const { return inFlight; }

  /// Of the step submitted last: its bucket and extents, and one launch of it
  /// alone, waited for; the same without the wait; the stream that it goes to;
  /// where one of its operands lies; and the bucket's graph.
  const LaunchPlan &lastPlan() const { return *plan; }
  std::span<const int64_t> lastExtents() const { return extents; }
  Status runLaunch(size_t launch);
  Status enqueueLaunch(size_t launch);
  Stream &commands() { return *stream; }
  BufferSlice operandOf(size_t launch, size_t operand) const;
  CommandGraph &lastGraph() { return *graphs[loaded.indexOf(*plan)]; }

private:
  /// Bytes of `exchange`.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };

  StepSlot(const LoadedProgram &loaded, std::shared_ptr<Stream> stream)
      : loaded(loaded), stream(std::move(stream)) {}
  Status allocateMemory();
  Status captureGraphs();
  BufferSlice resolve(const BufferRef &ref, const StepLayout &layout) const;
  Status launch(const Launch &launch, const LaunchPlan &bucket);

  Status capacityError() const;
  const StepLayout &layout() const {
    return loaded.layouts[loaded.indexOf(*plan)];
  }
  std::byte *hostMemory() const {
    return staging ? staging->hostPointer() : exchange->hostPointer();
  }
  Status upload(const Range &range);
  Status download(const Range &range);
  /// Makes `pending` reach to the end of `next`, which lies behind it; or, if
  /// that would copy too much in between, copies it and makes it `next`.
  Status join(Range &pending, const Range &next,
              Status (StepSlot::*copy)(const Range &));
  Status stageInputs(std::span<const InputBinding> inputs);
  Status start();
  Status stageOutputs(std::span<const OutputBinding> outputs);

  const LoadedProgram &loaded;
  std::unique_ptr<Buffer> arena;
  std::unique_ptr<Buffer> exchange;
  /// The host's side of `exchange`; null where the host reaches it.
  std::unique_ptr<Buffer> staging;
  /// One for each bucket.
  std::vector<std::unique_ptr<CommandGraph>> graphs;

  // The step that is in flight, or was last.
  bool inFlight = false;
  const LaunchPlan *plan = nullptr;
  std::vector<int64_t> extents;
  /// One for each kernel; the graphs' launches read them.
  std::vector<int64_t> taskCounts;
  /// One for each output; null for one that is not bound.
  std::vector<void *> destinations;
  /// Last, so that it ends first: it waits for what still uses the memory
  /// above.
  std::shared_ptr<Stream> stream;
};

} // namespace betz
