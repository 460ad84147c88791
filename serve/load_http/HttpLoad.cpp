#include "serve/load_http/HttpLoad.h"

#include "runtime/base/Json.h"
#include "serve/load_http/HttpClient.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <fmt/format.h>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;
using boost::system::error_code;

/// A timer wakes some tens of microseconds late, so the last stretch before a
/// request is due is waited for awake.
constexpr auto kSpin = 100us;
/// An answer that is so much later than its deadline does not come any more.
constexpr auto kGrace = 10s;
/// Between attempts to reach a server that is gone.
constexpr auto kPause = 100ms;

constexpr uint32_t kSeed = 1;

/// What the clients of one run share. All of it belongs to the thread that runs
/// the context.
struct Run {
  Run(const HttpTarget &target, const LoadOptions &options)
      : target(target), options(options),
        deadline(options.deadline.count() > 0 ? options.deadline
                                              : kHttpDeadline) {}

  /// Resolves the host and draws the windows.
  Status prepare();

  const HttpTarget &target;
  const LoadOptions &options;
  const std::chrono::nanoseconds deadline;
  tcp::endpoint endpoint;
  std::vector<LoadWindows> windows;
  Clock::time_point end;
  LoadResult result;

  asio::io_context context{1};
  /// Of an open loop: requests that no client has taken, and clients that wait.
  std::deque<Clock::time_point> due;
  std::vector<asio::steady_timer *> waiting;
  bool isOver = false;
};

HttpRequest makeRequest(const HttpTarget &target) {
  HttpRequest request(http::verb::post,
                      "/v2/models/" + escapePath(target.model.name) + "/infer",
                      11);
  request.set(http::field::host,
              target.address.host + ":" + target.address.port);
  request.set(http::field::content_type, "application/octet-stream");
  return request;
}

/// Whether an answer of status 200 has one window of behavior in bytes.
bool isWhole(const HttpResponse &response, int64_t columns) {
  const std::string_view text =
      view(response["Inference-Header-Content-Length"]);
  size_t jsonBytes = 0;
  const char *end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, jsonBytes);
  return code == std::errc() && stop == end &&
         response.body().size() == jsonBytes + size_t(columns) * sizeof(float);
}

class Client {
public:
  explicit Client(Run &run)
      : run(run), http(run.context.get_executor(), run.endpoint),
        request(makeRequest(run.target)) {}

  asio::awaitable<error_code> connect() { return http.connect(); }

  /// Sends the next window and counts what becomes of it.
  asio::awaitable<void> send(Clock::time_point due) {
    const Clock::time_point deadline = due + run.deadline;
    const InferBytes bytes = writeInferBytes(
        run.windows[run.result.sent++ % run.windows.size()].view(),
        std::max<std::chrono::nanoseconds>(deadline - Clock::now(), 1us));
    request.body() = bytes.body;
    request.set("Inference-Header-Content-Length",
                std::to_string(bytes.jsonBytes));
    request.prepare_payload();
    error_code ec = co_await http.connect();
    if (!ec)
      ec = co_await http.exchange(request, response, run.deadline + kGrace);
    if (ec) {
      ++run.result.lost;
      co_await pause();
    } else {
      count(due, deadline);
    }
  }

private:
  void count(Clock::time_point due, Clock::time_point deadline) {
    const Clock::time_point now = Clock::now();
    if (const auto error = errorKindOf(response.result_int())) {
      ++run.result.errors[size_t(*error)];
    } else if (!isWhole(response, run.target.model.columns)) {
      ++run.result.lost;
    } else {
      run.result.latencies.push_back(now - due);
      run.result.onTime += now <= deadline;
    }
  }
  asio::awaitable<void> pause() {
    if (Clock::now() >= run.end)
      co_return;
    asio::steady_timer timer(run.context, kPause);
    co_await timer.async_wait(kAwait);
  }

  Run &run;
  HttpClient http;
  HttpRequest request;
  HttpResponse response;
};

Status Run::prepare() {
  BETZ_ASSIGN_OR_RETURN(endpoint, resolve(target.address));
  BETZ_ASSIGN_OR_RETURN(windows,
                        differentWindows(target.model.limits, options.events));
  return Status::ok();
}

using Clients = std::vector<std::unique_ptr<Client>>;

asio::awaitable<void> connectAll(Clients &clients, error_code &error) {
  for (const auto &client : clients)
    if ((error = co_await client->connect()))
      break;
}

/// Clients whose connections are open.
Result<Clients> openClients(Run &run, int64_t count) {
  Clients clients;
  for (int64_t i = 0; i < count; ++i)
    clients.push_back(std::make_unique<Client>(run));
  error_code error;
  asio::co_spawn(run.context, connectAll(clients, error), asio::detached);
  run.context.run();
  run.context.restart();
  if (error)
    return unavailable(fmt::format("{} connections to {}:{}: {}", count,
                                   run.target.address.host,
                                   run.target.address.port, error.message()));
  return clients;
}

