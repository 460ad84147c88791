//===- ServerConfig.h - What a server is told, and the table of it --------===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/engine/EngineConfig.h"

#include <filesystem>
#include <span>
#include <variant>

namespace betz::serve {

struct ServerConfig {
  EngineConfig engine;

  std::string host = "127.0.0.1";
  /// 0: any free one.
  int64_t port = 8080;
  int networkThreads = 1;
  /// A folder whose NAME.betz may be loaded over HTTP; empty: only programs
  /// that the command line named.
  std::string repository;

  int64_t maxConnections = 20000;
  int64_t maxHeaderBytes = 16 * 1024;
  int64_t maxBodyBytes = 16 * 1024 * 1024;
  /// Events of one body or frame.
  int64_t maxEvents = 1 << 18;
  std::chrono::nanoseconds idleTimeout = std::chrono::seconds(120);
  std::chrono::nanoseconds headerTimeout = std::chrono::seconds(10);
  std::chrono::nanoseconds bodyTimeout = std::chrono::seconds(30);
  std::chrono::nanoseconds writeTimeout = std::chrono::seconds(30);
  std::chrono::nanoseconds drainTimeout = std::chrono::seconds(30);

  /// A file with one key a line; empty: no key is asked for.
  std::string apiKeys;
  std::string tlsCertificate;
  std::string tlsKey;

  std::chrono::nanoseconds slo = std::chrono::milliseconds(50);
  /// Without a turn of the engine's thread for so long, it is not alive.
  std::chrono::nanoseconds heartbeatTimeout = std::chrono::seconds(5);
  bool logRequests = false;
  /// A log of batches for `replay`; empty: none.
  std::string record;
  /// "http://HOST:PORT/v1/traces"; empty: no traces.
  std::string otlpEndpoint;
};

/// Where an option's value lies; durations are given in milliseconds.
using ConfigTarget =
    std::variant<std::string *, int *, int64_t *, bool *,
                 std::chrono::nanoseconds *, std::vector<int> *>;

/// One option. `name` is the flag without dashes ("max-body-bytes"); the TOML
/// key has underscores, the environment variable is BETZ_SERVE_MAX_BODY_BYTES.
struct ConfigOption {
  std::string_view name;
  std::string_view help;
  ConfigTarget (*target)(ServerConfig &);
  /// For numbers and durations.
  double low = 0;
  double high = 9e15;

  std::string tomlKey() const;
  std::string environmentName() const;
};

/// Every option, in the order of the documentation.
std::span<const ConfigOption> configOptions();

/// Sets one option from text; an InvalidArgument says what it must be.
Status setOption(const ConfigOption &option, std::string_view text,
                 ServerConfig &config);
/// Its value as text that setOption() takes.
std::string optionText(const ConfigOption &option, ServerConfig &config);

/// Keys of a TOML file; unknown ones are errors.
Status readConfigFile(const std::filesystem::path &path, ServerConfig &config);
/// The variables BETZ_SERVE_*; unknown ones are errors.
Status readConfigEnvironment(ServerConfig &config);

/// What no single option can say: both or none of the TLS files, and loopback
/// or API keys.
Status checkConfig(const ServerConfig &config);

} // namespace betz::serve
