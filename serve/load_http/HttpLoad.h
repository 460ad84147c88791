//===- HttpLoad.h - Requests to a server over HTTP ------------------------===//
#pragma once

#include "serve/load_http/ServedModel.h"

#include <optional>

namespace betz::serve {

/// A model behind a port, and how it is asked.
struct HttpTarget {
  ServerAddress address;
  ServedModel model;
  /// Connections of an open loop, all open before it starts. What is due when
  /// all are busy waits for one, and that time is in its latency.
  int64_t connections = 256;
};

/// Of requests for which LoadOptions names no deadline.
inline constexpr std::chrono::seconds kHttpDeadline{1};

/// The error that a status of an answer stands for; nothing for 200. Where
/// several errors have one status, the one that is most often meant.
std::optional<ErrorKind> errorKindOf(unsigned status);

/// The bytes of an infer request of one window, binary tensors behind the JSON.
struct InferBytes {
  std::string body;
  size_t jsonBytes = 0;
};
InferBytes writeInferBytes(const Windows &window,
                           std::chrono::nanoseconds timeout);

/// As runClosedLoop() and runOpenLoop() of LoadRun.h, each client on a
/// connection of its own. LoadOptions::model is not used. A server that cannot
/// be reached at the start is an error; requests without an answer later are
/// `lost`.
Result<LoadResult> runClosedLoop(const HttpTarget &target,
                                 const LoadOptions &options, int64_t clients);
Result<LoadResult> runOpenLoop(const HttpTarget &target,
                               const LoadOptions &options,
                               ArrivalPattern pattern, double rate);

} // namespace betz::serve
