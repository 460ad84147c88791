#include "runtime/session/Session.h"
#include "runtime/base/Log.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr int64_t kSlotAlignment = 256;

} // namespace

Session::Session(std::shared_ptr<const Program> program,
                 std::shared_ptr<Device> device) {
  loaded.program = std::move(program);
  loaded.device = std::move(device);
}

Result<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Program> program,
                std::shared_ptr<Device> device, size_t stepsInFlight) {
  std::unique_ptr<Session> session(
      new Session(std::move(program), std::move(device)));
  LoadedProgram &loaded = session->loaded;
  BETZ_RETURN_IF_ERROR(session->chooseCode());
  BETZ_ASSIGN_OR_RETURN(loaded.derived, loaded.device->wrapHost(
                                            loaded.variant->derivedData.bytes));
  for (const LaunchPlan &bucket : loaded.variant->plans)
    loaded.layouts.push_back(session->makeLayout(bucket));
  BETZ_RETURN_IF_ERROR(session->allocateStates());
  BETZ_RETURN_IF_ERROR(
      session->createSlots(std::max<size_t>(stepsInFlight, 1)));
  return session;
}

Status Session::allocateStates() {
  if (program().states.empty())
    return Status::ok();
  int64_t bytes = 0;
  for (const TensorSpec &state : program().states) {
    loaded.stateOffsets.push_back(bytes);
    bytes += (state.bytes({}) + kSlotAlignment - 1) / kSlotAlignment *
             kSlotAlignment;
  }
  isWritten.resize(program().states.size());
  BETZ_ASSIGN_OR_RETURN(loaded.states, loaded.device->allocate(
                                           size_t(bytes), MemoryKind::Device));
  return Status::ok();
}

Status Session::createSlots(size_t count) {
  std::shared_ptr<Stream> stream;
  for (size_t i = 0; i < count; ++i) {
    if (!stream || program().states.empty()) {
      BETZ_ASSIGN_OR_RETURN(stream, loaded.device->createStream());
    }
    Slot &slot = slots.emplace_back();
    BETZ_ASSIGN_OR_RETURN(slot.step, StepSlot::create(loaded, stream));
  }
  last = slots.front().step.get();
  return Status::ok();
}

Result<size_t> Session::findState(std::string_view name, size_t bytes) const {
  for (size_t i = 0; i < program().states.size(); ++i) {
    const TensorSpec &state = program().states[i];
    if (state.name != name)
      continue;
    if (size_t(state.bytes({})) != bytes)
      return invalidArgument(fmt::format("state \"{}\" has {} bytes, not {}",
                                         name, state.bytes({}), bytes));
    return i;
  }
  return notFound(fmt::format("the program has no state \"{}\"", name));
}

Status Session::writeState(std::string_view name,
                           std::span<const std::byte> bytes) {
  BETZ_ASSIGN_OR_RETURN(size_t state, findState(name, bytes.size()));
  Stream &stream = commands();
  BETZ_RETURN_IF_ERROR(
      stream.copyToDevice({loaded.states.get(), loaded.stateOffsets[state]},
                          bytes.data(), bytes.size()));
  BETZ_RETURN_IF_ERROR(stream.synchronize());
  isWritten[state] = true;
  return Status::ok();
}

Status Session::readState(std::string_view name, std::span<std::byte> bytes) {
  BETZ_ASSIGN_OR_RETURN(size_t state, findState(name, bytes.size()));
  Stream &stream = commands();
  BETZ_RETURN_IF_ERROR(stream.copyToHost(
      bytes.data(), {loaded.states.get(), loaded.stateOffsets[state]},
      bytes.size()));
  return stream.synchronize();
}

Status Session::chooseCode() {
  const Device &device = *loaded.device;
  std::vector<std::string> offered;
  Status refused;
  for (const TargetVariant &target : loaded.program->targets)
    for (const ExecutableEntry &entry : target.executables) {
      offered.push_back(fmt::format("{} {}", target.target, entry.isa));
      if (!device.supports(target.target, entry.isa))
        continue;
      Status status = load(target, entry);
      if (status.isOk() && !refused.isOk())
        logWarn("session", "{}; taking its {} code instead", refused.message(),
                entry.isa);
      // A driver may be too old for the best code, and not for the next.
      if (status.getCode() != StatusCode::DataLoss)
        return status;
      if (refused.isOk())
        refused = std::move(status);
    }
  if (!refused.isOk())
    return refused;
  return unavailable(fmt::format(
      "the program has no code for {}: it has {}; recompile it with betz "
      "compile --target",
      device.name(),
      offered.empty() ? "none" : fmt::format("{}", fmt::join(offered, ", "))));
}

Status Session::load(const TargetVariant &target,
                     const ExecutableEntry &entry) {
  std::vector<std::string> kernels;
  for (const KernelSpecEntry &kernel : target.kernels)
    kernels.push_back(kernel.code);
  BETZ_ASSIGN_OR_RETURN(loaded.executable, loaded.device->loadExecutable(
                                               entry.code.bytes, kernels));
  loaded.variant = &target;
  loaded.code = &entry;
  logDebug("session", "{} on {}: {} kernels, {} buckets", isa(),
           loaded.device->name(), kernels.size(), target.plans.size());
  return Status::ok();
}

StepLayout Session::makeLayout(const LaunchPlan &bucket) const {
  StepLayout layout;
  layout.bytes = int64_t(program().symbols.size() * sizeof(int64_t));
  auto place = [&](const TensorSpec &tensor) {
    int64_t offset =
        (layout.bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
    layout.bytes = offset + tensor.bytes(bucket.capacity);
    return offset;
  };
  for (const InputSpec &input : program().inputs)
    layout.inputs.push_back(place(input.tensor));
  for (const TensorSpec &output : program().outputs)
    layout.outputs.push_back(place(output));
  return layout;
}

Status Session::run(std::span<const InputBinding> inputs,
                    std::span<const OutputBinding> outputs) {
  BETZ_ASSIGN_OR_RETURN(StepTicket ticket, submit(inputs, outputs));
  return wait(ticket);
}

Result<StepTicket> Session::submit(std::span<const InputBinding> inputs,
                                   std::span<const OutputBinding> outputs) {
  auto slot = std::ranges::find_if(
      slots, [](const Slot &slot) { return !slot.step->isInFlight(); });
  if (slot == slots.end())
    return unavailable(fmt::format("{} of {} steps are in flight; wait for one "
                                   "before another is submitted",
                                   slots.size(), slots.size()));
  for (size_t i = 0; i < isWritten.size(); ++i)
    if (!isWritten[i])
      return invalidArgument(
          fmt::format("state \"{}\" has not been written; write it before the "
                      "first step",
                      program().states[i].name));
  BETZ_RETURN_IF_ERROR(slot->step->submit(inputs, outputs));
  last = slot->step.get();
  slot->ticket = StepTicket(++submitted);
  return slot->ticket;
}

Status Session::wait(StepTicket ticket) {
  auto slot = std::ranges::find_if(slots, [&](const Slot &slot) {
    return slot.ticket == ticket && slot.step->isInFlight();
  });
  if (slot == slots.end())
    return invalidArgument("the step to wait for is not in flight: wait once "
                           "for each submit");
  return slot->step->wait();
}

} // namespace betz
