#include "serve/http/Handlers.h"
#include "serve/web/Page.h"

namespace betz::serve {

asio::awaitable<void> handlePage(Exchange &exchange, Captures) {
  exchange.reply(http::status::ok, "text/html; charset=utf-8",
                 std::string(livePage()));
  co_return;
}

} // namespace betz::serve
