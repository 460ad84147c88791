#include "runtime/session/Session.h"
#include "runtime/base/Log.h"
#include "runtime/session/BindingChecks.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr int64_t kSlotAlignment = 256;
/// Two ranges this close are copied as one: what lies between costs less than
/// the start of another copy.
constexpr int64_t kCopyGap = 32 << 10;

} // namespace

Result<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Program> program,
                std::shared_ptr<Device> device) {
  std::unique_ptr<Session> session(
      new Session(std::move(program), std::move(device)));
  BETZ_RETURN_IF_ERROR(session->chooseCode());
  BETZ_RETURN_IF_ERROR(session->allocateMemory());
  BETZ_RETURN_IF_ERROR(session->captureGraphs());
  return session;
}

Status Session::chooseCode() {
  std::vector<std::string> offered;
  for (const TargetVariant &target : source->targets)
    for (const ExecutableEntry &entry : target.executables) {
      offered.push_back(fmt::format("{} {}", target.target, entry.isa));
      if (!variant && processor->supports(target.target, entry.isa)) {
        variant = &target;
        executableEntry = &entry;
      }
    }
  if (!variant)
    return unavailable(fmt::format(
        "the program has no code for {}: it has {}; recompile it with betz "
        "compile --target",
        processor->name(),
        offered.empty() ? "none"
                        : fmt::format("{}", fmt::join(offered, ", "))));
  std::vector<std::string> kernels;
  for (const KernelSpecEntry &kernel : variant->kernels)
    kernels.push_back(kernel.code);
  BETZ_ASSIGN_OR_RETURN(executable, processor->loadExecutable(
                                        executableEntry->code.bytes, kernels));
  logDebug("session", "{} on {}: {} kernels, {} buckets", isa(),
           processor->name(), kernels.size(), variant->plans.size());
  return Status::ok();
}

Session::StepLayout Session::makeLayout(const LaunchPlan &bucket) const {
  StepLayout layout;
  layout.bytes = int64_t(extents.size() * sizeof(int64_t));
  auto place = [&](const TensorSpec &tensor) {
    int64_t offset =
        (layout.bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
    layout.bytes = offset + tensor.bytes(bucket.capacity);
    return offset;
  };
  for (const InputSpec &input : source->inputs)
    layout.inputs.push_back(place(input.tensor));
  for (const TensorSpec &output : source->outputs)
    layout.outputs.push_back(place(output));
  return layout;
}

Status Session::allocateMemory() {
  BETZ_ASSIGN_OR_RETURN(stream, processor->createStream());
  BETZ_ASSIGN_OR_RETURN(derived,
                        processor->wrapHost(variant->derivedData.bytes));
  int64_t arenaBytes = 0;
  for (const LaunchPlan &bucket : variant->plans)
    arenaBytes = std::max(arenaBytes, bucket.arenaBytes);
  BETZ_ASSIGN_OR_RETURN(
      arena, processor->allocate(size_t(arenaBytes), MemoryKind::Device));
  extents.resize(source->symbols.size());
  taskCounts.resize(variant->kernels.size());
  int64_t exchangeBytes = 0;
  for (const LaunchPlan &bucket : variant->plans) {
    layouts.push_back(makeLayout(bucket));
    exchangeBytes = std::max(exchangeBytes, layouts.back().bytes);
  }
  BETZ_ASSIGN_OR_RETURN(
      exchange, processor->allocate(size_t(exchangeBytes), MemoryKind::Device));
  if (!exchange->hostPointer()) {
    BETZ_ASSIGN_OR_RETURN(staging, processor->allocate(size_t(exchangeBytes),
                                                       MemoryKind::Staging));
  }
  return Status::ok();
}

BufferSlice Session::resolve(const BufferRef &ref,
                             const StepLayout &layout) const {
  switch (ref.kind) {
  case BufferKind::Input:
    return {exchange.get(), layout.inputs[ref.index] + ref.offset};
  case BufferKind::Output:
    return {exchange.get(), layout.outputs[ref.index] + ref.offset};
  case BufferKind::Derived:
    return {derived.get(), variant->derived[ref.index].offset + ref.offset};
  case BufferKind::Arena:
    return {arena.get(), ref.offset};
  }
  return {};
}

Status Session::launch(const Launch &launch, const LaunchPlan &bucket) {
  BufferSlice operands[kMaxOperands];
  for (size_t i = 0; i < launch.operands.size(); ++i)
    operands[i] = resolve(launch.operands[i], layoutOf(bucket));
  const TaskSpace &tasks = variant->kernels[launch.kernel].tasks;
  return stream->launch({.executable = executable.get(),
                         .kernel = launch.kernel,
                         .operands = {operands, launch.operands.size()},
                         .tasks = &taskCounts[launch.kernel],
                         .maxTasks = tasks.count(bucket.capacity),
                         .extents = {exchange.get(), 0}});
}

Status Session::captureGraphs() {
  for (const LaunchPlan &bucket : variant->plans) {
    BETZ_RETURN_IF_ERROR(stream->beginCapture());
    for (const Launch &step : bucket.launches)
      BETZ_RETURN_IF_ERROR(launch(step, bucket));
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<CommandGraph> graph,
                          stream->endCapture());
    graphs.push_back(std::move(graph));
  }
  return Status::ok();
}

