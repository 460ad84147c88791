#include "serve/load_http/ServedModel.h"

#include "runtime/base/Json.h"
#include "serve/load_http/HttpClient.h"

#include <fmt/format.h>

namespace betz::serve {
namespace {

Result<int64_t> findColumns(const Json &metadata) {
  BETZ_ASSIGN_OR_RETURN(const Json *outputs, getArray(metadata, "outputs"));
  for (const Json &output : *outputs) {
    BETZ_ASSIGN_OR_RETURN(const std::string name,
                          getMember<std::string>(output, "name"));
    if (name != "behavior")
      continue;
    BETZ_ASSIGN_OR_RETURN(const Json *shape, getArray(output, "shape"));
    if (shape->size() == 2 && (*shape)[1].is_number_integer())
      return (*shape)[1].get<int64_t>();
  }
  return invalidArgument("no output behavior [windows, columns]");
}

Result<int32_t> readLimit(const Json &parameters, const char *key) {
  BETZ_ASSIGN_OR_RETURN(const int32_t limit,
                        getMember<int32_t>(parameters, key));
  if (limit < 1)
    return invalidArgument(fmt::format("{} is {}", key, limit));
  return limit;
}

/// The body of an answer of status 200.
Result<std::string> fetch(const ServerAddress &address, http::verb verb,
                          const std::string &target) {
  BETZ_ASSIGN_OR_RETURN(const HttpResponse response,
                        askOnce(address, verb, target));
  if (response.result_int() != 200)
    return invalidArgument(fmt::format(
        "{}:{}{}: status {}: {}", address.host, address.port, target,
        response.result_int(), response.body().substr(0, 200)));
  return response.body();
}

Result<std::string> onlyModel(const ServerAddress &address) {
  BETZ_ASSIGN_OR_RETURN(const std::string body, fetch(address, http::verb::post,
                                                      "/v2/repository/index"));
  BETZ_ASSIGN_OR_RETURN(const Json models, parseJson(body));
  std::vector<std::string> ready;
  for (const Json &model : models) {
    BETZ_ASSIGN_OR_RETURN(const std::string name,
                          getMember<std::string>(model, "name"));
    BETZ_ASSIGN_OR_RETURN(const std::string state,
                          getMember<std::string>(model, "state"));
    if (state == "READY" && std::ranges::find(ready, name) == ready.end())
      ready.push_back(name);
  }
  if (ready.size() != 1)
    return invalidArgument(
        fmt::format("{}:{} has {} models that are ready{}{}; name one with "
                    "--model",
                    address.host, address.port, ready.size(),
                    ready.empty() ? "" : ": ", fmt::join(ready, ", ")));
  return ready[0];
}

} // namespace

Result<ServerAddress> ServerAddress::parse(std::string_view url) {
  const std::string_view given = url;
  static constexpr std::string_view kScheme = "http://";
  if (url.starts_with(kScheme))
    url.remove_prefix(kScheme.size());
  if (url.ends_with('/'))
    url.remove_suffix(1);
  const size_t colon = url.rfind(':');
  const bool hasPort = colon != std::string_view::npos && !url.ends_with(']');
  std::string_view host = url.substr(0, hasPort ? colon : url.size());
  const std::string_view port = hasPort ? url.substr(colon + 1) : "80";
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  if (host.empty() || port.empty() ||
      port.find_first_not_of("0123456789") != std::string_view::npos ||
      host.find_first_of("/@?# ") != std::string_view::npos)
    return invalidArgument(
        fmt::format("'{}' is no server; it must be http://HOST:PORT", given));
  return ServerAddress{std::string(host), std::string(port)};
}

Result<ServedModel> ServedModel::parse(std::string_view text) {
  BETZ_ASSIGN_OR_RETURN(const Json metadata, parseJson(text));
  ServedModel model;
  BETZ_ASSIGN_OR_RETURN(model.name, getMember<std::string>(metadata, "name"));
  BETZ_ASSIGN_OR_RETURN(model.columns, findColumns(metadata));
  BETZ_ASSIGN_OR_RETURN(const Json *parameters,
                        getObject(metadata, "parameters"));
  BETZ_ASSIGN_OR_RETURN(model.limits.neurons,
                        readLimit(*parameters, "neurons"));
  BETZ_ASSIGN_OR_RETURN(model.limits.bins, readLimit(*parameters, "time_bins"));
  BETZ_ASSIGN_OR_RETURN(model.limits.values, readLimit(*parameters, "values"));
  BETZ_ASSIGN_OR_RETURN(model.limits.maxEvents,
                        getMember<int64_t>(*parameters, "max_events"));
  if (parameters->contains("bin_ms")) {
    BETZ_ASSIGN_OR_RETURN(model.binMs,
                          getMember<double>(*parameters, "bin_ms"));
  }
  return model;
}

Result<ServedModel> ServedModel::ask(const ServerAddress &address,
                                     const std::string &given) {
  std::string name = given;
  if (name.empty()) {
    BETZ_ASSIGN_OR_RETURN(name, onlyModel(address));
  }
  BETZ_ASSIGN_OR_RETURN(
      const std::string metadata,
      fetch(address, http::verb::get, "/v2/models/" + escapePath(name)));
  Result<ServedModel> model = parse(metadata);
  if (!model.isOk())
    return model.status().withContext(
        fmt::format("metadata of model '{}'", name));
  return model;
}

BatchCounts BatchCounts::parse(std::string_view text) {
  BatchCounts counts;
  const Result<Json> statistics = parseJson(text);
  if (!statistics.isOk() || !statistics->contains("model_stats"))
    return counts;
  for (const Json &model : (*statistics)["model_stats"])
    for (const Json &batch : model.value("batch_stats", Json::array())) {
      const auto size = batch.value("batch_size", uint64_t(0));
      const Json computed = batch.value("compute_infer", Json::object());
      const uint64_t windows = size * computed.value("count", uint64_t(0));
      counts.windows += windows;
      counts.batchWindows += windows * size;
    }
  return counts;
}

BatchCounts BatchCounts::ask(const ServerAddress &address,
                             const std::string &name) {
  const Result<std::string> body = fetch(
      address, http::verb::get, "/v2/models/" + escapePath(name) + "/stats");
  return body.isOk() ? parse(*body) : BatchCounts();
}

} // namespace betz::serve
