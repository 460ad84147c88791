#include "serve/engine/Dispatcher.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <future>

namespace betz::serve {
namespace {

/// How long before the device is expected to be free the next batch is made:
/// its packing and copies then lie under the running one.
constexpr std::chrono::microseconds kLead{300};

RequestId makeId(uint32_t slot, uint32_t generation) {
  return RequestId(uint64_t(generation) << 32 | slot);
}

/// Windows whose row has a NaN or an infinity.
int64_t countNonFinite(std::span<const float> behavior, int64_t columns) {
  int64_t count = 0;
  for (; !behavior.empty(); behavior = behavior.subspan(size_t(columns)))
    count += !std::ranges::all_of(behavior.first(size_t(columns)),
                                  [](float x) { return std::isfinite(x); });
  return count;
}

double toSeconds(std::chrono::nanoseconds time) {
  return double(time.count()) * 1e-9;
}

} // namespace

Dispatcher::Dispatcher(ModelTable &table, const EngineConfig &config,
                       size_t stepsInFlight)
    : table(table), config(config), scheduler(size_t(config.maxQueue)),
      slots(size_t(config.maxQueue) * (stepsInFlight + 1)),
      batches(stepsInFlight) {
  for (size_t slot = slots.size(); slot-- > 0;)
    freeSlots.push_back(uint32_t(slot));
  for (Batch &batch : batches) {
    batch.slots.reserve(size_t(config.maxQueue));
    idleBatches.push_back(&batch);
  }
  inFlight.reserve(stepsInFlight);
  taken.reserve(size_t(config.maxQueue));
  dropped.reserve(size_t(config.maxQueue));
  packing.reserve(size_t(config.maxQueue));
}

Dispatcher::~Dispatcher() {
  {
    Lock lock(mutex);
    draining = true;
    refuseWaiting(lock);
    stopping = true;
  }
  changed.notify_one();
  if (thread.joinable())
    thread.join();
}

Status Dispatcher::start(const std::function<Status()> &prepare) {
  std::promise<Status> promise;
  std::future<Status> prepared = promise.get_future();
  thread = std::thread([this, prepare, promise = std::move(promise)]() mutable {
    Status status = prepare();
    const bool good = status.isOk();
    promise.set_value(std::move(status));
    if (good)
      run();
  });
  return prepared.get();
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

RequestId Dispatcher::submit(const Request &request, Callback callback) {
  const Clock::time_point arrival = Clock::now();
  auto found = table.use(request.model, request.version);
  if (Error *error = std::get_if<Error>(&found))
    return refuse(nullptr, std::move(*error), callback);
  ModelVersion *model = std::get<ModelVersion *>(found);
  if (Status status = model->loaded->check(request.windows); !status.isOk())
    return refuse(model, {ErrorKind::Invalid, status.message(), {}}, callback);
  RequestId id{};
  if (auto refusal = queue(request, callback, model, arrival, id))
    return refuse(model, explain(*refusal), callback);
  changed.notify_one();
  return id;
}

std::optional<Refusal> Dispatcher::queue(const Request &request,
                                         Callback &callback,
                                         ModelVersion *model,
                                         Clock::time_point arrival,
                                         RequestId &id) {
  std::lock_guard lock(mutex);
  if (draining)
    return Refusal{.kind = ErrorKind::NotReady};
  if (freeSlots.empty())
    return Refusal{.kind = ErrorKind::QueueFull};
  const uint32_t number = freeSlots.back();
  const Clock::time_point deadline =
      request.deadline.value_or(arrival + config.defaultDeadline);
  const Job job = {
      number,   &model->loaded->schedule(), request.priority,        arrival,
      deadline, request.windows.windows(),  request.windows.events()};
  if (auto refusal = scheduler.admit(job, Clock::now()))
    return refusal;
  freeSlots.pop_back();
  Slot &slot = slots[number];
  slot.state = Slot::State::Waiting;
  ++slot.generation;
  slot.windows = request.windows;
  slot.callback = std::move(callback);
  slot.model = model;
  slot.arrival = arrival;
  slot.deadline = deadline;
  id = makeId(number, slot.generation);
  if (turnedAt.load() == kIdle)
    turnedAt = Clock::now();
  return std::nullopt;
}

Error Dispatcher::explain(const Refusal &refusal) const {
  switch (refusal.kind) {
  case ErrorKind::QueueFull:
    return {refusal.kind,
            fmt::format("{} requests wait already; try again later",
                        config.maxQueue),
            refusal.retryAfter};
  case ErrorKind::NotReady:
    return {refusal.kind, "the server is shutting down", {}};
  case ErrorKind::Expired:
    return {refusal.kind, "the deadline has passed", {}};
  default:
    return {refusal.kind,
            "it would end after its deadline, so it was not run; allow more "
            "time or try again later",
            refusal.retryAfter};
  }
}

RequestId Dispatcher::refuse(ModelVersion *model, Error error,
                             const Callback &callback) {
  {
    std::lock_guard lock(mutex);
    ++(model ? model->statistics.errors : errors)[size_t(error.kind)];
    if (model)
      model->statistics.failure.add({});
  }
  callback(Answer(std::move(error)));
  if (model)
    table.release(model);
  return {};
}

void Dispatcher::cancel(RequestId request) {
  const uint32_t number = uint32_t(request);
  Lock lock(mutex);
  if (number >= slots.size() ||
      makeId(number, slots[number].generation) != request ||
      slots[number].state != Slot::State::Waiting)
    return;
  scheduler.remove(number);
  answer(lock, number, Error{ErrorKind::Cancelled, "it was cancelled", {}});
}

void Dispatcher::answer(Lock &lock, uint32_t number, const Answer &answer) {
  Slot &slot = slots[number];
  ModelVersion *model = slot.model;
  const std::chrono::nanoseconds latency = Clock::now() - slot.arrival;
  if (const Error *error = std::get_if<Error>(&answer)) {
    ++model->statistics.errors[size_t(error->kind)];
    model->statistics.failure.add(latency);
  } else {
    model->statistics.success.add(latency);
    model->statistics.latencySeconds.add(toSeconds(latency));
    model->statistics.missedDeadlines += Clock::now() > slot.deadline;
  }
  const Callback callback = std::move(slot.callback);
  slot.callback = nullptr;
  slot.state = Slot::State::Running; // until the callback has returned
  lock.unlock();
  callback(answer);
  table.release(model);
  lock.lock();
  slot.state = Slot::State::Free;
  freeSlots.push_back(number);
  if (freeSlots.size() == slots.size())
    answered.notify_all();
}

void Dispatcher::refuseWaiting(Lock &lock) {
  for (uint32_t number = 0; number < slots.size(); ++number)
    if (slots[number].state == Slot::State::Waiting) {
      scheduler.remove(number);
      answer(lock, number, explain({.kind = ErrorKind::NotReady}));
    }
}

int64_t Dispatcher::drain(std::chrono::nanoseconds limit) {
  Lock lock(mutex);
  draining = true;
  auto isEmpty = [&] { return freeSlots.size() == slots.size(); };
  if (answered.wait_for(lock, limit, isEmpty))
    return 0;
  const int64_t left = int64_t(scheduler.size());
  refuseWaiting(lock);
  answered.wait(lock, isEmpty);
  return left;
}

std::chrono::nanoseconds Dispatcher::sinceTurn() const {
  const Clock::time_point turned = turnedAt;
  return turned == kIdle ? std::chrono::nanoseconds(0) : Clock::now() - turned;
}

Statistics Dispatcher::statistics() {
  Statistics result;
  table.forEach([&](ModelVersion &model) {
    std::lock_guard lock(mutex);
    result.models.push_back(model.statistics);
  });
  std::lock_guard lock(mutex);
  result.errors = errors;
  result.queueDepth = int64_t(scheduler.size());
  result.inFlight = int64_t(slots.size() - freeSlots.size());
  return result;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

void Dispatcher::run() {
  Lock lock(mutex);
  while (true) {
    const bool isIdle = scheduler.size() == 0 && inFlight.empty();
    turnedAt = isIdle ? kIdle : Clock::now();
    changed.wait(lock, [&] {
      return stopping || scheduler.size() > 0 || !inFlight.empty();
    });
    if (scheduler.size() > 0 && !idleBatches.empty()) {
      if (mayStart(lock))
        startBatch(lock);
    } else if (!inFlight.empty()) {
      finishBatch(lock);
    } else if (stopping) {
      return;
    }
  }
}

/// Whether it is time to make a batch: the later, the more requests there are
/// for it, but the device must not wait. Waits for that time, or a change.
bool Dispatcher::mayStart(Lock &lock) {
  if (inFlight.empty())
    return true;
  const Batch &running = *inFlight.front();
  const Clock::time_point time = std::max(running.start, lastEnd) +
                                 running.predicted.mean -
                                 2 * running.predicted.deviation - kLead;
  return Clock::now() >= time ||
         changed.wait_until(lock, time) == std::cv_status::timeout;
}

void Dispatcher::startBatch(Lock &lock) {
  const Clock::time_point now = Clock::now();
  scheduler.take(now, taken, dropped);
  Batch *batch = nullptr;
  if (!taken.empty()) {
    batch = idleBatches.back();
    idleBatches.pop_back();
    batch->number = ++batchCount;
    batch->model = slots[taken.front().slot].model;
    batch->start = now;
    batch->events = 0;
    batch->predicted = Scheduler::predict(taken);
    batch->slots.clear();
    packing.clear();
    for (const Job &job : taken) {
      Slot &slot = slots[job.slot];
      slot.state = Slot::State::Running;
      batch->slots.push_back(job.slot);
      batch->events += job.events;
      packing.push_back(&slot.windows);
    }
    const Clock::time_point free =
        inFlight.empty()
            ? now
            : std::max(now, std::max(inFlight.back()->start, lastEnd) +
                                inFlight.back()->predicted.mean);
    scheduler.setBusyUntil(free + batch->predicted.mean);
  }
  answerDropped(lock);
  if (!batch)
    return;
  lock.unlock();
  Status status = launch(*batch);
  lock.lock();
  if (status.isOk())
    inFlight.push_back(batch);
  else
    failBatch(lock, *batch, status);
}

void Dispatcher::answerDropped(Lock &lock) {
  for (const Job &job : dropped)
    slots[job.slot].state = Slot::State::Running;
  for (const Job &job : dropped) {
    const bool expired = Clock::now() >= job.deadline;
    answer(lock, job.slot,
           explain({.kind = expired ? ErrorKind::Expired : ErrorKind::Late}));
  }
}

Status Dispatcher::launch(Batch &batch) {
  BETZ_ASSIGN_OR_RETURN(batch.step, batch.model->loaded->start(packing));
  batch.packed = Clock::now();
  return Status::ok();
}

void Dispatcher::finishBatch(Lock &lock) {
  Batch &batch = *inFlight.front();
  lock.unlock();
  Result<std::span<const float>> rows = batch.model->loaded->finish(batch.step);
  const Clock::time_point end = Clock::now();
  if (config.observer && rows.isOk())
    tellObserver(batch, *rows);
  lock.lock();
  inFlight.erase(inFlight.begin());
  if (!rows.isOk()) {
    failBatch(lock, batch, rows.status());
    return;
  }
  record(batch, end);
  answerBatch(lock, batch, *rows, end);
}

void Dispatcher::tellObserver(const Batch &batch,
                              std::span<const float> behavior) {
  packing.clear();
  for (uint32_t slot : batch.slots)
    packing.push_back(&slots[slot].windows);
  const ModelVersion &model = *batch.model;
  config.observer->onBatch({.number = batch.number,
                            .model = model.name,
                            .version = model.version,
                            .programHash = model.programHash,
                            .device = model.loaded->deviceName(),
                            .requests = packing,
                            .windows = batch.step.windows,
                            .events = batch.events,
                            .columns = model.loaded->ports().columns,
                            .behavior = behavior});
}

void Dispatcher::record(const Batch &batch, Clock::time_point end) {
  const std::chrono::nanoseconds computed =
      end - std::max(batch.start, lastEnd);
  lastEnd = end;
  scheduler.setBusyUntil(
      inFlight.empty() ? end : end + inFlight.front()->predicted.mean);
  const int64_t windows = batch.step.windows;
  batch.model->loaded->schedule().times.learn(windows, batch.events, computed);
  ModelStatistics &statistics = batch.model->statistics;
  statistics.windows += uint64_t(windows);
  ++statistics.batches;
  statistics.lastBatch = std::chrono::system_clock::now();
  statistics.packed.add(batch.packed - batch.start);
  statistics.computed.add(computed);
  statistics.computedBatches(windows).add(computed);
  statistics.computeSeconds.add(toSeconds(computed));
  statistics.batchWindows.add(double(windows));
  statistics.batchFill.add(double(windows) /
                           double(batch.model->loaded->maxWindows()));
  if (batch.predicted.mean.count() > 0)
    statistics.actualOverPredicted.add(toSeconds(computed) /
                                       toSeconds(batch.predicted.mean));
  for (uint32_t slot : batch.slots) {
    const std::chrono::nanoseconds queued = batch.start - slots[slot].arrival;
    statistics.queued.add(queued);
    statistics.queueSeconds.add(toSeconds(queued));
  }
}

void Dispatcher::answerBatch(Lock &lock, Batch &batch,
                             std::span<const float> behavior,
                             Clock::time_point end) {
  const int64_t columns = batch.model->loaded->ports().columns;
  // The last answer may release the model.
  ModelStatistics &statistics = batch.model->statistics;
  const Clock::time_point start = Clock::now();
  statistics.unpacked.add(start - end);
  for (uint32_t number : batch.slots) {
    const int64_t windows = slots[number].windows.windows();
    const std::span<const float> rows =
        behavior.first(size_t(windows * columns));
    const int64_t nonFinite = countNonFinite(rows, columns);
    statistics.nonFinite += uint64_t(nonFinite);
    const Decoded decoded = {.behavior = rows,
                             .windows = windows,
                             .columns = columns,
                             .version = batch.model->version,
                             .queued = batch.start - slots[number].arrival,
                             .computed = end - batch.start,
                             .predicted = batch.predicted.mean,
                             .batch = batch.number,
                             .batchWindows = batch.step.windows,
                             .isNonFinite = nonFinite > 0};
    behavior = behavior.subspan(size_t(windows * columns));
    answer(lock, number, decoded);
  }
  idleBatches.push_back(&batch);
}

void Dispatcher::failBatch(Lock &lock, Batch &batch, const Status &why) {
  scheduler.setBusyUntil(Clock::now());
  for (uint32_t number : batch.slots)
    answer(lock, number,
           Error{ErrorKind::Device,
                 fmt::format("the device failed: {}", why.message()),
                 {}});
  idleBatches.push_back(&batch);
}

} // namespace betz::serve
