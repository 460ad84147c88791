//===- HttpClient.h - A keep-alive connection to a server -----------------===//
#pragma once

#include "serve/http/Asio.h"
#include "serve/load_http/ServedModel.h"

namespace betz::serve {

/// Asks the system for the address of a host. Blocks.
Result<tcp::endpoint> resolve(const ServerAddress &address);

/// One connection, opened when it is needed. For one coroutine at a time.
class HttpClient {
public:
  HttpClient(const asio::any_io_executor &executor, tcp::endpoint endpoint)
      : stream(executor), endpoint(std::move(endpoint)) {}

  /// Opens the connection, unless it is open.
  asio::awaitable<boost::system::error_code> connect();
  /// Sends a request and reads its answer, within `limit`. After an error or an
  /// answer that says so, the connection is closed; connect() opens another.
  asio::awaitable<boost::system::error_code>
  exchange(const HttpRequest &request, HttpResponse &response,
           std::chrono::nanoseconds limit);

private:
  void close();

  beast::tcp_stream stream;
  tcp::endpoint endpoint;
  beast::flat_buffer buffer;
  bool isOpen = false;
};

/// One request on a connection of its own; blocks. No answer is an error that
/// names the server.
Result<HttpResponse> askOnce(const ServerAddress &address, http::verb verb,
                             const std::string &target);

/// `text` as a part of a path, or a value of a query.
std::string escapePath(std::string_view text);

} // namespace betz::serve
