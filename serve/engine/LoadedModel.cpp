#include "serve/engine/LoadedModel.h"

#include "runtime/session/BindingChecks.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace betz::serve {
namespace {

constexpr int kWarmUpRuns = 3;
/// Events a window that batches are warmed up with.
constexpr int64_t kWarmUpEvents[] = {64, 256, 1024};
/// Larger ones are learned from requests.
constexpr std::chrono::seconds kWarmUpLimit{5};

/// Bindings of windows to a program's inputs; the shapes lie inside.
class InputBindings {
public:
  InputBindings(const DecoderPorts &ports, const Windows &windows)
      : events{windows.events()}, times{int64_t(windows.timeBin.size())},
        values{int64_t(windows.value.size())},
        splits{int64_t(windows.rowSplits.size())},
        starts{int64_t(windows.windowStart.size())} {
    add(ports.neuronId, windows.neuronId, events);
    add(ports.timeBin, windows.timeBin, times);
    add(ports.value, windows.value, values);
    add(ports.rowSplits, windows.rowSplits, splits);
    if (ports.windowStart && !windows.windowStart.empty())
      add(*ports.windowStart, windows.windowStart, starts);
  }
  InputBindings(const InputBindings &) = delete;

  std::span<const InputBinding> all() const { return {bindings.data(), count}; }

private:
  void add(uint32_t input, std::span<const int32_t> data,
           std::span<const int64_t> shape) {
    bindings[count++] = {input, DType::I32, data.data(), shape};
  }

  std::array<int64_t, 1> events, times, values, splits, starts;
  std::array<InputBinding, 5> bindings;
  size_t count = 0;
};

template <typename T> void append(std::vector<T> &to, std::span<const T> from) {
  to.insert(to.end(), from.begin(), from.end());
}

} // namespace

Result<std::unique_ptr<LoadedModel>>
LoadedModel::create(std::shared_ptr<const Program> program,
                    std::shared_ptr<Device> device, size_t stepsInFlight,
                    int64_t maxBatch) {
  std::unique_ptr<LoadedModel> model(new LoadedModel());
  BETZ_ASSIGN_OR_RETURN(model->decoderPorts, findDecoderPorts(*program));
  if (program->symbols.size() != 2)
    return invalidArgument("the program's inputs have more than windows and "
                           "events as symbols, so it is no decoder");
  model->shared = program;
  BETZ_ASSIGN_OR_RETURN(
      model->session,
      Session::create(std::move(program), std::move(device), stepsInFlight));
  model->nameOfDevice = model->session->device().name();
  BETZ_RETURN_IF_ERROR(model->makeSchedule(maxBatch));
  int64_t windows = model->maxWindows(), events = 0;
  for (const ModelSchedule::Bucket &bucket : model->modelSchedule.buckets)
    events = std::max(events, bucket.events);
  for (size_t i = 0; i < stepsInFlight; ++i) {
    Buffers &buffers = model->buffers.emplace_back();
    for (std::vector<int32_t> *of :
         {&buffers.neuronId, &buffers.timeBin, &buffers.value})
      of->reserve(size_t(events));
    buffers.rowSplits.reserve(size_t(windows) + 1);
    buffers.windowStart.reserve(size_t(windows));
    buffers.behavior.resize(size_t(windows * model->decoderPorts.columns));
  }
  return model;
}

Status LoadedModel::makeSchedule(int64_t maxBatch) {
  const Program &program = session->program();
  const int32_t batch =
      program.outputs[decoderPorts.behavior].shape.front().symbol;
  int64_t largest = 0;
  for (const LaunchPlan &plan : session->target().plans) {
    modelSchedule.buckets.push_back(
        {plan.capacity[size_t(batch)], plan.capacity[size_t(1 - batch)]});
    largest = std::max(largest, modelSchedule.buckets.back().windows);
  }
  modelSchedule.maxWindows =
      maxBatch > 0 ? std::min(maxBatch, largest) : largest;
  return Status::ok();
}

Status LoadedModel::check(const Windows &windows) const {
  if (windows.rowSplits.size() < 2)
    return invalidArgument("a request needs at least one window: row_splits "
                           "has one number more than there are windows");
  if (!decoderPorts.windowStart && !windows.windowStart.empty())
    return invalidArgument("the program takes no window_start");
  std::array<int64_t, 2> extents;
  const InputBindings inputs(decoderPorts, windows);
  BETZ_RETURN_IF_ERROR(checkInputs(program(), inputs.all(), extents));
  if (modelSchedule.fits(windows.windows(), windows.events()))
    return Status::ok();
  return invalidArgument(fmt::format(
      "{} windows with {} events are more than a batch of this model holds, "
      "{} windows; ask for fewer at once",
      windows.windows(), windows.events(), maxWindows()));
}

