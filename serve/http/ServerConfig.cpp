#include "serve/http/ServerConfig.h"

#include "runtime/base/Suggest.h"
#include "runtime/base/Toml.h"

#include <algorithm>
#include <charconv>
#include <unistd.h>

namespace betz::serve {
namespace {

template <typename> constexpr bool kIsNumber = false;
template <> constexpr bool kIsNumber<int> = true;
template <> constexpr bool kIsNumber<int64_t> = true;

#define BETZ_OPTION(member)                                                    \
  [](ServerConfig &config) -> ConfigTarget { return &config.member; }

constexpr ConfigOption kOptions[] = {
    {"host", "Address to listen on; others than loopback need API keys",
     BETZ_OPTION(host)},
    {"port", "Port to listen on; 0 for any free one", BETZ_OPTION(port), 0,
     65535},
    {"device", "cpu, cuda or cuda:N", BETZ_OPTION(engine.device)},
    {"threads", "Threads of a cpu device; 0 for one a core",
     BETZ_OPTION(engine.threads), 0, 1024},
    {"network-threads", "Threads that read and write connections",
     BETZ_OPTION(networkThreads), 1, 64},
    {"repository", "Folder whose NAME.betz may be loaded over HTTP",
     BETZ_OPTION(repository)},
    {"max-queue", "Requests that may wait; one more is answered 429",
     BETZ_OPTION(engine.maxQueue), 1, 1e6},
    {"max-batch",
     "Windows of a request and of a batch; 0 for the largest "
     "bucket's",
     BETZ_OPTION(engine.maxBatch), 0, 1e6},
    {"deadline-ms", "Deadline of requests that name none",
     BETZ_OPTION(engine.defaultDeadline), 0.001, 1e9},
    {"max-streams", "Streams open at once",
     BETZ_OPTION(engine.streams.maxStreams), 0, 1e6},
    {"page-events", "Events of a page of a stream's memory",
     BETZ_OPTION(engine.streams.pageEvents), 1, 65536},
    {"pool-bytes", "Bytes of memory for events of streams",
     BETZ_OPTION(engine.streams.poolBytes), 1},
    {"stream-idle-ms", "A stream unused for so long is closed",
     BETZ_OPTION(engine.streams.idleTimeout), 1, 1e9},
    {"max-pending", "Decodes of a stream that may be unanswered",
     BETZ_OPTION(engine.streams.maxPending), 1, 1e6},
    {"hold-last-good",
     "A stream answers its last finite row in place of NaN and infinity",
     BETZ_OPTION(engine.streams.holdLastGood)},
    {"cores", "Cores to pin the engine to, such as 2,3",
     BETZ_OPTION(engine.realTime.cores)},
    {"fifo-priority", "SCHED_FIFO priority of the engine; 0 for none",
     BETZ_OPTION(engine.realTime.fifoPriority), 0, 99},
    {"lock-memory", "Keep all memory from being swapped out",
     BETZ_OPTION(engine.realTime.lockMemory)},
    {"max-connections", "Connections open at once; one more is answered 503",
     BETZ_OPTION(maxConnections), 1, 1e6},
    {"max-header-bytes", "Bytes of a request's header",
     BETZ_OPTION(maxHeaderBytes), 256, 1 << 20},
    {"max-body-bytes", "Bytes of a body or of a frame",
     BETZ_OPTION(maxBodyBytes), 1, 1 << 30},
    {"max-events", "Events of a body or of a frame", BETZ_OPTION(maxEvents), 1,
     1 << 26},
    {"idle-timeout-ms", "A connection unused for so long is closed",
     BETZ_OPTION(idleTimeout), 1, 1e9},
    {"header-timeout-ms", "Time to send a request's header",
     BETZ_OPTION(headerTimeout), 1, 1e9},
    {"body-timeout-ms", "Time to send a body", BETZ_OPTION(bodyTimeout), 1,
     1e9},
    {"write-timeout-ms", "Time to take an answer", BETZ_OPTION(writeTimeout), 1,
     1e9},
    {"drain-timeout-ms", "Time for accepted requests after SIGTERM",
     BETZ_OPTION(drainTimeout), 0, 1e9},
    {"api-keys", "File with one key a line", BETZ_OPTION(apiKeys)},
    {"tls-certificate", "PEM file with the certificate chain",
     BETZ_OPTION(tlsCertificate)},
    {"tls-key", "PEM file with the private key", BETZ_OPTION(tlsKey)},
    {"slo-ms", "Latency that counts as good", BETZ_OPTION(slo), 0.001, 1e9},
    {"heartbeat-timeout-ms",
     "With work and without progress for so long, /health says 503",
     BETZ_OPTION(heartbeatTimeout), 0.001, 1e9},
    {"log-requests", "Log every request, not only failures",
     BETZ_OPTION(logRequests)},
    {"record", "File for a log of every batch, which `replay` runs again",
     BETZ_OPTION(record)},
    {"otlp-endpoint", "Where traces go: http://HOST:PORT/v1/traces",
     BETZ_OPTION(otlpEndpoint)},
};

/// Writes text's value to the option's target; false where it is none.
struct Parser {
  std::string_view text;
  const ConfigOption &option;

  std::optional<double> number() const {
    double value = 0;
    const char *end = text.data() + text.size();
    auto [stop, code] = std::from_chars(text.data(), end, value);
    const bool isGood = code == std::errc() && stop == end &&
                        value >= option.low && value <= option.high;
    return isGood ? std::optional(value) : std::nullopt;
  }

