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
  session->slots.resize(std::max<size_t>(stepsInFlight, 1));
  for (Slot &slot : session->slots) {
    BETZ_ASSIGN_OR_RETURN(slot.step, StepSlot::create(loaded));
  }
  session->last = session->slots.front().step.get();
  return session;
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
