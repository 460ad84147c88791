#include "serve/http/SpanExporter.h"

#include "runtime/base/Log.h"
#include "serve/http/Asio.h"

namespace betz::serve {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 500ms;
constexpr auto kSendLimit = 5s;

/// POSTs `body` and gives the status; 0 where there was no answer.
asio::awaitable<void> post(std::string host, std::string port, std::string path,
                           std::string body, unsigned &status) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  auto [resolveError, places] =
      co_await resolver.async_resolve(host, port, kAwait);
  if (resolveError)
    co_return;
  beast::tcp_stream stream(executor);
  stream.expires_after(kSendLimit);
  auto [connectError, place] = co_await stream.async_connect(places, kAwait);
  if (connectError)
    co_return;
  HttpRequest request(http::verb::post, path, 11);
  request.set(http::field::host, host + ":" + port);
  request.set(http::field::content_type, "application/json");
  request.keep_alive(false);
  request.body() = std::move(body);
  request.prepare_payload();
  auto [writeError, written] =
      co_await http::async_write(stream, request, kAwait);
  if (writeError)
    co_return;
  beast::flat_buffer buffer;
  HttpResponse response;
  auto [readError, read] =
      co_await http::async_read(stream, buffer, response, kAwait);
  if (!readError)
    status = response.result_int();
}

} // namespace

Result<std::unique_ptr<SpanExporter>>
SpanExporter::create(std::string_view text, FrontMetrics &metrics) {
  static constexpr std::string_view kScheme = "http://";
  const std::string_view rest =
      text.starts_with(kScheme) ? text.substr(kScheme.size()) : "";
  const size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view place = rest.substr(0, slash);
  const size_t colon = place.rfind(':');
  if (place.empty() || colon == 0 || colon == std::string_view::npos ||
      colon + 1 == place.size())
    return invalidArgument(fmt::format("otlp-endpoint is '{}'; it must be "
                                       "http://HOST:PORT/v1/traces",
                                       text));
  Endpoint endpoint = {
      std::string(place.substr(0, colon)), std::string(place.substr(colon + 1)),
      slash < rest.size() ? std::string(rest.substr(slash)) : "/v1/traces"};
  return std::unique_ptr<SpanExporter>(
      new SpanExporter(std::move(endpoint), metrics));
}

SpanExporter::SpanExporter(Endpoint endpoint, FrontMetrics &metrics)
    : endpoint(std::move(endpoint)), metrics(metrics),
      thread([this] { run(); }) {}

SpanExporter::~SpanExporter() {
  {
    std::scoped_lock lock(mutex);
    isStopping = true;
  }
  changed.notify_one();
  thread.join();
}

void SpanExporter::add(RequestSpan span) {
  std::scoped_lock lock(mutex);
  if (queue.size() < kMaxQueue)
    queue.push_back(std::move(span));
  else
    metrics.spansDropped += countSpans({&span, 1});
}

void SpanExporter::run() {
  bool isLast = false;
  bool hasWarned = false;
  while (!isLast) {
    std::vector<RequestSpan> batch;
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, kInterval, [this] { return isStopping; });
      isLast = isStopping;
      batch.swap(queue);
    }
    if (batch.empty())
      continue;
    if (send(writeOtlp(batch))) {
      metrics.spansExported += countSpans(batch);
      continue;
    }
    metrics.spansDropped += countSpans(batch);
    if (!std::exchange(hasWarned, true))
      logWarn("serve", "{}:{} takes no traces; they are dropped and counted",
              endpoint.host, endpoint.port);
  }
}

bool SpanExporter::send(const std::string &body) const {
  asio::io_context context;
  unsigned status = 0;
  asio::co_spawn(
      context, post(endpoint.host, endpoint.port, endpoint.path, body, status),
      asio::detached);
  context.run_for(kSendLimit);
  return status >= 200 && status < 300;
}

} // namespace betz::serve
