#include "serve/http/Server.h"

#include "runtime/base/Log.h"
#include "serve/http/Connection.h"
#include "serve/http/Service.h"
#include "serve/http/SpanExporter.h"

#include <set>
#include <sys/socket.h>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;

/// The sockets of all connections, for ending them.
class OpenSockets {
public:
  void add(int socket) {
    std::scoped_lock lock(mutex);
    sockets.insert(socket);
  }
  void remove(int socket) {
    std::scoped_lock lock(mutex);
    sockets.erase(sockets.find(socket));
  }
  /// Reads then find an end, writes fail.
  void shutDown() {
    std::scoped_lock lock(mutex);
    for (int socket : sockets)
      shutdown(socket, SHUT_RDWR);
  }

private:
  std::mutex mutex;
  std::multiset<int> sockets; // guarded by mutex
};

/// One connection among the open ones, for as long as it lives.
class Registration {
public:
  Registration(OpenSockets &open, FrontMetrics &metrics, int socket)
      : open(open), metrics(metrics), socket(socket) {
    open.add(socket);
    ++metrics.connections;
    ++metrics.connectionsAccepted;
  }
  ~Registration() {
    open.remove(socket);
    --metrics.connections;
  }
  Registration(const Registration &) = delete;

private:
  OpenSockets &open;
  FrontMetrics &metrics;
  const int socket;
};

Status toStatus(boost::system::error_code ec, std::string_view what) {
  return ec ? unavailable(fmt::format("{}: {}", what, ec.message()))
            : Status::ok();
}

Result<std::unique_ptr<asio::ssl::context>>
openTls(const ServerConfig &config) {
  if (config.tlsCertificate.empty())
    return std::unique_ptr<asio::ssl::context>();
  auto context =
      std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  boost::system::error_code ec;
  context->set_options(asio::ssl::context::default_workarounds |
                           asio::ssl::context::no_tlsv1 |
                           asio::ssl::context::no_tlsv1_1,
                       ec);
  BETZ_RETURN_IF_ERROR(toStatus(ec, "TLS"));
  context->use_certificate_chain_file(config.tlsCertificate, ec);
  BETZ_RETURN_IF_ERROR(toStatus(ec, config.tlsCertificate));
  context->use_private_key_file(config.tlsKey, asio::ssl::context::pem, ec);
  BETZ_RETURN_IF_ERROR(toStatus(ec, config.tlsKey));
  return context;
}

/// Answers 503 without reading anything.
void refuse(tcp::socket &socket) {
  static constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
      "Connection: close\r\nContent-Type: application/json\r\n"
      "Content-Length: 32\r\n\r\n"
      "{\"error\":\"too many connections\"}";
  static_assert(kAnswer.ends_with("}") &&
                kAnswer.size() - kAnswer.find("{") == 32);
  [[maybe_unused]] const ssize_t sent =
      send(socket.native_handle(), kAnswer.data(), kAnswer.size(),
           MSG_DONTWAIT | MSG_NOSIGNAL);
}

} // namespace

struct Server::Parts {
  Parts(Engine &engine, const ServerConfig &givenConfig, ApiKeys keys)
      : config(givenConfig), service(engine, config, std::move(keys)) {}

  Status listen();
  asio::awaitable<void> acceptConnections();
  void accept(tcp::socket socket);
  asio::awaitable<void> serve(tcp::socket socket);
  asio::awaitable<void> drain();
  /// Waits until `count` is zero, at most `limit`.
  asio::awaitable<void> awaitZero(const std::atomic<int64_t> &count,
                                  std::chrono::nanoseconds limit);
  void beginDrain();

  const ServerConfig config;
  Service service;
  std::unique_ptr<asio::ssl::context> tls;
  OpenSockets sockets;
  asio::io_context context;
  tcp::acceptor acceptor{context};
  asio::signal_set signals{context, SIGTERM, SIGINT};
};

Status Server::Parts::listen() {
  boost::system::error_code ec;
  const std::string host =
      config.host == "localhost" ? "127.0.0.1" : config.host;
  const auto address = asio::ip::make_address(host, ec);
  if (ec)
    return invalidArgument(
        fmt::format("host '{}' is no IP address", config.host));
  const tcp::endpoint endpoint(address, static_cast<uint16_t>(config.port));
  const std::string place = fmt::format("{}:{}", host, config.port);
  acceptor.open(endpoint.protocol(), ec);
  BETZ_RETURN_IF_ERROR(toStatus(ec, place));
  acceptor.set_option(asio::socket_base::reuse_address(true), ec);
  acceptor.bind(endpoint, ec);
  BETZ_RETURN_IF_ERROR(toStatus(ec, place));
  acceptor.listen(asio::socket_base::max_listen_connections, ec);
  return toStatus(ec, place);
}

