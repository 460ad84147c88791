// Requests that the engine answers.
#include "serve/http/Handlers.h"
#include "serve/http/PendingAnswer.h"
#include "serve/protocol/DecodeMessage.h"
#include "serve/protocol/InferRequest.h"
#include "serve/protocol/InferResponse.h"

#include <charconv>
#include <fmt/format.h>

namespace betz::serve {
namespace {

constexpr std::string_view kJsonLengthHeader =
    "Inference-Header-Content-Length";

/// The body's JSON, and the tensors behind it.
struct InferBody {
  std::string_view json;
  std::string_view binary;
};

Result<InferBody> splitBody(const Exchange &exchange) {
  const std::string_view body = exchange.request.body();
  const std::string_view header = exchange.header(kJsonLengthHeader);
  if (header.empty())
    return InferBody{body, {}};
  size_t length = 0;
  const char *end = header.data() + header.size();
  auto [stop, code] = std::from_chars(header.data(), end, length);
  if (code != std::errc() || stop != end || length > body.size())
    return invalidArgument(fmt::format("{} is '{}'; the body has {} bytes",
                                       kJsonLengthHeader, header, body.size()));
  return InferBody{body.substr(0, length), body.substr(length)};
}

Status checkEventLimit(const Exchange &exchange, const Windows &windows) {
  if (windows.events() <= exchange.service.config.maxEvents)
    return Status::ok();
  return invalidArgument(fmt::format("{} events are more than {}",
                                     windows.events(),
                                     exchange.service.config.maxEvents));
}

/// The name of the only model.
Result<std::string> onlyModel(const Engine &engine) {
  std::string name;
  for (const ModelInfo &model : engine.models()) {
    if (!name.empty() && model.name != name)
      return invalidArgument("there are several models; name one as 'model'");
    name = model.name;
  }
  if (name.empty())
    return notFound("no model is loaded");
  return name;
}

/// Asks the engine; true if there is a result, else the error is the reply.
asio::awaitable<bool> ask(Exchange &exchange, Request request,
                          std::optional<std::chrono::nanoseconds> timeout,
                          OwnedAnswer &answer) {
  if (Status status = checkEventLimit(exchange, request.windows);
      !status.isOk()) {
    exchange.replyError(status);
    co_return false;
  }
  if (timeout)
    request.deadline = exchange.arrived + *timeout;
  co_await askEngine(exchange.service.engine, request, exchange.socket, answer);
  if (answer.error) {
    exchange.replyError(*answer.error);
    co_return false;
  }
  exchange.decoded = answer.decoded;
  co_return true;
}

} // namespace

asio::awaitable<void> handleInfer(Exchange &exchange, Captures names) {
  Result<InferBody> body = splitBody(exchange);
  if (!body.isOk())
    co_return exchange.replyError(body.status());
  Result<InferRequest> parsed = parseInferRequest(body->json, body->binary);
  if (!parsed.isOk())
    co_return exchange.replyError(parsed.status());
  Request request;
  request.model = names[0];
  if (names.size() > 1)
    request.version = names[1];
  request.windows = parsed->events.windows();
  request.priority = parsed->priority;
  OwnedAnswer answer;
  if (!co_await ask(exchange, request, parsed->timeout, answer))
    co_return;
  InferResponse response = writeInferResponse(
      names[0], parsed->id, answer.decoded, parsed->isBinaryOutput);
  const std::string jsonBytes = std::to_string(response.jsonBytes);
  exchange.reply(http::status::ok,
                 parsed->isBinaryOutput ? "application/octet-stream"
                                        : "application/json",
                 std::move(response.body));
  if (parsed->isBinaryOutput)
    exchange.response.set(boost::core::string_view(kJsonLengthHeader.data(),
                                                   kJsonLengthHeader.size()),
                          jsonBytes);
}

asio::awaitable<void> handleDecode(Exchange &exchange, Captures) {
  Result<DecodeRequest> parsed = parseDecodeRequest(
      exchange.request.body(), size_t(exchange.service.config.maxEvents));
  if (!parsed.isOk())
    co_return exchange.replyError(parsed.status());
  if (parsed->model.empty()) {
    Result<std::string> model = onlyModel(exchange.service.engine);
    if (!model.isOk())
      co_return exchange.replyError(model.status());
    parsed->model = *std::move(model);
  }
  Request request;
  request.model = parsed->model;
  request.windows = parsed->events.windows();
  OwnedAnswer answer;
  if (!co_await ask(exchange, request, parsed->timeout, answer))
    co_return;
  const std::string &id =
      parsed->requestId.empty() ? exchange.requestId : parsed->requestId;
  exchange.replyJson(writeDecodeResponse(id, parsed->sessionId, answer.decoded,
                                         Clock::now() - exchange.arrived));
}

} // namespace betz::serve
