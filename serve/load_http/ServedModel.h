//===- ServedModel.h - A server's address, and a model behind it ----------===//
#pragma once

#include "serve/load/LoadRun.h"

namespace betz::serve {

struct ServerAddress {
  std::string host;
  std::string port;

  /// "http://127.0.0.1:8080", also without the scheme or the port (80). Other
  /// schemes and paths are errors.
  static Result<ServerAddress> parse(std::string_view url);
};

/// What a client has to know of a model to send it windows.
struct ServedModel {
  std::string name;
  WindowLimits limits;
  /// Of `behavior`.
  int64_t columns = 0;
  /// 0: the program does not say.
  double binMs = 0;

  /// From `GET /v2/models/M`; an error names what is missing.
  static Result<ServedModel> parse(std::string_view metadata);
  /// Asks the server. Without a name it is the only model that is ready.
  /// Blocks, some seconds at most.
  static Result<ServedModel> ask(const ServerAddress &address,
                                 const std::string &name);
};

/// Windows that a model has decoded, and the same with each counted as often as
/// there are windows in its batch.
struct BatchCounts {
  uint64_t windows = 0;
  uint64_t batchWindows = 0;

  /// From `GET /v2/models/M/stats`; none where there are none.
  static BatchCounts parse(std::string_view statistics);
  static BatchCounts ask(const ServerAddress &address, const std::string &name);
};

} // namespace betz::serve
