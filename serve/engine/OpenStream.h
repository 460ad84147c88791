//===- OpenStream.h - A stream, its pages and its pending decodes ---------===//
#pragma once

#include "serve/engine/StreamTable.h"

namespace betz::serve {

/// What a stream knows of its program.
struct StreamShape {
  EventLimits limits;
  int64_t maxEvents = 0; // of a window
  int64_t columns = 0;
};

class OpenStream final : public StreamSession,
                         public std::enable_shared_from_this<OpenStream> {
public:
  OpenStream(StreamTable &table, StreamOptions options,
             const StreamShape &shape);
  ~OpenStream() override;

  Result<Counts> push(std::span<const StreamEvent> events) override;
  Result<int64_t> advance(int32_t bin, StreamCallback callback) override;
  int32_t windowBins() const override { return options.windowBins; }
  int32_t strideBins() const override { return options.strideBins; }
  int64_t columns() const override { return shape.columns; }
  bool isClosed() const override { return closed; }
  void close() override;

  Clock::time_point lastUse() const { return usedAt; }

private:
  /// A decode that is not answered, and its window.
  struct Pending {
    std::shared_ptr<OpenStream> stream; // while it is pending
    int32_t endBin = 0;
    StreamCallback callback;
    std::vector<int32_t> neuronId, timeBin, value;
    int32_t rowSplits[2] = {0, 0};
    int32_t windowStart = 0;
    RequestId request{};

    Windows view() const;
  };

  Status beginUse();
  void decode(int32_t endBin, const StreamCallback &callback);
  Pending *takePending();
  void fill(Pending &pending, int32_t endBin, int64_t begin, int64_t end);
  void submit(Pending &pending);
  void finish(Pending &pending, const Answer &answer);
  /// What the stream answers: with holdLastGood, no row that is not finite
  /// once there was one that is.
  Answer hold(const Decoded &decoded);

  StreamTable &table;
  const std::shared_ptr<StreamTable::Counts> counts;
  const StreamOptions options;
  const StreamShape shape;
  std::atomic<bool> closed = false;
  std::atomic<Clock::time_point> usedAt;

  /// Held by push(), advance() and close(), so that closing waits for them.
  std::mutex mutex;
  StreamHistory history;
  PagePool::Tenant pages;
  int32_t nextEnd; // of the next stride

  std::vector<float> lastGood; // of the engine's thread

  std::mutex pendingMutex;
  std::vector<Pending> pending; // those without a stream are free
};

} // namespace betz::serve
