#include "runtime/session/StepSlot.h"
#include "runtime/session/BindingChecks.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

/// Two ranges this close are copied as one: what lies between costs less than
/// the start of another copy.
constexpr int64_t kCopyGap = 32 << 10;

} // namespace

const LaunchPlan *
LoadedProgram::choosePlan(std::span<const int64_t> extents) const {
  for (const LaunchPlan &bucket : variant->plans)
    if (std::ranges::equal(extents, bucket.capacity, std::less_equal<>()))
      return &bucket;
  return nullptr;
}

Result<std::unique_ptr<StepSlot>>
StepSlot::create(const LoadedProgram &loaded, std::shared_ptr<Stream> stream) {
  std::unique_ptr<StepSlot> slot(new StepSlot(loaded, std::move(stream)));
  BETZ_RETURN_IF_ERROR(slot->allocateMemory());
  BETZ_RETURN_IF_ERROR(slot->captureGraphs());
  return slot;
}

StepSlot::~StepSlot() {
  if (inFlight)
    (void)stream->synchronize();
}

Status StepSlot::allocateMemory() {
  Device &device = *loaded.device;
  int64_t arenaBytes = 0, exchangeBytes = 0;
  for (const LaunchPlan &bucket : loaded.variant->plans)
    arenaBytes = std::max(arenaBytes, bucket.arenaBytes);
  for (const StepLayout &layout : loaded.layouts)
    exchangeBytes = std::max(exchangeBytes, layout.bytes);
  BETZ_ASSIGN_OR_RETURN(
      arena, device.allocate(size_t(arenaBytes), MemoryKind::Device));
  BETZ_ASSIGN_OR_RETURN(
      exchange, device.allocate(size_t(exchangeBytes), MemoryKind::Device));
  if (!exchange->hostPointer()) {
    BETZ_ASSIGN_OR_RETURN(
        staging, device.allocate(size_t(exchangeBytes), MemoryKind::Staging));
  }
  extents.resize(loaded.program->symbols.size());
  taskCounts.resize(loaded.variant->kernels.size());
  destinations.resize(loaded.program->outputs.size());
  return Status::ok();
}

BufferSlice StepSlot::resolve(const BufferRef &ref,
                              const StepLayout &layout) const {
  switch (ref.kind) {
  case BufferKind::Input:
    return {exchange.get(), layout.inputs[ref.index] + ref.offset};
  case BufferKind::Output:
    return {exchange.get(), layout.outputs[ref.index] + ref.offset};
  case BufferKind::Derived:
    return {loaded.derived.get(),
            loaded.variant->derived[ref.index].offset + ref.offset};
  case BufferKind::Arena:
    return {arena.get(), ref.offset};
  case BufferKind::State:
    return {loaded.states.get(), loaded.stateOffsets[ref.index] + ref.offset};
  }
  return {};
}

Status StepSlot::launch(const Launch &launch, const LaunchPlan &bucket) {
  const StepLayout &layout = loaded.layouts[loaded.indexOf(bucket)];
  BufferSlice operands[kMaxOperands];
  for (size_t i = 0; i < launch.operands.size(); ++i)
    operands[i] = resolve(launch.operands[i], layout);
  const TaskSpace &tasks = loaded.variant->kernels[launch.kernel].tasks;
  return stream->launch({.executable = loaded.executable.get(),
                         .kernel = launch.kernel,
                         .operands = {operands, launch.operands.size()},
                         .tasks = &taskCounts[launch.kernel],
                         .maxTasks = tasks.count(bucket.capacity),
                         .extents = {exchange.get(), 0}});
}

Status StepSlot::captureGraphs() {
  for (const LaunchPlan &bucket : loaded.variant->plans) {
    BETZ_RETURN_IF_ERROR(stream->beginCapture());
    for (const Launch &step : bucket.launches)
      BETZ_RETURN_IF_ERROR(launch(step, bucket));
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<CommandGraph> graph,
                          stream->endCapture());
    graphs.push_back(std::move(graph));
  }
  return Status::ok();
}

Status StepSlot::submit(std::span<const InputBinding> inputs,
                        std::span<const OutputBinding> outputs) {
  BETZ_RETURN_IF_ERROR(checkInputs(*loaded.program, inputs, extents));
  const LaunchPlan *bucket = loaded.choosePlan(extents);
  if (!bucket)
    return capacityError();
  BETZ_RETURN_IF_ERROR(checkOutputs(*loaded.program, outputs, extents));
  plan = bucket;
  auto queue = [&] {
    BETZ_RETURN_IF_ERROR(stageInputs(inputs));
    BETZ_RETURN_IF_ERROR(start());
    return stageOutputs(outputs);
  };
  Status status = queue();
  inFlight = status.isOk();
  if (!inFlight)
    (void)stream->synchronize(); // part of it may be on its way
  return status;
}

