// Which handler answers which path.
#include "serve/http/Handlers.h"

namespace betz::serve {
namespace {

struct Route {
  http::verb verb;
  /// Parts between slashes; * takes any.
  std::string_view path;
  /// What metrics call it.
  std::string_view endpoint;
  Handler handler;
  /// Whether it asks for no API key.
  bool isOpen = false;
};

constexpr http::verb kGet = http::verb::get;
constexpr http::verb kPost = http::verb::post;
constexpr Route kRoutes[] = {
    {kPost, "v2/models/*/infer", "infer", handleInfer},
    {kPost, "v2/models/*/versions/*/infer", "infer", handleInfer},
    {kPost, "decode", "decode", handleDecode},
    {kGet, "", "page", handlePage, true},
    {kGet, "health", "health", handleLive, true},
    {kGet, "ready", "health", handleReady, true},
    {kGet, "metrics", "metrics", handleMetrics},
    {kGet, "session", "session", handleSession},
    {kGet, "version", "version", handleVersion},
    {kGet, "v2", "metadata", handleServerMetadata},
    {kGet, "v2/health/live", "health", handleLive, true},
    {kGet, "v2/health/ready", "health", handleReady, true},
    {kGet, "v2/models/stats", "statistics", handleStatistics},
    {kGet, "v2/models/*", "metadata", handleModelMetadata},
    {kGet, "v2/models/*/versions/*", "metadata", handleModelMetadata},
    {kGet, "v2/models/*/ready", "health", handleModelReady},
    {kGet, "v2/models/*/versions/*/ready", "health", handleModelReady},
    {kGet, "v2/models/*/stats", "statistics", handleStatistics},
    {kGet, "v2/models/*/versions/*/stats", "statistics", handleStatistics},
    {kPost, "v2/repository/index", "repository", handleRepositoryIndex},
    {kPost, "v2/repository/models/*/load", "repository", handleLoad},
    {kPost, "v2/repository/models/*/unload", "repository", handleUnload},
};

/// Whether `parts` are those of `path`; what its stars took goes to `captures`.
bool matches(std::string_view path, std::span<const std::string> parts,
             std::vector<std::string> &captures) {
  captures.clear();
  for (const std::string &part : parts) {
    if (path.empty())
      return false;
    const size_t end = std::min(path.find('/'), path.size());
    if (path.substr(0, end) == "*")
      captures.push_back(part);
    else if (path.substr(0, end) != part)
      return false;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return path.empty();
}

} // namespace

asio::awaitable<void> handle(Exchange &exchange) {
  const http::verb verb = exchange.request.method();
  std::vector<std::string> captures;
  const Route *otherMethod = nullptr;
  for (const Route &route : kRoutes) {
    if (!matches(route.path, exchange.target.path, captures))
      continue;
    if (verb != route.verb) {
      otherMethod = &route;
      continue;
    }
    exchange.endpoint = route.endpoint;
    if (route.isOpen || exchange.mayPass())
      co_await route.handler(exchange, captures);
    co_return;
  }
  if (!otherMethod) {
    exchange.replyError(404, "no such path; see GET /v2 and docs/serving.md");
    co_return;
  }
  exchange.replyError(405, "this path takes another method");
  exchange.response.set(http::field::allow, http::to_string(otherMethod->verb));
}

} // namespace betz::serve
