//===- BatchObserver.h - Who is told of every batch that ran --------------===//
#pragma once

#include "serve/engine/Request.h"

namespace betz::serve {

/// A batch whose outputs are there, while its requests wait for their answers.
struct FinishedBatch {
  /// As in Decoded::batch.
  uint64_t number = 0;
  std::string_view model = {};
  std::string_view version = {};
  std::string_view programHash = {};
  std::string_view device = {};
  /// The batch is their windows, in this order.
  std::span<const Windows *const> requests = {};
  int64_t windows = 0;
  int64_t events = 0;
  int64_t columns = 0;
  /// f32 [windows, columns].
  std::span<const float> behavior = {};
};

struct ObserverCounts {
  /// Batches that were kept, and that were not.
  uint64_t kept = 0;
  uint64_t dropped = 0;
};

class BatchObserver {
public:
  virtual ~BatchObserver() = default;
  /// From the engine's thread, once for each batch that did not fail. Must not
  /// block; what the batch names is valid until it returns.
  virtual void onBatch(const FinishedBatch &batch) = 0;
  /// Any thread.
  virtual ObserverCounts counts() const = 0;
};

} // namespace betz::serve
