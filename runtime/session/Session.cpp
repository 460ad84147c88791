#include "runtime/session/Session.h"
#include "runtime/base/Log.h"
#include "runtime/session/BindingChecks.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {

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

int64_t Session::largestBytes(const TensorSpec &tensor) const {
  int64_t largest = 0;
  for (const LaunchPlan &bucket : variant->plans)
    largest = std::max(largest, tensor.bytes(bucket.capacity));
  return largest;
}

Result<Session::Slot> Session::makeSlot(int64_t bytes) {
  Slot slot;
  BETZ_ASSIGN_OR_RETURN(slot.device,
                        processor->allocate(size_t(bytes), MemoryKind::Device));
  if (bytes > 0 && !slot.device->hostPointer()) {
    BETZ_ASSIGN_OR_RETURN(
        slot.staging, processor->allocate(size_t(bytes), MemoryKind::Staging));
  }
  return slot;
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
  for (const InputSpec &input : source->inputs) {
    BETZ_ASSIGN_OR_RETURN(Slot slot, makeSlot(largestBytes(input.tensor)));
    inputSlots.push_back(std::move(slot));
  }
  for (const TensorSpec &output : source->outputs) {
    BETZ_ASSIGN_OR_RETURN(Slot slot, makeSlot(largestBytes(output)));
    outputSlots.push_back(std::move(slot));
  }
  extents.resize(source->symbols.size());
  taskCounts.resize(variant->kernels.size());
  BETZ_ASSIGN_OR_RETURN(extentsSlot,
                        makeSlot(int64_t(extents.size() * sizeof(int64_t))));
  return Status::ok();
}

BufferSlice Session::resolve(const BufferRef &ref) const {
  switch (ref.kind) {
  case BufferKind::Input:
    return {inputSlots[ref.index].device.get(), ref.offset};
  case BufferKind::Output:
    return {outputSlots[ref.index].device.get(), ref.offset};
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
    operands[i] = resolve(launch.operands[i]);
  const TaskSpace &tasks = variant->kernels[launch.kernel].tasks;
  return stream->launch({.executable = executable.get(),
                         .kernel = launch.kernel,
                         .operands = {operands, launch.operands.size()},
                         .tasks = &taskCounts[launch.kernel],
                         .maxTasks = tasks.count(bucket.capacity),
                         .extents = {extentsSlot.device.get(), 0}});
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
  BETZ_RETURN_IF_ERROR(stageExtents());
  for (size_t i = 0; i < taskCounts.size(); ++i)
    taskCounts[i] = variant->kernels[i].tasks.count(extents);
  BETZ_RETURN_IF_ERROR(
      stream->launchGraph(*graphs[size_t(plan - variant->plans.data())]));
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

Status Session::upload(const Slot &slot, int64_t bytes) {
  if (!slot.staging)
    return Status::ok();
  return stream->copyToDevice({slot.device.get(), 0},
                              slot.staging->hostPointer(), size_t(bytes));
}

Status Session::stageInputs(std::span<const InputBinding> inputs) {
  for (size_t i = 0; i < inputSlots.size(); ++i) {
    const InputSpec &input = source->inputs[i];
    int64_t bytes = input.tensor.bytes(extents);
    if (bytes == 0)
      continue;
    std::byte *host = inputSlots[i].hostPointer();
    if (const InputBinding *binding = findBinding(inputs, uint32_t(i)))
      std::memcpy(host, binding->data, size_t(bytes));
    else
      std::fill_n(reinterpret_cast<int32_t *>(host),
                  input.tensor.elements(extents), *input.defaultValue);
    BETZ_RETURN_IF_ERROR(upload(inputSlots[i], bytes));
  }
  return Status::ok();
}

Status Session::stageExtents() {
  if (extents.empty())
    return Status::ok();
  size_t bytes = extents.size() * sizeof(int64_t);
  std::memcpy(extentsSlot.hostPointer(), extents.data(), bytes);
  return upload(extentsSlot, int64_t(bytes));
}

Status Session::collectOutputs(std::span<const OutputBinding> outputs) {
  for (const OutputBinding &binding : outputs) {
    const Slot &slot = outputSlots[binding.output];
    int64_t bytes = source->outputs[binding.output].bytes(extents);
    if (slot.staging && bytes > 0)
      BETZ_RETURN_IF_ERROR(stream->copyToHost(
          slot.staging->hostPointer(), {slot.device.get(), 0}, size_t(bytes)));
  }
  BETZ_RETURN_IF_ERROR(stream->synchronize());
  for (const OutputBinding &binding : outputs) {
    int64_t bytes = source->outputs[binding.output].bytes(extents);
    if (bytes > 0)
      std::memcpy(binding.data, outputSlots[binding.output].hostPointer(),
                  size_t(bytes));
  }
  return Status::ok();
}

Status Session::runLaunch(size_t index) {
  BETZ_RETURN_IF_ERROR(launch(plan->launches[index], *plan));
  return stream->synchronize();
}

} // namespace betz
