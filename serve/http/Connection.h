//===- Connection.h - One client's connection -----------------------------===//
#pragma once

#include "serve/http/Service.h"

#include <boost/asio/ssl.hpp>

namespace betz::serve {

/// Answers the requests of one connection until it ends, over TLS if a context
/// is given. Runs on a strand of its own. `socket` is moved in.
asio::awaitable<void> serveConnection(Service &service, tcp::socket socket,
                                      asio::ssl::context *tls);

} // namespace betz::serve
