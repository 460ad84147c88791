#include "serve/load_http/IdleConnections.h"

#include "serve/load_http/HttpClient.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace betz::serve {
namespace {

/// Descriptors of everything but the idle connections.
constexpr int64_t kOtherFiles = 512;

Status raiseFileLimit(int64_t connections) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= rlim_t(connections + kOtherFiles))
    return Status::ok();
  return invalidArgument(fmt::format(
      "{} idle connections need {} open files; the hard limit is {} (raise it: "
      "ulimit -Hn)",
      connections, connections + kOtherFiles, limit.rlim_max));
}

/// Whether the server answers /health with 200.
asio::awaitable<void> askHealth(const ServerAddress &address,
                                beast::tcp_stream &stream,
                                tcp::endpoint endpoint, std::string &problem) {
  stream.expires_after(std::chrono::seconds(5));
  auto [connectError] = co_await stream.async_connect(endpoint, kAwait);
  HttpRequest request(http::verb::get, "/health", 11);
  request.set(http::field::host, address.host + ":" + address.port);
  boost::system::error_code ec = connectError;
  if (!ec)
    ec = std::get<0>(co_await http::async_write(stream, request, kAwait));
  beast::flat_buffer buffer;
  HttpResponse response;
  if (!ec)
    ec = std::get<0>(
        co_await http::async_read(stream, buffer, response, kAwait));
  if (ec)
    problem = ec.message();
  else if (response.result_int() != 200)
    problem = fmt::format("status {}: {}", response.result_int(),
                          response.body().substr(0, 200));
  stream.expires_never();
}

} // namespace

struct IdleConnections::Parts {
  asio::io_context context{1};
  std::vector<beast::tcp_stream> streams;
};

IdleConnections::IdleConnections(std::unique_ptr<Parts> parts)
    : parts(std::move(parts)) {}
IdleConnections::~IdleConnections() = default;

Result<std::unique_ptr<IdleConnections>>
IdleConnections::open(const ServerAddress &address, int64_t count) {
  BETZ_RETURN_IF_ERROR(raiseFileLimit(count));
  BETZ_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, resolve(address));
  auto parts = std::make_unique<Parts>();
  parts->streams.reserve(size_t(count));
  for (int64_t i = 0; i < count; ++i) {
    beast::tcp_stream &stream = parts->streams.emplace_back(parts->context);
    std::string problem;
    asio::co_spawn(parts->context,
                   askHealth(address, stream, endpoint, problem),
                   asio::detached);
    parts->context.run();
    parts->context.restart();
    if (!problem.empty())
      return unavailable(fmt::format("{}:{} took {} of {} idle connections: {}",
                                     address.host, address.port, i, count,
                                     problem));
  }
  return std::unique_ptr<IdleConnections>(
      new IdleConnections(std::move(parts)));
}

int64_t IdleConnections::countOpen() {
  int64_t open = 0;
  for (beast::tcp_stream &stream : parts->streams) {
    char byte = 0;
    const ssize_t got = ::recv(stream.socket().native_handle(), &byte, 1,
                               MSG_PEEK | MSG_DONTWAIT);
    open += got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
  return open;
}

} // namespace betz::serve