Windows LoadedModel::pack(std::span<const Windows *const> requests,
                          Buffers &buffers) {
  for (std::vector<int32_t> *of : {&buffers.neuronId, &buffers.timeBin,
                                   &buffers.value, &buffers.windowStart})
    of->clear();
  buffers.rowSplits.assign(1, 0);
  for (const Windows *request : requests) {
    const int32_t before = int32_t(buffers.neuronId.size());
    append(buffers.neuronId, request->neuronId);
    append(buffers.timeBin, request->timeBin);
    append(buffers.value, request->value);
    for (int32_t split : request->rowSplits.subspan(1))
      buffers.rowSplits.push_back(before + split);
    append(buffers.windowStart, request->windowStart);
    buffers.windowStart.resize(buffers.rowSplits.size() - 1);
  }
  return {buffers.neuronId, buffers.timeBin, buffers.value, buffers.rowSplits,
          buffers.windowStart};
}

Result<StepTicket> LoadedModel::submit(const Windows &windows,
                                       Buffers &buffers) {
  const InputBindings inputs(decoderPorts, windows);
  const int64_t shape[] = {windows.windows(), decoderPorts.columns};
  const OutputBinding output = {decoderPorts.behavior, DType::F32,
                                buffers.behavior.data(), shape};
  return session->submit(inputs.all(), {&output, 1});
}

Result<LoadedModel::Step>
LoadedModel::start(std::span<const Windows *const> requests) {
  Step step;
  while (step.index < buffers.size() && buffers[step.index].inUse)
    ++step.index;
  if (step.index == buffers.size())
    return internalError("more steps in flight than the model was made for");
  Buffers &own = buffers[step.index];
  // One request is bound as it is.
  const Windows windows =
      requests.size() == 1 ? *requests.front() : pack(requests, own);
  step.windows = windows.windows();
  BETZ_ASSIGN_OR_RETURN(step.ticket, submit(windows, own));
  own.inUse = true;
  return step;
}

Result<std::span<const float>> LoadedModel::finish(const Step &step) {
  Buffers &own = buffers[step.index];
  own.inUse = false;
  BETZ_RETURN_IF_ERROR(session->wait(step.ticket));
  return std::span<const float>(own.behavior.data(),
                                size_t(step.windows * decoderPorts.columns));
}

Result<std::span<const float>> LoadedModel::run(const Windows &windows) {
  const Windows *const request = &windows;
  BETZ_RETURN_IF_ERROR(check(windows));
  BETZ_ASSIGN_OR_RETURN(const Step step, start({&request, 1}));
  return finish(step);
}

Status LoadedModel::warmUp() {
  const Clock::time_point end = Clock::now() + kWarmUpLimit;
  for (int64_t each : kWarmUpEvents) {
    const int64_t events = std::min(each, decoderPorts.maxEvents);
    for (int64_t windows = 1;; windows = std::min(2 * windows, maxWindows())) {
      if (!modelSchedule.fits(windows, windows * events))
        break;
      BETZ_RETURN_IF_ERROR(timeBatch(windows, windows * events));
      if (windows == maxWindows() || Clock::now() > end)
        break;
    }
  }
  return Status::ok();
}

Status LoadedModel::timeBatch(int64_t windows, int64_t events) {
  const std::vector<int32_t> zeros(size_t(events), 0);
  std::vector<int32_t> splits;
  for (int64_t window = 0; window <= windows; ++window)
    splits.push_back(int32_t(window * events / windows));
  const Windows batch = {zeros, zeros, zeros, splits, {}};
  const Windows *const request = &batch;
  for (int run = 0; run < kWarmUpRuns; ++run) {
    const Clock::time_point start = Clock::now();
    BETZ_ASSIGN_OR_RETURN(Step step, this->start({&request, 1}));
    BETZ_RETURN_IF_ERROR(finish(step).status());
    // The first run touches memory that later ones find warm.
    if (run > 0)
      modelSchedule.times.learn(windows, events, Clock::now() - start);
  }
  return Status::ok();
}

} // namespace betz::serve