asio::awaitable<void> Server::Parts::serve(tcp::socket socket) {
  const Registration registration(sockets, service.metrics,
                                  socket.native_handle());
  co_await serveConnection(service, std::move(socket), tls.get());
}

void Server::Parts::accept(tcp::socket socket) {
  if (service.metrics.connections >= config.maxConnections) {
    ++service.metrics.connectionsRefused;
    return refuse(socket);
  }
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const auto executor = socket.get_executor();
  asio::co_spawn(executor, serve(std::move(socket)),
                 [](std::exception_ptr why) {
                   try {
                     if (why)
                       std::rethrow_exception(why);
                   } catch (const std::exception &error) {
                     logWarn("serve", "a connection ended by an exception: {}",
                             error.what());
                   }
                 });
}

asio::awaitable<void> Server::Parts::acceptConnections() {
  asio::steady_timer pause(context);
  while (acceptor.is_open()) {
    tcp::socket socket(asio::make_strand(context));
    auto [ec] = co_await acceptor.async_accept(socket, kAwait);
    if (!ec) {
      accept(std::move(socket));
      continue;
    }
    if (ec == asio::error::operation_aborted)
      break;
    // No descriptors, most often: some connection has to end first.
    logWarn("serve", "accepting a connection: {}", ec.message());
    pause.expires_after(50ms);
    co_await pause.async_wait(kAwait);
  }
}

asio::awaitable<void>
Server::Parts::awaitZero(const std::atomic<int64_t> &count,
                         std::chrono::nanoseconds limit) {
  const auto end = Clock::now() + limit;
  asio::steady_timer pause(context);
  while (count > 0 && Clock::now() < end) {
    pause.expires_after(2ms);
    co_await pause.async_wait(kAwait);
  }
}

asio::awaitable<void> Server::Parts::drain() {
  const auto executor = co_await asio::this_coro::executor;
  co_await asio::post(service.slowWork, asio::use_awaitable);
  const int64_t unanswered = service.engine.drain(config.drainTimeout);
  co_await asio::post(executor, asio::use_awaitable);
  if (unanswered > 0)
    logWarn("serve", "{} requests were not answered in time", unanswered);
  co_await awaitZero(service.metrics.inFlight, config.writeTimeout);
  sockets.shutDown();
  co_await awaitZero(service.metrics.connections, 2s);
  context.stop();
}

void Server::Parts::beginDrain() {
  if (service.isDraining.exchange(true))
    return;
  logInfo("serve", "draining");
  boost::system::error_code ignored;
  acceptor.close(ignored);
  asio::co_spawn(context, drain(), asio::detached);
}

Server::Server(std::unique_ptr<Parts> parts) : parts(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::create(Engine &engine,
                                               const ServerConfig &config,
                                               ProgramSources sources,
                                               std::string session) {
  BETZ_RETURN_IF_ERROR(checkConfig(config));
  BETZ_ASSIGN_OR_RETURN(ApiKeys keys, ApiKeys::read(config.apiKeys));
  auto parts = std::make_unique<Parts>(engine, config, std::move(keys));
  parts->service.sources = std::move(sources);
  parts->service.session = std::move(session);
  BETZ_ASSIGN_OR_RETURN(parts->tls, openTls(config));
  if (!config.otlpEndpoint.empty()) {
    BETZ_ASSIGN_OR_RETURN(
        parts->service.spans,
        SpanExporter::create(config.otlpEndpoint, parts->service.metrics));
  }
  BETZ_RETURN_IF_ERROR(parts->listen());
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

uint16_t Server::port() const {
  boost::system::error_code ignored;
  return parts->acceptor.local_endpoint(ignored).port();
}

void Server::run() {
  asio::co_spawn(parts->context, parts->acceptConnections(), asio::detached);
  parts->signals.async_wait([this](boost::system::error_code ec, int) {
    if (!ec)
      parts->beginDrain();
  });
  std::vector<std::thread> threads;
  for (int i = 1; i < parts->config.networkThreads; ++i)
    threads.emplace_back([this] { parts->context.run(); });
  parts->context.run();
  for (std::thread &thread : threads)
    thread.join();
  parts->service.slowWork.join();
}

void Server::stop() {
  asio::post(parts->context, [this] { parts->beginDrain(); });
}

} // namespace betz::serve
