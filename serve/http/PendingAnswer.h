//===- PendingAnswer.h - A coroutine waits for the engine -----------------===//
#pragma once

#include "serve/engine/Engine.h"
#include "serve/http/Asio.h"

#include <optional>

namespace betz::serve {

/// An answer that outlives the engine's callback.
struct OwnedAnswer {
  std::optional<Error> error;
  /// Its spans and views lie in the two members below.
  Decoded decoded;
  std::vector<float> behavior;
  std::string version;

  void set(const Answer &answer);
};

/// Submits `request` and waits for its answer without blocking a thread. When
/// the client at `socket` closes the connection meanwhile, the request is
/// withdrawn, and its answer is Cancelled. The awaiting coroutine runs on a
/// strand or a single thread, and whoever destroys it has drained the engine.
asio::awaitable<void> askEngine(Engine &engine, const Request &request,
                                tcp::socket &socket, OwnedAnswer &answer);

} // namespace betz::serve
