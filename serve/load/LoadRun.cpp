#include "serve/load/LoadRun.h"

#include "serve/engine/LoadedModel.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <random>
#include <thread>

namespace betz::serve {
namespace {

constexpr uint32_t kSeed = 1;
/// Sleeping wakes some tens of microseconds late, so the last stretch before a
/// request is to be sent is waited for awake.
constexpr std::chrono::microseconds kSpin{100};

/// Collects answers from the engine's thread.
class Collector {
public:
  explicit Collector(size_t expected) { result.latencies.reserve(expected); }

  /// A client that waits for answers takes them as they come.
  void add(Clock::time_point due, Clock::time_point deadline,
           const Answer &answer) {
    const Clock::time_point now = Clock::now();
    std::lock_guard lock(mutex);
    if (const Error *error = std::get_if<Error>(&answer)) {
      ++result.errors[size_t(error->kind)];
    } else {
      result.latencies.push_back(now - due);
      result.onTime += now <= deadline;
      result.batchWindows += uint64_t(std::get<Decoded>(answer).batchWindows);
    }
    ++answered;
    changed.notify_one();
  }
  void waitFor(uint64_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return answered >= count; });
  }

  LoadResult result;

private:
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t answered = 0;
};

/// Sends windows of a model, one a request.
class Sender {
public:
  static Result<Sender> create(Engine &engine, const LoadOptions &options) {
    BETZ_ASSIGN_OR_RETURN(ModelInfo model, engine.model(options.model));
    BETZ_ASSIGN_OR_RETURN(WindowLimits limits, windowLimits(*model.program));
    Sender sender(engine, options);
    BETZ_ASSIGN_OR_RETURN(sender.windows,
                          differentWindows(limits, options.events));
    return sender;
  }

  void send(Collector &collector, Clock::time_point due) {
    const auto limit = options.deadline.count() > 0
                           ? options.deadline
                           : engine->config().defaultDeadline;
    const Clock::time_point deadline = due + limit;
    const Request request = {.model = options.model,
                             .windows = windows[next++ % windows.size()].view(),
                             .deadline = deadline};
    engine->submit(request, [&collector, due, deadline](const Answer &answer) {
      collector.add(due, deadline, answer);
    });
    ++collector.result.sent;
  }

private:
  Sender(Engine &engine, const LoadOptions &options)
      : engine(&engine), options(options) {}

  Engine *engine;
  LoadOptions options;
  std::vector<LoadWindows> windows;
  size_t next = 0;
};

void waitUntil(Clock::time_point time) {
  std::this_thread::sleep_until(time - kSpin);
  while (Clock::now() < time)
    ;
}

LoadResult finish(LoadResult result, std::string name,
                  Clock::time_point start) {
  result.name = std::move(name);
  result.elapsed = Clock::now() - start;
  std::ranges::sort(result.latencies);
  return result;
}

} // namespace

Result<WindowLimits> windowLimits(const Program &program) {
  BETZ_ASSIGN_OR_RETURN(DecoderPorts ports, findDecoderPorts(program));
  return WindowLimits{indexLimit(program, ports.neuronId),
                      indexLimit(program, ports.timeBin),
                      indexLimit(program, ports.value), ports.maxEvents};
}

Result<LoadWindows> randomWindows(const WindowLimits &limits, int64_t count,
                                  int64_t events, uint32_t seed) {
  if (events < 0 || events > limits.maxEvents)
    return invalidArgument(
        fmt::format("{} events a window; the program takes 0 to {}", events,
                    limits.maxEvents));
  std::mt19937 random(seed);
  LoadWindows windows;
  auto fill = [&](std::vector<int32_t> &ids, int32_t below) {
    std::uniform_int_distribution<int32_t> id(0, below - 1);
    for (int64_t i = 0; i < count * events; ++i)
      ids.push_back(id(random));
  };
  fill(windows.neuronId, limits.neurons);
  fill(windows.timeBin, limits.bins);
  fill(windows.value, limits.values);
  for (int64_t window = 0; window <= count; ++window)
    windows.rowSplits.push_back(int32_t(window * events));
  return windows;
}

