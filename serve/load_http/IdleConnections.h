//===- IdleConnections.h - Connections that only stay open ----------------===//
#pragma once

#include "serve/load_http/ServedModel.h"

#include <memory>

namespace betz::serve {

/// Keep-alive connections that have each asked for /health once.
class IdleConnections {
public:
  /// Blocks until all are open. Raises the process's soft limit of open files
  /// to its hard one; a limit that is too low, and a server that takes fewer,
  /// are errors that say how many there may be.
  static Result<std::unique_ptr<IdleConnections>>
  open(const ServerAddress &address, int64_t count);
  ~IdleConnections();

  /// Those that the server has not closed.
  int64_t countOpen();

private:
  struct Parts;
  explicit IdleConnections(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

} // namespace betz::serve
