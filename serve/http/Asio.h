//===- Asio.h - What the server uses of Boost.Asio and Beast --------------===//
#pragma once

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace betz::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

/// Completion as a tuple that begins with the error code: nothing throws.
inline constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

using HttpRequest = http::request<http::string_body>;
using HttpResponse = http::response<http::string_body>;

inline std::string_view view(boost::core::string_view text) {
  return {text.data(), text.size()};
}

} // namespace betz::serve
