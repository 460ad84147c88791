//===- Exchange.h - One HTTP request and its answer -----------------------===//
#pragma once

#include "serve/http/Service.h"
#include "serve/protocol/TraceContext.h"

namespace betz::serve {

/// The parts of "/a/b?x=1&y=2"; percent escapes are decoded.
struct Target {
  std::vector<std::string> path;
  std::map<std::string, std::string, std::less<>> query;

  /// An escape that is none, or a NUL, is an InvalidArgument.
  static Result<Target> parse(std::string_view text);
};

struct Exchange {
  Exchange(Service &service, tcp::socket &socket, HttpRequest request)
      : service(service), socket(socket), request(std::move(request)),
        arrived(Clock::now()) {}

  Service &service;
  /// For noticing that the client has left.
  tcp::socket &socket;
  HttpRequest request;
  Target target;
  /// When the request's last byte was here.
  Clock::time_point arrived;
  std::string requestId;
  /// The request's own span; `parent` is the client's, or all zeros.
  TraceContext span;
  std::array<uint8_t, 8> parent{};

  HttpResponse response;
  /// What metrics call the request.
  std::string_view endpoint = "other";
  /// Of a request that the engine answered.
  std::optional<Decoded> decoded;

  std::string_view header(std::string_view name) const;
  /// Whether it may pass: with an API key, where there are keys, and not from
  /// the page of another site. Else the response says why not.
  bool mayPass();
  void reply(http::status status, std::string_view contentType,
             std::string body);
  void replyJson(std::string body);
  /// {"error": message}.
  void replyError(int status, std::string_view message);
  void replyError(const Error &error);
  void replyError(const Status &status);
};

/// Fills the response. Nothing throws out of it but what Asio does when the
/// server is torn down.
asio::awaitable<void> handle(Exchange &exchange);

} // namespace betz::serve
