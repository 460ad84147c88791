#include "serve/http/Connection.h"

#include "serve/http/Exchange.h"
#include "serve/http/RequestLog.h"
#include "serve/http/StreamConnection.h"

#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>

namespace betz::serve {
namespace {

using Parser = http::request_parser<http::string_body>;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

/// What ended the reading of a request, and the answer to it: 0 for none.
struct ReadEnd {
  int status = 0;
  std::string message;
};

ReadEnd describeReadError(boost::system::error_code ec,
                          const ServerConfig &config) {
  static const auto &category =
      http::make_error_code(http::error::end_of_stream).category();
  if (ec == http::error::body_limit)
    return {413, "the body is longer than " +
                     std::to_string(config.maxBodyBytes) + " bytes"};
  if (ec == http::error::header_limit)
    return {431, "the header is longer than " +
                     std::to_string(config.maxHeaderBytes) + " bytes"};
  if (ec == http::error::end_of_stream || ec == http::error::partial_message ||
      ec.category() != category)
    return {};
  return {400, "no HTTP request: " + ec.message()};
}

/// Holds off the end of the server until an answer is written.
class InFlight {
public:
  explicit InFlight(FrontMetrics &metrics) : metrics(metrics) {
    ++metrics.inFlight;
  }
  ~InFlight() { --metrics.inFlight; }
  InFlight(const InFlight &) = delete;

private:
  FrontMetrics &metrics;
};

template <class Stream> class Connection {
public:
  Connection(Service &service, Stream stream)
      : service(service), stream(std::move(stream)) {}

  asio::awaitable<void> run();

private:
  beast::tcp_stream &transport() { return beast::get_lowest_layer(stream); }
  void limitTime(std::chrono::nanoseconds time) {
    transport().expires_after(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(time));
  }

  /// Waits for the first byte of a request, as long as a connection may idle.
  asio::awaitable<bool> awaitRequest();
  asio::awaitable<boost::system::error_code> readRequest(Parser &parser);
  /// Answers one request; whether another may follow.
  asio::awaitable<bool> answer(Parser &parser);
  asio::awaitable<bool> write(HttpResponse &response, bool keepAlive);
  asio::awaitable<void> refuse(const ReadEnd &end);
  asio::awaitable<void> upgrade(Exchange &exchange);
  asio::awaitable<void> close();
  /// Takes what the client still sends, so that it reads the last answer.
  asio::awaitable<void> discardInput();

  Service &service;
  Stream stream;
  beast::flat_buffer buffer;
  bool isUpgraded = false;
};

template <class Stream> asio::awaitable<void> Connection<Stream>::run() {
  if constexpr (std::is_same_v<Stream, TlsStream>) {
    limitTime(service.config.headerTimeout);
    auto [ec] =
        co_await stream.async_handshake(asio::ssl::stream_base::server, kAwait);
    if (ec)
      co_return;
  }
  bool goesOn = true;
  while (goesOn && co_await awaitRequest()) {
    Parser parser;
    const boost::system::error_code ec = co_await readRequest(parser);
    if (ec) {
      service.metrics.timeouts += ec == beast::error::timeout;
      co_await refuse(describeReadError(ec, service.config));
      break;
    }
    goesOn = co_await answer(parser);
  }
  if (!isUpgraded)
    co_await close();
}

template <class Stream>
asio::awaitable<bool> Connection<Stream>::awaitRequest() {
  static constexpr size_t kFirstRead = 4096;
  if (buffer.size() > 0)
    co_return true;
  if (service.isDraining)
    co_return false;
  buffer.shrink_to_fit();
  limitTime(service.config.idleTimeout);
  auto [ec, bytes] =
      co_await stream.async_read_some(buffer.prepare(kFirstRead), kAwait);
  buffer.commit(bytes);
  co_return !ec;
}

template <class Stream>
asio::awaitable<boost::system::error_code>
Connection<Stream>::readRequest(Parser &parser) {
  const ServerConfig &config = service.config;
  parser.header_limit(static_cast<uint32_t>(config.maxHeaderBytes));
  parser.body_limit(static_cast<uint64_t>(config.maxBodyBytes));
  limitTime(config.headerTimeout);
  auto [headerError, headerBytes] =
      co_await http::async_read_header(stream, buffer, parser, kAwait);
  if (headerError || parser.is_done())
    co_return headerError;
  limitTime(config.bodyTimeout);
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> proceed(http::status::continue_, 11);
    auto [ec, bytes] = co_await http::async_write(stream, proceed, kAwait);
    if (ec)
      co_return ec;
  }
  auto [bodyError, bodyBytes] =
      co_await http::async_read(stream, buffer, parser, kAwait);
  co_return bodyError;
}

template <class Stream>
asio::awaitable<bool> Connection<Stream>::answer(Parser &parser) {
  const auto start = std::chrono::system_clock::now();
  transport().expires_never();
  Exchange exchange(service, transport().socket(), parser.release());
  const InFlight counted(service.metrics);
  Result<Target> target = Target::parse(view(exchange.request.target()));
  beginTrace(exchange);
  const bool keepAlive = exchange.request.keep_alive();
  if (!target.isOk()) {
    exchange.replyError(target.status());
  } else {
    exchange.target = *std::move(target);
    if (beast::websocket::is_upgrade(exchange.request)) {
      co_await upgrade(exchange);
      if (isUpgraded)
        co_return false;
    } else {
      co_await handle(exchange);
    }
  }
  finishExchange(exchange, start);
  co_return co_await write(exchange.response, keepAlive);
}

template <class Stream>
asio::awaitable<bool> Connection<Stream>::write(HttpResponse &response,
                                                bool keepAlive) {
  keepAlive = keepAlive && !service.isDraining;
  response.version(11);
  response.keep_alive(keepAlive);
  response.set(http::field::server, "betz/" BETZ_VERSION);
  response.prepare_payload();
  limitTime(service.config.writeTimeout);
  auto [ec, bytes] = co_await http::async_write(stream, response, kAwait);
  co_return !ec && keepAlive;
}

template <class Stream>
asio::awaitable<void> Connection<Stream>::refuse(const ReadEnd &end) {
  if (end.status == 0)
    co_return;
  Exchange exchange(service, transport().socket(), {});
  exchange.replyError(end.status, end.message);
  service.metrics.countRequest("refused", end.status, {});
  co_await write(exchange.response, false);
  boost::system::error_code ignored;
  transport().socket().shutdown(tcp::socket::shutdown_send, ignored);
  co_await discardInput();
}

template <class Stream>
asio::awaitable<void> Connection<Stream>::discardInput() {
  static constexpr size_t kMostBytes = 64 << 20;
  std::vector<char> sink(64 << 10);
  limitTime(std::chrono::seconds(2));
  for (size_t taken = 0; taken < kMostBytes;) {
    auto [ec, bytes] =
        co_await transport().async_read_some(asio::buffer(sink), kAwait);
    if (ec)
      break;
    taken += bytes;
  }
}

template <class Stream>
asio::awaitable<void> Connection<Stream>::upgrade(Exchange &exchange) {
  StreamRequest request;
  if (!prepareStream(exchange, request))
    co_return;
  isUpgraded = true;
  transport().expires_never();
  beast::websocket::stream<Stream> socket(std::move(stream));
  co_await serveStream(exchange, request, socket);
}

template <class Stream> asio::awaitable<void> Connection<Stream>::close() {
  boost::system::error_code ignored;
  if constexpr (std::is_same_v<Stream, TlsStream>) {
    limitTime(std::chrono::seconds(1));
    co_await stream.async_shutdown(kAwait);
  } else {
    transport().socket().shutdown(tcp::socket::shutdown_send, ignored);
  }
}

} // namespace

asio::awaitable<void> serveConnection(Service &service, tcp::socket socket,
                                      asio::ssl::context *tls) {
  beast::tcp_stream stream(std::move(socket));
  if (!tls) {
    Connection<beast::tcp_stream> connection(service, std::move(stream));
    co_return co_await connection.run();
  }
  Connection<TlsStream> connection(service, TlsStream(std::move(stream), *tls));
  co_await connection.run();
}

} // namespace betz::serve