Status Session::run(std::span<const InputBinding> inputs,
                    std::span<const OutputBinding> outputs) {
  BETZ_RETURN_IF_ERROR(checkInputs(*source, inputs, extents));
  plan = choosePlan(extents);
  if (!plan)
    return capacityError();
  BETZ_RETURN_IF_ERROR(checkOutputs(*source, outputs, extents));
  BETZ_RETURN_IF_ERROR(stageInputs(inputs));
  for (size_t i = 0; i < taskCounts.size(); ++i)
    taskCounts[i] = variant->kernels[i].tasks.count(extents);
  BETZ_RETURN_IF_ERROR(stream->launchGraph(graphOf(*plan)));
  return collectOutputs(outputs);
}

const LaunchPlan *Session::choosePlan(std::span<const int64_t> wanted) const {
  for (const LaunchPlan &bucket : variant->plans)
    if (std::ranges::equal(wanted, bucket.capacity, std::less_equal<>()))
      return &bucket;
  return nullptr;
}

Status Session::capacityError() const {
  auto text = [&](std::span<const int64_t> values) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < values.size(); ++i)
      parts.push_back(fmt::format("{} {}", source->symbols[i], values[i]));
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  return invalidArgument(
      fmt::format("a step of {} fits no bucket of the program; the largest is "
                  "{}",
                  text(extents), text(variant->plans.back().capacity)));
}

Status Session::upload(const Range &range) {
  if (!staging || range.begin == range.end)
    return Status::ok();
  return stream->copyToDevice({exchange.get(), range.begin},
                              staging->hostPointer() + range.begin,
                              size_t(range.end - range.begin));
}

Status Session::download(const Range &range) {
  if (!staging || range.begin == range.end)
    return Status::ok();
  return stream->copyToHost(staging->hostPointer() + range.begin,
                            {exchange.get(), range.begin},
                            size_t(range.end - range.begin));
}

Status Session::join(Range &pending, const Range &next,
                     Status (Session::*copy)(const Range &)) {
  if (pending.begin < pending.end && next.begin - pending.end <= kCopyGap) {
    pending.end = next.end;
    return Status::ok();
  }
  const Range before = std::exchange(pending, next);
  return (this->*copy)(before);
}

Status Session::stageInputs(std::span<const InputBinding> inputs) {
  const StepLayout &layout = layoutOf(*plan);
  Range staged = {0, int64_t(extents.size() * sizeof(int64_t))};
  if (staged.end > 0)
    std::memcpy(hostMemory(), extents.data(), size_t(staged.end));
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    const InputSpec &input = source->inputs[i];
    int64_t bytes = input.tensor.bytes(extents);
    if (bytes == 0)
      continue;
    const int64_t begin = layout.inputs[i];
    std::byte *host = hostMemory() + begin;
    if (const InputBinding *binding = findBinding(inputs, uint32_t(i)))
      std::memcpy(host, binding->data, size_t(bytes));
    else
      std::fill_n(reinterpret_cast<int32_t *>(host),
                  input.tensor.elements(extents), *input.defaultValue);
    BETZ_RETURN_IF_ERROR(
        join(staged, {begin, begin + bytes}, &Session::upload));
  }
  return upload(staged);
}

Status Session::collectOutputs(std::span<const OutputBinding> outputs) {
  const StepLayout &layout = layoutOf(*plan);
  Range wanted;
  for (size_t i = 0; i < layout.outputs.size(); ++i) {
    if (std::ranges::find(outputs, i, &OutputBinding::output) == outputs.end())
      continue;
    const int64_t begin = layout.outputs[i];
    BETZ_RETURN_IF_ERROR(
        join(wanted, {begin, begin + source->outputs[i].bytes(extents)},
             &Session::download));
  }
  BETZ_RETURN_IF_ERROR(download(wanted));
  BETZ_RETURN_IF_ERROR(stream->synchronize());
  for (const OutputBinding &binding : outputs) {
    int64_t bytes = source->outputs[binding.output].bytes(extents);
    if (bytes > 0)
      std::memcpy(binding.data, hostMemory() + layout.outputs[binding.output],
                  size_t(bytes));
  }
  return Status::ok();
}

Status Session::runLaunch(size_t index) {
  BETZ_RETURN_IF_ERROR(enqueueLaunch(index));
  return stream->synchronize();
}

Status Session::enqueueLaunch(size_t index) {
  return launch(plan->launches[index], *plan);
}

BufferSlice Session::operandOf(size_t launch, size_t operand) const {
  return resolve(plan->launches[launch].operands[operand], layoutOf(*plan));
}

} // namespace betz