Status StepSlot::start() {
  for (size_t i = 0; i < taskCounts.size(); ++i)
    taskCounts[i] = loaded.variant->kernels[i].tasks.count(extents);
  return stream->launchGraph(lastGraph());
}

Status StepSlot::capacityError() const {
  const Program &program = *loaded.program;
  auto text = [&](std::span<const int64_t> values) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < values.size(); ++i)
      parts.push_back(fmt::format("{} {}", program.symbols[i], values[i]));
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  return invalidArgument(
      fmt::format("a step of {} fits no bucket of the program; the largest is "
                  "{}",
                  text(extents), text(loaded.variant->plans.back().capacity)));
}

Status StepSlot::upload(const Range &range) {
  if (!staging || range.begin == range.end)
    return Status::ok();
  return stream->copyToDevice({exchange.get(), range.begin},
                              staging->hostPointer() + range.begin,
                              size_t(range.end - range.begin));
}

Status StepSlot::download(const Range &range) {
  if (!staging || range.begin == range.end)
    return Status::ok();
  return stream->copyToHost(staging->hostPointer() + range.begin,
                            {exchange.get(), range.begin},
                            size_t(range.end - range.begin));
}

Status StepSlot::join(Range &pending, const Range &next,
                      Status (StepSlot::*copy)(const Range &)) {
  if (pending.begin < pending.end && next.begin - pending.end <= kCopyGap) {
    pending.end = next.end;
    return Status::ok();
  }
  const Range before = std::exchange(pending, next);
  return (this->*copy)(before);
}

Status StepSlot::stageInputs(std::span<const InputBinding> inputs) {
  Range staged = {0, int64_t(extents.size() * sizeof(int64_t))};
  if (staged.end > 0)
    std::memcpy(hostMemory(), extents.data(), size_t(staged.end));
  for (size_t i = 0; i < layout().inputs.size(); ++i) {
    const InputSpec &input = loaded.program->inputs[i];
    int64_t bytes = input.tensor.bytes(extents);
    if (bytes == 0)
      continue;
    const int64_t begin = layout().inputs[i];
    std::byte *host = hostMemory() + begin;
    if (const InputBinding *binding = findBinding(inputs, uint32_t(i)))
      std::memcpy(host, binding->data, size_t(bytes));
    else
      std::fill_n(reinterpret_cast<int32_t *>(host),
                  input.tensor.elements(extents), *input.defaultValue);
    BETZ_RETURN_IF_ERROR(
        join(staged, {begin, begin + bytes}, &StepSlot::upload));
  }
  return upload(staged);
}

Status StepSlot::stageOutputs(std::span<const OutputBinding> outputs) {
  std::ranges::fill(destinations, nullptr);
  for (const OutputBinding &binding : outputs)
    destinations[binding.output] = binding.data;
  Range wanted;
  for (size_t i = 0; i < destinations.size(); ++i) {
    if (!destinations[i])
      continue;
    const int64_t begin = layout().outputs[i];
    BETZ_RETURN_IF_ERROR(
        join(wanted, {begin, begin + loaded.program->outputs[i].bytes(extents)},
             &StepSlot::download));
  }
  return download(wanted);
}

Status StepSlot::wait() {
  inFlight = false;
  BETZ_RETURN_IF_ERROR(stream->synchronize());
  for (size_t i = 0; i < destinations.size(); ++i) {
    const int64_t bytes = loaded.program->outputs[i].bytes(extents);
    if (destinations[i] && bytes > 0)
      std::memcpy(destinations[i], hostMemory() + layout().outputs[i],
                  size_t(bytes));
  }
  return Status::ok();
}

Status StepSlot::runLaunch(size_t index) {
  BETZ_RETURN_IF_ERROR(enqueueLaunch(index));
  return stream->synchronize();
}

Status StepSlot::enqueueLaunch(size_t index) {
  return launch(plan->launches[index], *plan);
}

BufferSlice StepSlot::operandOf(size_t launch, size_t operand) const {
  return resolve(plan->launches[launch].operands[operand], layout());
}

} // namespace betz