/// Runs what was spawned until all is answered.
LoadResult finish(Run &run, std::string name, Clock::time_point start,
                  const BatchCounts &before) {
  run.context.run();
  LoadResult result = std::move(run.result);
  result.name = std::move(name);
  result.elapsed = Clock::now() - start;
  std::ranges::sort(result.latencies);
  const BatchCounts after =
      BatchCounts::ask(run.target.address, run.target.model.name);
  if (after.windows > before.windows)
    result.batchWindows = result.latencies.size() *
                          (after.batchWindows - before.batchWindows) /
                          (after.windows - before.windows);
  return result;
}

asio::awaitable<void> runClosedClient(Run &run, Client &client) {
  while (Clock::now() < run.end)
    co_await client.send(Clock::now());
}

asio::awaitable<void> runOpenClient(Run &run, Client &client) {
  asio::steady_timer wakeUp(run.context);
  while (true) {
    if (!run.due.empty()) {
      const Clock::time_point due = run.due.front();
      run.due.pop_front();
      co_await client.send(due);
    } else if (run.isOver) {
      co_return;
    } else {
      wakeUp.expires_at(asio::steady_timer::time_point::max());
      run.waiting.push_back(&wakeUp);
      co_await wakeUp.async_wait(kAwait);
    }
  }
}

/// Hands out each request when it is due.
asio::awaitable<void> dispatch(Run &run, Clock::time_point start,
                               std::vector<std::chrono::nanoseconds> times) {
  asio::steady_timer timer(run.context);
  for (const std::chrono::nanoseconds time : times) {
    const Clock::time_point due = start + time;
    if (due - kSpin > Clock::now()) {
      timer.expires_at(due - kSpin);
      co_await timer.async_wait(kAwait);
    }
    while (Clock::now() < due)
      co_await asio::post(run.context, kAwait);
    run.due.push_back(due);
    if (run.waiting.empty())
      continue;
    run.waiting.back()->cancel();
    run.waiting.pop_back();
  }
  run.isOver = true;
  for (asio::steady_timer *wakeUp : std::exchange(run.waiting, {}))
    wakeUp->cancel();
}

} // namespace

std::optional<ErrorKind> errorKindOf(unsigned status) {
  switch (status) {
  case 200:
    return std::nullopt;
  case 404:
    return ErrorKind::UnknownModel;
  case 429:
    return ErrorKind::QueueFull;
  case 499:
    return ErrorKind::Cancelled;
  case 503:
    return ErrorKind::NotReady;
  case 504:
    return ErrorKind::Late;
  default:
    return status >= 500 ? ErrorKind::Device : ErrorKind::Invalid;
  }
}

InferBytes writeInferBytes(const Windows &window,
                           std::chrono::nanoseconds timeout) {
  const std::pair<const char *, std::span<const int32_t>> tensors[] = {
      {"neuron_id", window.neuronId},
      {"time_bin", window.timeBin},
      {"value", window.value},
      {"row_splits", window.rowSplits}};
  InferBytes out;
  out.body = fmt::format("{{\"parameters\":{{\"timeout\":{},"
                         "\"binary_data_output\":true}},\"inputs\":[",
                         std::max<int64_t>(timeout.count() / 1000, 1));
  for (const auto &[name, values] : tensors)
    fmt::format_to(std::back_inserter(out.body),
                   "{}{{\"name\":\"{}\",\"datatype\":\"INT32\",\"shape\":[{}],"
                   "\"parameters\":{{\"binary_data_size\":{}}}}}",
                   name == tensors[0].first ? "" : ",", name, values.size(),
                   values.size_bytes());
  out.body += "]}";
  out.jsonBytes = out.body.size();
  for (const auto &[name, values] : tensors)
    out.body.append(reinterpret_cast<const char *>(values.data()),
                    values.size_bytes());
  return out;
}

Result<LoadResult> runClosedLoop(const HttpTarget &target,
                                 const LoadOptions &options, int64_t clients) {
  Run run(target, options);
  BETZ_RETURN_IF_ERROR(run.prepare());
  BETZ_ASSIGN_OR_RETURN(const Clients open, openClients(run, clients));
  const BatchCounts before =
      BatchCounts::ask(target.address, target.model.name);
  const Clock::time_point start = Clock::now();
  run.end = start + options.length;
  for (const auto &client : open)
    asio::co_spawn(run.context, runClosedClient(run, *client), asio::detached);
  return finish(run, fmt::format("closed, {} clients, HTTP", clients), start,
                before);
}

Result<LoadResult> runOpenLoop(const HttpTarget &target,
                               const LoadOptions &options,
                               ArrivalPattern pattern, double rate) {
  Run run(target, options);
  BETZ_RETURN_IF_ERROR(run.prepare());
  auto times = arrivalTimes(pattern, rate, options.length, kSeed);
  BETZ_ASSIGN_OR_RETURN(const Clients open,
                        openClients(run, target.connections));
  const BatchCounts before =
      BatchCounts::ask(target.address, target.model.name);
  const Clock::time_point start = Clock::now();
  run.end = start + options.length;
  for (const auto &client : open)
    asio::co_spawn(run.context, runOpenClient(run, *client), asio::detached);
  asio::co_spawn(run.context, dispatch(run, start, std::move(times)),
                 asio::detached);
  return finish(
      run, fmt::format("open, {}, {:.4g}/s, HTTP", toString(pattern), rate),
      start, before);
}

} // namespace betz::serve
