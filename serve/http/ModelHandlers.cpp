// What there is, how it is, and loading and unloading it.
#include "serve/http/Handlers.h"
#include "serve/protocol/InferResponse.h"
#include "serve/protocol/JsonReader.h"
#include "serve/protocol/JsonText.h"

#include <fmt/format.h>

namespace betz::serve {
namespace {

std::string_view versionOf(Captures names) {
  return names.size() > 1 ? std::string_view(names[1]) : std::string_view();
}

Result<bool> parseIndexRequest(std::string_view body) {
  bool onlyReady = false;
  if (body.empty())
    return onlyReady;
  JsonReader reader(body);
  std::string_view key;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key == "ready")
      onlyReady = reader.readBool();
    else
      reader.skipValue();
  }
  BETZ_RETURN_IF_ERROR(reader.finish().withContext("body"));
  return onlyReady;
}

/// The program file that `name` stands for.
Result<std::filesystem::path> findSource(const Service &service,
                                         const std::string &name) {
  if (auto found = service.sources.find(name); found != service.sources.end())
    return found->second;
  const bool isPlain = name.find('/') == std::string::npos && name[0] != '.';
  const std::filesystem::path path =
      std::filesystem::path(service.config.repository) / (name + ".betz");
  std::error_code ignored;
  if (service.config.repository.empty() || !isPlain ||
      !std::filesystem::exists(path, ignored))
    return notFound(fmt::format(
        "no program is called '{}': neither the command line nor the "
        "repository has it",
        name));
  return path;
}

/// Runs `work` on the thread for slow work, then goes on where it was.
asio::awaitable<Status> runSlowly(Service &service,
                                  std::function<Status()> work) {
  const auto executor = co_await asio::this_coro::executor;
  co_await asio::post(service.slowWork, asio::use_awaitable);
  Status status = work();
  co_await asio::post(executor, asio::use_awaitable);
  co_return status;
}

} // namespace

asio::awaitable<void> handleLive(Exchange &exchange, Captures) {
  const Service &service = exchange.service;
  const bool isLive =
      service.engine.sinceTurn() < service.config.heartbeatTimeout;
  exchange.reply(isLive ? http::status::ok : http::status::service_unavailable,
                 "application/json",
                 isLive ? "{\"live\":true}" : "{\"live\":false}");
  co_return;
}

asio::awaitable<void> handleReady(Exchange &exchange, Captures) {
  Service &service = exchange.service;
  const bool isReady = service.engine.isReady() && !service.isDraining;
  exchange.reply(isReady ? http::status::ok : http::status::service_unavailable,
                 "application/json",
                 isReady ? "{\"ready\":true}" : "{\"ready\":false}");
  co_return;
}

asio::awaitable<void> handleMetrics(Exchange &exchange, Captures) {
  exchange.reply(http::status::ok, MetricsText::kContentType,
                 exchange.service.metrics.write(exchange.service.engine));
  co_return;
}

/// null where there is none, which is no error.
asio::awaitable<void> handleSession(Exchange &exchange, Captures) {
  const std::string &session = exchange.service.session;
  exchange.replyJson(session.empty() ? "null" : session);
  co_return;
}

asio::awaitable<void> handleVersion(Exchange &exchange, Captures) {
  std::string out =
      "{\"name\":\"betz\",\"version\":\"" BETZ_VERSION "\",\"device\":";
  appendJsonString(out, exchange.service.engine.deviceName());
  exchange.replyJson(out + "}");
  co_return;
}

asio::awaitable<void> handleServerMetadata(Exchange &exchange, Captures) {
  exchange.replyJson(writeServerMetadata());
  co_return;
}

asio::awaitable<void> handleModelMetadata(Exchange &exchange, Captures names) {
  Result<ModelInfo> model =
      exchange.service.engine.model(names[0], versionOf(names));
  if (!model.isOk())
    co_return exchange.replyError(model.status());
  exchange.replyJson(writeModelMetadata(*model));
}

asio::awaitable<void> handleModelReady(Exchange &exchange, Captures names) {
  Result<ModelInfo> model =
      exchange.service.engine.model(names[0], versionOf(names));
  if (!model.isOk())
    co_return exchange.replyError(model.status());
  const bool isReady = model->state == ModelState::Ready;
  std::string out = "{\"name\":";
  appendJsonString(out, model->name);
  out += isReady ? ",\"ready\":true}" : ",\"ready\":false}";
  exchange.reply(isReady ? http::status::ok : http::status::service_unavailable,
                 "application/json", std::move(out));
}

asio::awaitable<void> handleStatistics(Exchange &exchange, Captures names) {
  std::vector<ModelStatistics> models =
      exchange.service.engine.statistics().models;
  if (!names.empty()) {
    Result<ModelInfo> model =
        exchange.service.engine.model(names[0], versionOf(names));
    if (!model.isOk())
      co_return exchange.replyError(model.status());
    std::erase_if(models, [&](const ModelStatistics &each) {
      return each.name != names[0] ||
             (names.size() > 1 && each.version != names[1]);
    });
  }
  exchange.replyJson(writeStatistics(models));
}

asio::awaitable<void> handleRepositoryIndex(Exchange &exchange, Captures) {
  Result<bool> onlyReady = parseIndexRequest(exchange.request.body());
  if (!onlyReady.isOk())
    co_return exchange.replyError(onlyReady.status());
  exchange.replyJson(
      writeRepositoryIndex(exchange.service.engine.models(), *onlyReady));
}

asio::awaitable<void> handleLoad(Exchange &exchange, Captures names) {
  Service &service = exchange.service;
  const std::string name = names[0];
  Result<std::filesystem::path> path = findSource(service, name);
  if (!path.isOk())
    co_return exchange.replyError(path.status());
  const Status status = co_await runSlowly(service, [&service, name, &path] {
    return service.engine.load({*path, name, {}});
  });
  if (!status.isOk())
    co_return exchange.replyError(status);
  exchange.replyJson("{}");
}

asio::awaitable<void> handleUnload(Exchange &exchange, Captures names) {
  Service &service = exchange.service;
  const std::string name = names[0];
  const Status status = co_await runSlowly(
      service, [&service, name] { return service.engine.unload(name); });
  if (!status.isOk())
    co_return exchange.replyError(status);
  exchange.replyJson("{}");
}

} // namespace betz::serve
