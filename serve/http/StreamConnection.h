//===- StreamConnection.h - `WS /stream` ----------------------------------===//
#pragma once

#include "serve/engine/StreamSession.h"
#include "serve/http/Exchange.h"

#include <boost/asio/ssl.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>

namespace betz::serve {

using PlainSocket = beast::websocket::stream<beast::tcp_stream>;
using TlsSocket =
    beast::websocket::stream<beast::ssl_stream<beast::tcp_stream>>;

/// A stream that the engine opened for an upgrade.
struct StreamRequest {
  std::shared_ptr<StreamSession> session;
};

/// Reads the target's query (model, version, window_bins, stride_bins,
/// first_bin, deadline_ms) and opens the stream; false if the exchange's
/// response says why not.
bool prepareStream(Exchange &exchange, StreamRequest &request);

/// Accepts the upgrade and answers frames until either side ends.
asio::awaitable<void> serveStream(Exchange &exchange, StreamRequest &request,
                                  PlainSocket &socket);
asio::awaitable<void> serveStream(Exchange &exchange, StreamRequest &request,
                                  TlsSocket &socket);

} // namespace betz::serve
