#include "serve/http/PendingAnswer.h"

#include <sys/socket.h>

namespace betz::serve {
namespace {

/// Lives in the coroutine's frame; the engine's callback finds it by pointer.
struct Pending {
  Pending(asio::any_io_executor executor, OwnedAnswer &answer)
      : executor(executor), answer(answer),
        wakeUp(executor, asio::steady_timer::time_point::max()) {}

  void finish(const Answer &given) {
    answer.set(given);
    asio::post(executor, [this] {
      isDone = true;
      wakeUp.cancel();
    });
  }

  asio::any_io_executor executor;
  OwnedAnswer &answer;
  asio::steady_timer wakeUp;
  bool isDone = false; // on the coroutine's strand alone
};

/// Whether the peer has closed its side, or the connection broke.
bool isGone(tcp::socket &socket) {
  char byte;
  const ssize_t got =
      recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

/// Withdraws the request when the client leaves, until `*isActive` is false.
void watchClient(tcp::socket &socket, Engine &engine, RequestId request,
                 std::shared_ptr<bool> isActive) {
  socket.async_wait(tcp::socket::wait_read,
                    [&, request, isActive](boost::system::error_code ec) {
                      if (*isActive && !ec && isGone(socket))
                        engine.cancel(request);
                    });
}

} // namespace

void OwnedAnswer::set(const Answer &answer) {
  if (const Error *failure = std::get_if<Error>(&answer)) {
    error = *failure;
    return;
  }
  decoded = std::get<Decoded>(answer);
  behavior.assign(decoded.behavior.begin(), decoded.behavior.end());
  version = decoded.version;
  decoded.behavior = behavior;
  decoded.version = version;
}

asio::awaitable<void> askEngine(Engine &engine, const Request &request,
                                tcp::socket &socket, OwnedAnswer &answer) {
  Pending pending(co_await asio::this_coro::executor, answer);
  const RequestId id = engine.submit(
      request, [&pending](const Answer &given) { pending.finish(given); });
  auto isActive = std::make_shared<bool>(true);
  watchClient(socket, engine, id, isActive);
  while (!pending.isDone)
    co_await pending.wakeUp.async_wait(kAwait);
  *isActive = false;
  boost::system::error_code ignored;
  socket.cancel(ignored);
}

} // namespace betz::serve
