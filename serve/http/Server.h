//===- Server.h - An engine behind one port -------------------------------===//
#pragma once

#include "serve/engine/Engine.h"
#include "serve/http/ServerConfig.h"

#include <map>

namespace betz::serve {

/// Programs that may be loaded by name.
using ProgramSources =
    std::map<std::string, std::filesystem::path, std::less<>>;

/// The HTTP and WebSocket front of an engine; see docs/serving.md.
class Server {
public:
  /// Listens at once; connections are answered by run(). `engine` must outlive
  /// the server. A port that is taken, keys or certificates that cannot be read
  /// are errors. `session` is what the page plays, as JSON; empty for none.
  static Result<std::unique_ptr<Server>> create(Engine &engine,
                                                const ServerConfig &config,
                                                ProgramSources sources,
                                                std::string session = {});
  ~Server();

  /// The port that it listens on.
  uint16_t port() const;

  /// Serves until SIGTERM, SIGINT or stop(); then takes no more connections,
  /// answers what was accepted and returns.
  void run();
  /// Any thread, once run() was called.
  void stop();

private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

} // namespace betz::serve
