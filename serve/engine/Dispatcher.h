//===- Dispatcher.h - The requests that wait, and the thread that runs them
//===//
#pragma once

#include "serve/engine/ModelTable.h"
#include "serve/engine/Scheduler.h"

#include <atomic>
#include <thread>

namespace betz::serve {

/// Takes requests from any thread; one thread of its own runs them in batches
/// and calls their callbacks. In its steady state it allocates nothing.
class Dispatcher {
public:
  /// `table` must outlive it.
  Dispatcher(ModelTable &table, const EngineConfig &config,
             size_t stepsInFlight);
  /// Answers what waits with NotReady and ends the thread.
  ~Dispatcher();

  /// Starts the thread; it runs `prepare` first, whose error is returned.
  Status start(const std::function<Status()> &prepare);

  RequestId submit(const Request &request, Callback callback);
  void cancel(RequestId request);
  int64_t drain(std::chrono::nanoseconds limit);
  bool isDraining() const { return draining; }
  /// How long the thread has not turned though there is work for it. Never
  /// waits for the thread.
  std::chrono::nanoseconds sinceTurn() const;

  /// Of requests and models; nothing of streams.
  Statistics statistics();

private:
  /// A request, from submit() to its answer.
  struct Slot {
    enum class State : uint8_t { Free, Waiting, Running };
    State state = State::Free;
    uint32_t generation = 0;
    Windows windows;
    Callback callback;
    ModelVersion *model = nullptr;
    Clock::time_point arrival, deadline;
  };
  /// A batch on the device.
  struct Batch {
    uint64_t number = 0;
    ModelVersion *model = nullptr;
    std::vector<uint32_t> slots;
    LoadedModel::Step step;
    int64_t events = 0;
    Clock::time_point start, packed;
    ServiceTime predicted;
  };
  using Lock = std::unique_lock<std::mutex>;

  // Any thread.
  RequestId refuse(ModelVersion *model, Error error, const Callback &callback);
  std::optional<Refusal> queue(const Request &request, Callback &callback,
                               ModelVersion *model, Clock::time_point arrival,
                               RequestId &id);
  Error explain(const Refusal &refusal) const;
  /// Frees the slot and calls back, outside the lock.
  void answer(Lock &lock, uint32_t slot, const Answer &answer);
  void refuseWaiting(Lock &lock);

  // The dispatcher's thread.
  void run();
  bool mayStart(Lock &lock);
  void startBatch(Lock &lock);
  void answerDropped(Lock &lock);
  Status launch(Batch &batch);
  void finishBatch(Lock &lock);
  void record(const Batch &batch, Clock::time_point end);
  /// Without the lock: what a running batch names stays.
  void tellObserver(const Batch &batch, std::span<const float> behavior);
  void answerBatch(Lock &lock, Batch &batch, std::span<const float> behavior,
                   Clock::time_point end);
  void failBatch(Lock &lock, Batch &batch, const Status &why);

  ModelTable &table;
  const EngineConfig config;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  std::condition_variable answered;
  // Guarded by the mutex.
  Scheduler scheduler;
  std::vector<Slot> slots;
  std::vector<uint32_t> freeSlots;
  std::array<uint64_t, kErrorKinds> errors{};
  bool stopping = false;
  std::atomic<bool> draining = false;
  /// When the thread last turned, or was given work while it had none;
  /// kIdle while it has none. Written under the mutex.
  static constexpr Clock::time_point kIdle = Clock::time_point::max();
  std::atomic<Clock::time_point> turnedAt = kIdle;

  // The thread's own.
  std::vector<Batch> batches; // one for each step in flight
  std::vector<Batch *> inFlight, idleBatches;
  std::vector<Job> taken, dropped;
  std::vector<const Windows *> packing;
  Clock::time_point lastEnd{};
  uint64_t batchCount = 0;
};

} // namespace betz::serve
