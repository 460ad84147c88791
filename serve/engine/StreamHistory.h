//===- StreamHistory.h - The recent events of one stream, in order --------===//
#pragma once

#include "serve/engine/StreamSession.h"

#include <vector>

namespace betz::serve {

/// What a program takes of an event: ids and values in [0, below).
struct EventLimits {
  int32_t neurons = 0;
  int32_t values = 0;
  /// Of open bins together.
  int64_t openEvents = 0;
};

/// Events of closed bins in order of (bin, neuron), numbered from 0 on over the
/// stream's life, and those of open bins apart. Pure; not thread-safe.
/// Allocates only where a stream holds more events than it was made for.
class StreamHistory {
public:
  /// `expectedEvents`: of a window, at most.
  StreamHistory(const EventLimits &limits, int32_t firstBin,
                int64_t expectedEvents);

  /// See StreamSession::push.
  Result<StreamSession::Counts> push(std::span<const StreamEvent> events);

  /// No event of a bin before `bin` is taken from now on.
  void close(int32_t bin);
  int32_t closedBefore() const { return closedBin; }

  /// Forgets closed events of bins before `bin`.
  void forget(int32_t bin);

  /// Numbers of the closed events that are kept, [first, end).
  int64_t first() const { return firstKept; }
  int64_t end() const { return firstKept + int64_t(closed.size() - dropped); }
  const StreamEvent &at(int64_t number) const {
    return closed[dropped + size_t(number - firstKept)];
  }
  /// The first kept event whose bin is `bin` or later.
  int64_t find(int32_t bin) const;

private:
  Status check(std::span<const StreamEvent> events) const;
  bool insert(const StreamEvent &event); // false: merged

  EventLimits limits;
  int32_t closedBin;
  std::vector<StreamEvent> open;   // by (bin, neuron)
  std::vector<StreamEvent> closed; // the first `dropped` are forgotten
  size_t dropped = 0;
  int64_t firstKept = 0;
};

} // namespace betz::serve