  bool operator()(std::string *target) const {
    *target = text;
    return true;
  }
  bool operator()(bool *target) const {
    *target = text == "true";
    return *target || text == "false";
  }
  template <typename T>
    requires kIsNumber<T>
  bool operator()(T *target) const {
    const std::optional<double> value = number();
    if (!value || *value != static_cast<double>(static_cast<T>(*value)))
      return false;
    *target = static_cast<T>(*value);
    return true;
  }
  bool operator()(std::chrono::nanoseconds *target) const {
    const std::optional<double> value = number();
    if (value)
      *target = std::chrono::nanoseconds(static_cast<int64_t>(*value * 1e6));
    return value.has_value();
  }
  bool operator()(std::vector<int> *target) const {
    target->clear();
    std::string_view rest = text;
    while (!rest.empty()) {
      int core = -1;
      auto [stop, code] =
          std::from_chars(rest.data(), rest.data() + rest.size(), core);
      if (code != std::errc() || core < 0)
        return false;
      rest.remove_prefix(stop - rest.data());
      if (!rest.empty() && (rest[0] != ',' || rest.size() == 1))
        return false;
      rest.remove_prefix(!rest.empty());
      target->push_back(core);
    }
    return true;
  }
};

struct Describe {
  const ConfigOption &option;

  std::string operator()(std::string *) const { return "text"; }
  std::string operator()(bool *) const { return "true or false"; }
  std::string operator()(std::vector<int> *) const {
    return "numbers with commas between";
  }
  std::string operator()(std::chrono::nanoseconds *) const {
    return fmt::format("milliseconds in [{}, {}]", option.low, option.high);
  }
  template <typename T>
    requires kIsNumber<T>
  std::string operator()(T *) const {
    return fmt::format("an integer in [{}, {}]", option.low, option.high);
  }
};

struct Print {
  std::string operator()(const std::string *value) const { return *value; }
  std::string operator()(const bool *value) const {
    return *value ? "true" : "false";
  }
  std::string operator()(const std::vector<int> *value) const {
    std::string out;
    for (int core : *value)
      out += (out.empty() ? "" : ",") + std::to_string(core);
    return out;
  }
  std::string operator()(const std::chrono::nanoseconds *value) const {
    return fmt::format("{}", static_cast<double>(value->count()) * 1e-6);
  }
  template <typename T>
    requires kIsNumber<T>
  std::string operator()(const T *value) const {
    return std::to_string(*value);
  }
};

std::string withUnderscores(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '-', '_');
  return out;
}

/// Text of a TOML value as setOption() takes it.
std::string tomlText(const toml::node &node) {
  if (const auto *text = node.as_string())
    return text->get();
  if (const auto *number = node.as_integer())
    return std::to_string(number->get());
  if (const auto *number = node.as_floating_point())
    return fmt::format("{}", number->get());
  if (const auto *flag = node.as_boolean())
    return flag->get() ? "true" : "false";
  std::string out;
  if (const auto *list = node.as_array())
    for (const toml::node &element : *list)
      out += (out.empty() ? "" : ",") + tomlText(element);
  return out;
}

const ConfigOption *findByKey(std::string_view key) {
  for (const ConfigOption &option : kOptions)
    if (option.tomlKey() == key)
      return &option;
  return nullptr;
}

} // namespace

std::string ConfigOption::tomlKey() const { return withUnderscores(name); }

std::string ConfigOption::environmentName() const {
  std::string out = "BETZ_SERVE_" + tomlKey();
  for (char &c : out)
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::span<const ConfigOption> configOptions() { return kOptions; }

Status setOption(const ConfigOption &option, std::string_view text,
                 ServerConfig &config) {
  const ConfigTarget target = option.target(config);
  if (std::visit(Parser{text, option}, target))
    return Status::ok();
  return invalidArgument(fmt::format("{} is '{}'; it must be {}", option.name,
                                     text,
                                     std::visit(Describe{option}, target)));
}

std::string optionText(const ConfigOption &option, ServerConfig &config) {
  return std::visit(Print{}, option.target(config));
}

Status readConfigFile(const std::filesystem::path &path, ServerConfig &config) {
  BETZ_ASSIGN_OR_RETURN(toml::table table, readToml(path));
  for (auto &[key, node] : table) {
    const std::string place = tomlPlace(path, node.source());
    const ConfigOption *option = findByKey(key.str());
    if (!option)
      return invalidArgument(
          fmt::format("{}: unknown option '{}'", place, key.str()));
    BETZ_RETURN_IF_ERROR(
        setOption(*option, tomlText(node), config).withContext(place));
  }
  return Status::ok();
}

Status readConfigEnvironment(ServerConfig &config) {
  static constexpr std::string_view kPrefix = "BETZ_SERVE_";
  for (char **entry = environ; *entry; ++entry) {
    const std::string_view variable = *entry;
    if (!variable.starts_with(kPrefix))
      continue;
    const size_t equals = variable.find('=');
    const std::string name(variable.substr(0, equals));
    const auto option = std::ranges::find_if(kOptions, [&](const auto &each) {
      return each.environmentName() == name;
    });
    if (option == std::end(kOptions))
      return invalidArgument(fmt::format(
          "environment: no option is called {}; see serve --help", name));
    BETZ_RETURN_IF_ERROR(setOption(*option, variable.substr(equals + 1), config)
                             .withContext("environment: " + name));
  }
  return Status::ok();
}

Status checkConfig(const ServerConfig &config) {
  if (config.tlsCertificate.empty() != config.tlsKey.empty())
    return invalidArgument("tls-certificate and tls-key go together");
  const bool isLoopback = config.host == "::1" || config.host == "localhost" ||
                          config.host.starts_with("127.");
  if (!isLoopback && config.apiKeys.empty())
    return invalidArgument(
        fmt::format("host {} is reachable from outside: give --api-keys FILE "
                    "or listen on 127.0.0.1",
                    config.host));
  return Status::ok();
}

} // namespace betz::serve
