//===- CommandGraph.h - Recorded work that runs again ---------------------===//
#pragma once

namespace betz {

/// What a stream recorded between beginCapture and endCapture. The buffers, the
/// task counts and the host memory that it names must outlive it.
class CommandGraph {
public:
  virtual ~CommandGraph() = default;
  CommandGraph(const CommandGraph &) = delete;
  CommandGraph &operator=(const CommandGraph &) = delete;

protected:
  CommandGraph() = default;
};

} // namespace betz
