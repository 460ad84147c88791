#include "serve/load/StreamRun.h"

#include "serve/engine/StreamSession.h"
#include "serve/load/LoadReport.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <random>
#include <semaphore>

namespace betz::serve {
namespace {

/// Decodes wait for those of all other streams.
constexpr std::chrono::seconds kDeadline{60};

/// One decode's answer, kept.
struct Row {
  std::vector<float> behavior = {};
  std::optional<ErrorKind> error = {};
  std::chrono::nanoseconds latency{0};
  int64_t batchWindows = 0;
};

/// A client: it draws events, sends them, and keeps its own account of what
/// counts.
class Client {
public:
  Client(std::shared_ptr<StreamSession> session, WindowLimits limits,
         double events, uint32_t seed)
      : session(std::move(session)), limits(limits), random(seed),
        count(events * this->session->strideBins() /
              this->session->windowBins()) {}

  Status beginStride(std::counting_semaphore<> &answered) {
    std::vector<StreamEvent> events = drawEvents();
    BETZ_RETURN_IF_ERROR(session->push(events).status());
    end += session->strideBins();
    const Clock::time_point asked = Clock::now();
    return session
        ->advance(end,
                  [this, asked, &answered](const StreamAnswer &answer) {
                    keep(answer, Clock::now() - asked);
                    answered.release();
                  })
        .status();
  }

  /// The window of the last stride, bins from its start on.
  LoadWindows window() {
    const int32_t begin = end - session->windowBins();
    account.erase(account.begin(), account.lower_bound({begin, 0}));
    LoadWindows window;
    for (const auto &[place, value] : account) {
      window.timeBin.push_back(place.first - begin);
      window.neuronId.push_back(place.second);
      window.value.push_back(std::min(value, limits.values - 1));
    }
    window.rowSplits = {0, int32_t(window.neuronId.size())};
    return window;
  }

  int32_t endBin() const { return end; }
  const Row &row() const { return last; }

private:
  std::vector<StreamEvent> drawEvents() {
    std::vector<StreamEvent> events(size_t(count(random)));
    std::uniform_int_distribution<int32_t> bin(0, session->strideBins() - 1),
        neuron(0, limits.neurons - 1), value(1, limits.values - 1);
    for (StreamEvent &event : events) {
      event = {neuron(random), end + bin(random), value(random)};
      account[{event.bin, event.neuron}] += event.value;
    }
    return events;
  }

  void keep(const StreamAnswer &answer, std::chrono::nanoseconds latency) {
    if (const Error *error = std::get_if<Error>(&answer.answer)) {
      last = {.error = error->kind};
      return;
    }
    const Decoded &decoded = std::get<Decoded>(answer.answer);
    last = {.behavior = {decoded.behavior.begin(), decoded.behavior.end()},
            .latency = latency,
            .batchWindows = decoded.batchWindows};
  }

  std::shared_ptr<StreamSession> session;
  WindowLimits limits;
  std::mt19937 random;
  std::poisson_distribution<int> count;
  int32_t end = 0;
  /// Sums of values by (bin, neuron).
  std::map<std::pair<int32_t, int32_t>, int32_t> account;
  Row last;
};

Result<std::vector<std::unique_ptr<Client>>>
openClients(Engine &engine, const Program &program,
            const StreamRunOptions &options) {
  BETZ_ASSIGN_OR_RETURN(const WindowLimits limits, windowLimits(program));
  std::vector<std::unique_ptr<Client>> clients;
  for (int64_t i = 0; i < options.streams; ++i) {
    auto opened =
        engine.openStream({.model = options.model, .deadline = kDeadline});
    if (const Error *error = std::get_if<Error>(&opened))
      return unavailable(fmt::format("stream {}: {}", i, error->message));
    clients.push_back(std::make_unique<Client>(
        std::get<std::shared_ptr<StreamSession>>(std::move(opened)), limits,
        options.events, options.seed + uint32_t(i)));
  }
  return clients;
}

/// Counts of `after` less those of `before`.
StreamStatistics difference(StreamStatistics after,
                            const StreamStatistics &before) {
  for (auto count : {&StreamStatistics::decodes, &StreamStatistics::events,
                     &StreamStatistics::late, &StreamStatistics::merged,
                     &StreamStatistics::pageHits, &StreamStatistics::pageMisses,
                     &StreamStatistics::evictions, &StreamStatistics::bytesRead,
                     &StreamStatistics::bytesUploaded})
    after.*count -= before.*count;
  return after;
}

/// Asks every client's next decode and waits for the answers.
Result<std::chrono::nanoseconds>
decodeStride(std::span<const std::unique_ptr<Client>> clients) {
  std::counting_semaphore<> answered(0);
  const Clock::time_point start = Clock::now();
  Status status = Status::ok();
  size_t asked = 0;
  while (status.isOk() && asked < clients.size()) {
    status = clients[asked]->beginStride(answered);
    asked += status.isOk();
  }
  for (size_t i = 0; i < asked; ++i)
    answered.acquire();
  BETZ_RETURN_IF_ERROR(status);
  return Clock::now() - start;
}

/// Compares the last decode of every client with its window alone.
Status compare(std::span<const std::unique_ptr<Client>> clients,
               LoadedModel &scratch, StreamRunResult &result) {
  for (size_t i = 0; i < clients.size(); ++i) {
    const Row &row = clients[i]->row();
    const LoadWindows own = clients[i]->window();
    ++result.load.sent;
    if (row.error) {
      ++result.load.errors[size_t(*row.error)];
      continue;
    }
    ++result.load.onTime;
    result.load.latencies.push_back(row.latency);
    result.load.batchWindows += uint64_t(row.batchWindows);
    BETZ_ASSIGN_OR_RETURN(std::span<const float> alone,
                          scratch.run(own.view()));
    if (std::memcmp(alone.data(), row.behavior.data(), alone.size_bytes()) == 0)
      continue;
    if (result.differing++ == 0)
      result.firstDifference = fmt::format(
          "stream {}, the window that ends before bin {}, {} events", i,
          clients[i]->endBin(), own.neuronId.size());
  }
  return Status::ok();
}

} // namespace

double StreamRunResult::hitRate() const {
  const uint64_t read = counts.pageHits + counts.pageMisses;
  return read == 0 ? 1 : double(counts.pageHits) / double(read);
}

Result<StreamRunResult> runStreams(Engine &engine, LoadedModel &scratch,
                                   const StreamRunOptions &options) {
  BETZ_ASSIGN_OR_RETURN(auto clients,
                        openClients(engine, scratch.program(), options));
  StreamRunResult result;
  result.load.name = fmt::format("{} streams", options.streams);
  const StreamStatistics before = engine.statistics().streams;
  for (int64_t stride = 0; stride < options.strides; ++stride) {
    BETZ_ASSIGN_OR_RETURN(std::chrono::nanoseconds time, decodeStride(clients));
    result.load.elapsed += time;
    BETZ_RETURN_IF_ERROR(compare(clients, scratch, result));
  }
  result.counts = difference(engine.statistics().streams, before);
  std::ranges::sort(result.load.latencies);
  return result;
}

Json toJson(const StreamRunResult &result) {
  Json report = toJson(result.load);
  report["differing"] = result.differing;
  report["hit_rate"] = result.hitRate();
  report["evictions"] = result.counts.evictions;
  report["bytes_read"] = result.counts.bytesRead;
  report["bytes_uploaded"] = result.counts.bytesUploaded;
  return report;
}

} // namespace betz::serve
