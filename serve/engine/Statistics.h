//===- Statistics.h - What the engine counts ------------------------------===//
#pragma once

#include "serve/engine/BatchObserver.h"

#include <array>
#include <vector>

namespace betz::serve {

/// A histogram with fixed upper bounds; counts[i] is of values in
/// (bounds[i-1], bounds[i]], the last of those above every bound.
struct Histogram {
  std::span<const double> bounds;
  std::vector<uint64_t> counts;
  double sum = 0;

  explicit Histogram(std::span<const double> bounds)
      : bounds(bounds), counts(bounds.size() + 1) {}
  void add(double value);
  uint64_t count() const;
};

/// How often, and how long in all.
struct Duration {
  uint64_t count = 0;
  std::chrono::nanoseconds total{0};

  void add(std::chrono::nanoseconds time) {
    ++count;
    total += time;
  }
};

struct BatchStatistics {
  int64_t windows = 0; // of each such batch
  Duration computed = {};
};

/// Of one version of a model since it was loaded.
struct ModelStatistics {
  std::string name = {};
  std::string version = {};
  /// Windows decoded, batches run, and when the last one ended (wall clock).
  uint64_t windows = 0;
  uint64_t batches = 0;
  std::chrono::system_clock::time_point lastBatch{};
  /// Requests that were answered, and the times of these; packing is the copy
  /// of a batch's inputs, unpacking the callbacks.
  Duration success, failure, queued, packed, computed, unpacked;
  std::array<uint64_t, kErrorKinds> errors{};
  std::vector<BatchStatistics> byWindows;
  Histogram latencySeconds, queueSeconds, computeSeconds, batchWindows;
  /// Windows of a batch over the most that one may have.
  Histogram batchFill;
  /// Actual over predicted time of a batch.
  Histogram actualOverPredicted;
  /// Requests answered after their deadline, though they were accepted.
  uint64_t missedDeadlines = 0;
  /// Windows whose output has a NaN or an infinity.
  uint64_t nonFinite = 0;

  ModelStatistics(std::string name, std::string version);
  /// The row of byWindows for batches of `size` windows.
  Duration &computedBatches(int64_t size);
};

struct StreamStatistics {
  int64_t open = 0;
  uint64_t decodes = 0;
  uint64_t events = 0;
  /// Events left out because their bin was closed; merged into an event of the
  /// same neuron and bin.
  uint64_t late = 0;
  uint64_t merged = 0;
  uint64_t idleClosed = 0;
  int64_t pages = 0;
  int64_t pagesUsed = 0;
  /// Pages that a decode found on the device, and that it had to bring there;
  /// pages taken from one stream for another.
  uint64_t pageHits = 0;
  uint64_t pageMisses = 0;
  uint64_t evictions = 0;
  /// Bytes of events that decodes read, and those that were uploaded.
  uint64_t bytesRead = 0;
  uint64_t bytesUploaded = 0;
};

/// A copy taken at one moment.
struct Statistics {
  std::vector<ModelStatistics> models;
  /// For requests that reached no model.
  std::array<uint64_t, kErrorKinds> errors{};
  StreamStatistics streams;
  /// Of EngineConfig::observer.
  ObserverCounts observed;
  int64_t queueDepth = 0;
  /// Requests accepted and not yet answered.
  int64_t inFlight = 0;
};

} // namespace betz::serve
