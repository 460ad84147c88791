//===- Handlers.h - What the routes of a server do ------------------------===//
#pragma once

#include "serve/http/Exchange.h"

namespace betz::serve {

/// The parts of the path that a route leaves open, such as a model's name.
using Captures = std::span<const std::string>;
using Handler = asio::awaitable<void> (*)(Exchange &, Captures);

asio::awaitable<void> handleInfer(Exchange &, Captures modelAndVersion);
asio::awaitable<void> handleDecode(Exchange &, Captures);

asio::awaitable<void> handlePage(Exchange &, Captures);
asio::awaitable<void> handleLive(Exchange &, Captures);
asio::awaitable<void> handleReady(Exchange &, Captures);
asio::awaitable<void> handleMetrics(Exchange &, Captures);
asio::awaitable<void> handleSession(Exchange &, Captures);
asio::awaitable<void> handleVersion(Exchange &, Captures);

asio::awaitable<void> handleServerMetadata(Exchange &, Captures);
asio::awaitable<void> handleModelMetadata(Exchange &, Captures modelAndVersion);
asio::awaitable<void> handleModelReady(Exchange &, Captures modelAndVersion);
asio::awaitable<void> handleStatistics(Exchange &, Captures modelAndVersion);
asio::awaitable<void> handleRepositoryIndex(Exchange &, Captures);
asio::awaitable<void> handleLoad(Exchange &, Captures model);
asio::awaitable<void> handleUnload(Exchange &, Captures model);

} // namespace betz::serve
