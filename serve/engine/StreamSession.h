//===- StreamSession.h - A decode at each stride of a stream of events ----===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/engine/Request.h"

#include <memory>

namespace betz::serve {

/// Spikes of one neuron in one bin; bins count from any origin, from 0 on.
struct StreamEvent {
  int32_t neuron = 0;
  int32_t bin = 0;
  int32_t value = 1;
};

struct StreamOptions {
  std::string model = {};
  std::string version = {};
  /// Bins of a window and between decodes; 0: the program's.
  int32_t windowBins = 0;
  int32_t strideBins = 0;
  /// The bin at which the first stride begins.
  int32_t firstBin = 0;
  /// Of each decode, from the advance() that asked for it; 0: the engine's.
  std::chrono::nanoseconds deadline{0};
  Priority priority = Priority::Normal;
};

/// What one decode gave. `Decoded` has one window.
struct StreamAnswer {
  /// The window is [endBin - windowBins, endBin).
  int32_t endBin = 0;
  int64_t events = 0;
  const Answer &answer;
};

/// As Callback: once a decode, from a thread of the engine or inside advance().
/// Must not call the stream that it is of.
using StreamCallback = std::function<void(const StreamAnswer &)>;

/// The recent events of one client. Events may come in any order; their order
/// of arrival changes no result. Bins are open until advance() passes them:
/// - an event of an open bin counts, also when it is far ahead;
/// - an event of a neuron and bin that is there already adds its value to it,
///   up to the program's largest (merged);
/// - an event of a closed bin is left out and counted (late), so that a decode
///   is a function of the events that came before its bins were closed.
/// The results have the bits of each window decoded alone from scratch, with
/// its events in order of (bin, neuron). For one thread at a time; different
/// sessions from any threads.
class StreamSession {
public:
  struct Counts {
    int64_t accepted = 0;
    int64_t late = 0;
    int64_t merged = 0;
  };

  virtual ~StreamSession() = default;

  /// Takes all events or, if an id, bin or value is out of range or too many
  /// bins are open, none (InvalidArgument names the first that is wrong).
  virtual Result<Counts> push(std::span<const StreamEvent> events) = 0;

  /// Closes the bins before `bin` and asks for a decode at each stride that
  /// ends among them: at firstBin + k * strideBins, k >= 1. Windows that reach
  /// before firstBin have no events there. Going backwards is an error. The
  /// number of decodes asked for, each of which calls back once, in order
  /// except for refusals, which come at once.
  virtual Result<int64_t> advance(int32_t bin, StreamCallback callback) = 0;

  virtual int32_t windowBins() const = 0;
  virtual int32_t strideBins() const = 0;
  virtual int64_t columns() const = 0;
  /// Whether it was closed, by close() or by being idle: push() and advance()
  /// then fail with Unavailable. A stream outlives its model: its decodes go to
  /// the version that is there, if any, when they are asked for.
  virtual bool isClosed() const = 0;
  /// Gives its pages back and drops its decodes that wait (Cancelled). From any
  /// thread. Without it the pages go back when the last reference is dropped
  /// and the last decode answered.
  virtual void close() = 0;
};

} // namespace betz::serve
