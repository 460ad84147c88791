//===- Session.h - A program on a device ----------------------------------===//
#pragma once

#include "runtime/hal/Device.h"
#include "runtime/program/Program.h"
#include "runtime/session/Bindings.h"

namespace betz {

/// A program loaded on a device, with all memory that its steps need and one
/// recorded command graph for each shape bucket. For one thread at a time;
/// several sessions may share a program and a device.
class Session {
public:
  /// Picks the first target and its best executable that `device` runs; having
  /// none is an error. Everything that a step needs is allocated here.
  static Result<std::unique_ptr<Session>>
  create(std::shared_ptr<const Program> program,
         std::shared_ptr<Device> device);

  /// Runs one step in the smallest bucket that holds it. The inputs' shapes
  /// give its extents. Outputs that are not bound are not copied. Wrong inputs
  /// are an InvalidArgument that names input, place and value, and then nothing
  /// has run. Allocates nothing and waits for the device once, at the end.
  Status run(std::span<const InputBinding> inputs,
             std::span<const OutputBinding> outputs);

  /// Whether some bucket holds a step of these extents.
  bool fits(std::span<const int64_t> extents) const {
    return choosePlan(extents) != nullptr;
  }

  /// For measurements, after a run(): the bucket that it used, and one launch
  /// of it alone, without the graph.
  const LaunchPlan &lastPlan() const { return *plan; }
  Status runLaunch(size_t launch);
  /// The same without the wait, or recorded; the stream that it goes to; where
  /// one of its operands lies; and the bucket's graph.
  Status enqueueLaunch(size_t launch);
  Stream &commands() { return *stream; }
  BufferSlice operandOf(size_t launch, size_t operand) const;
  CommandGraph &lastGraph() { return graphOf(*plan); }
  /// What the last run()'s launch computed: its extents and its tasks.
  std::span<const int64_t> lastExtents() const { return extents; }

  const Program &program() const { return *source; }
  const TargetVariant &target() const { return *variant; }
  /// The instruction-set level of the code that was picked.
  const std::string &isa() const { return executableEntry->isa; }
  Device &device() const { return *processor; }

private:
  /// Where a bucket's extents (at 0), inputs and outputs lie in the memory that
  /// host and device exchange: close together, so that few copies move them.
  struct StepLayout {
    std::vector<int64_t> inputs;
    std::vector<int64_t> outputs;
    int64_t bytes = 0;
  };
  /// Bytes of that memory.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };

  Session(std::shared_ptr<const Program> program,
          std::shared_ptr<Device> device)
      : source(std::move(program)), processor(std::move(device)) {}

  Status chooseCode();
  Status allocateMemory();
  Status captureGraphs();
  StepLayout makeLayout(const LaunchPlan &bucket) const;
  const StepLayout &layoutOf(const LaunchPlan &bucket) const {
    return layouts[size_t(&bucket - variant->plans.data())];
  }
  CommandGraph &graphOf(const LaunchPlan &bucket) {
    return *graphs[size_t(&bucket - variant->plans.data())];
  }
  BufferSlice resolve(const BufferRef &ref, const StepLayout &layout) const;
  Status launch(const Launch &launch, const LaunchPlan &plan);

  const LaunchPlan *choosePlan(std::span<const int64_t> extents) const;
  Status capacityError() const;
  std::byte *hostMemory() const {
    return staging ? staging->hostPointer() : exchange->hostPointer();
  }
  Status upload(const Range &range);
  Status download(const Range &range);
  /// Makes `pending` reach to the end of `next`, which lies behind it; or, if
  /// that would copy too much in between, copies it and makes it `next`.
  Status join(Range &pending, const Range &next,
              Status (Session::*copy)(const Range &));
  Status stageInputs(std::span<const InputBinding> inputs);
  Status collectOutputs(std::span<const OutputBinding> outputs);

  std::shared_ptr<const Program> source;
  std::shared_ptr<Device> processor;
  const TargetVariant *variant = nullptr;
  const ExecutableEntry *executableEntry = nullptr;

  std::unique_ptr<Stream> stream;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Buffer> derived;
  std::unique_ptr<Buffer> arena;
  std::unique_ptr<Buffer> exchange;
  /// The host's side of `exchange`; null where the host reaches it.
  std::unique_ptr<Buffer> staging;
  /// One for each of variant->plans.
  std::vector<StepLayout> layouts;
  std::vector<std::unique_ptr<CommandGraph>> graphs;

  // The step that is running, or ran last.
  const LaunchPlan *plan = nullptr;
  std::vector<int64_t> extents;
  /// One for each kernel; the graphs' launches read them.
  std::vector<int64_t> taskCounts;
};

} // namespace betz
