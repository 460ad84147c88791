#include "serve/load_http/HttpClient.h"

#include <fmt/format.h>

namespace betz::serve {
namespace {

using namespace std::chrono_literals;
using boost::system::error_code;

constexpr auto kConnectLimit = 5s;

asio::awaitable<error_code> ask(HttpClient &client, const HttpRequest &request,
                                HttpResponse &response) {
  if (error_code ec = co_await client.connect())
    co_return ec;
  co_return co_await client.exchange(request, response, 10s);
}

} // namespace

Result<tcp::endpoint> resolve(const ServerAddress &address) {
  asio::io_context context;
  tcp::resolver resolver(context);
  error_code ec;
  const auto places = resolver.resolve(address.host, address.port, ec);
  if (ec || places.empty())
    return unavailable(
        fmt::format("host '{}': {}", address.host, ec.message()));
  // "localhost" may come first as ::1, where a server rarely listens.
  for (const auto &place : places)
    if (place.endpoint().address().is_v4())
      return place.endpoint();
  return places.begin()->endpoint();
}

asio::awaitable<error_code> HttpClient::connect() {
  if (isOpen)
    co_return error_code();
  stream.expires_after(kConnectLimit);
  auto [ec] = co_await stream.async_connect(endpoint, kAwait);
  if (!ec) {
    error_code ignored;
    stream.socket().set_option(tcp::no_delay(true), ignored);
    isOpen = true;
  } else {
    close();
  }
  co_return ec;
}

asio::awaitable<error_code>
HttpClient::exchange(const HttpRequest &request, HttpResponse &response,
                     std::chrono::nanoseconds limit) {
  stream.expires_after(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit));
  auto [writeError, written] =
      co_await http::async_write(stream, request, kAwait);
  error_code ec = writeError;
  if (!ec) {
    response = {};
    auto [readError, read] =
        co_await http::async_read(stream, buffer, response, kAwait);
    ec = readError;
  }
  if (ec || !response.keep_alive())
    close();
  co_return ec;
}

void HttpClient::close() {
  error_code ignored;
  stream.socket().close(ignored);
  buffer.clear();
  isOpen = false;
}

Result<HttpResponse> askOnce(const ServerAddress &address, http::verb verb,
                             const std::string &target) {
  BETZ_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, resolve(address));
  asio::io_context context(1);
  HttpClient client(context.get_executor(), endpoint);
  HttpRequest request(verb, target, 11);
  request.set(http::field::host, address.host + ":" + address.port);
  request.prepare_payload();
  HttpResponse response;
  error_code ec;
  asio::co_spawn(context, ask(client, request, response),
                 [&ec](std::exception_ptr, error_code end) { ec = end; });
  context.run();
  if (ec)
    return unavailable(fmt::format("no server answers at {}:{}: {}",
                                   address.host, address.port, ec.message()));
  return response;
}

std::string escapePath(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool isPlain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                         (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
                         c == '.' || c == '~';
    if (isPlain)
      out.push_back(c);
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

} // namespace betz::serve