Result<std::vector<LoadWindows>> differentWindows(const WindowLimits &limits,
                                                  int64_t events) {
  std::vector<LoadWindows> windows;
  for (uint32_t i = 0; i < kDifferentWindows; ++i) {
    BETZ_ASSIGN_OR_RETURN(LoadWindows window,
                          randomWindows(limits, 1, events, kSeed + i));
    windows.push_back(std::move(window));
  }
  return windows;
}

std::chrono::nanoseconds LoadResult::quantile(double part) const {
  if (latencies.empty())
    return {};
  const size_t index =
      size_t(std::ceil(part * double(latencies.size()))) - (part > 0);
  return latencies[std::min(index, latencies.size() - 1)];
}

double LoadResult::perSecond(uint64_t count) const {
  return double(count) / (double(elapsed.count()) * 1e-9);
}

Result<LoadResult> runOpenLoop(Engine &engine, const LoadOptions &options,
                               ArrivalPattern pattern, double rate) {
  BETZ_ASSIGN_OR_RETURN(Sender sender, Sender::create(engine, options));
  const auto times = arrivalTimes(pattern, rate, options.length, kSeed);
  Collector collector(times.size());
  const Clock::time_point start = Clock::now();
  for (std::chrono::nanoseconds time : times) {
    waitUntil(start + time);
    sender.send(collector, start + time);
  }
  collector.waitFor(times.size());
  return finish(std::move(collector.result),
                fmt::format("open, {}, {:.4g}/s", toString(pattern), rate),
                start);
}

Result<LoadResult> runClosedLoop(Engine &engine, const LoadOptions &options,
                                 int64_t clients) {
  BETZ_ASSIGN_OR_RETURN(Sender sender, Sender::create(engine, options));
  Collector collector(1 << 16);
  const Clock::time_point start = Clock::now(), end = start + options.length;
  uint64_t sent = 0;
  while (Clock::now() < end) {
    // As many as there are clients are on their way.
    if (sent >= uint64_t(clients))
      collector.waitFor(sent - uint64_t(clients) + 1);
    sender.send(collector, Clock::now());
    ++sent;
  }
  collector.waitFor(sent);
  return finish(std::move(collector.result),
                fmt::format("closed, {} clients", clients), start);
}

Result<LoadResult> runBatchLoop(std::shared_ptr<const Program> program,
                                std::shared_ptr<Device> device,
                                const LoadOptions &options, int64_t windows) {
  BETZ_ASSIGN_OR_RETURN(const WindowLimits limits, windowLimits(*program));
  BETZ_ASSIGN_OR_RETURN(LoadWindows batch,
                        randomWindows(limits, windows, options.events, kSeed));
  BETZ_ASSIGN_OR_RETURN(
      std::unique_ptr<LoadedModel> model,
      LoadedModel::create(std::move(program), std::move(device), 1, 0));
  const Windows view = batch.view();
  const Windows *const request = &view;
  BETZ_RETURN_IF_ERROR(model->check(view));
  LoadResult result;
  Clock::time_point start = Clock::now();
  for (int64_t run = 0; Clock::now() < start + options.length; ++run) {
    const Clock::time_point begin = Clock::now();
    BETZ_ASSIGN_OR_RETURN(LoadedModel::Step step, model->start({&request, 1}));
    BETZ_RETURN_IF_ERROR(model->finish(step).status());
    if (run == 0) {
      start = Clock::now(); // the first is warm-up
      continue;
    }
    result.sent += uint64_t(windows);
    result.onTime += uint64_t(windows);
    result.batchWindows += uint64_t(windows * windows);
    result.latencies.insert(result.latencies.end(), size_t(windows),
                            Clock::now() - begin);
  }
  return finish(std::move(result), fmt::format("loop, batch {}", windows),
                start);
}

} // namespace betz::serve
