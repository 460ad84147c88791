//===- StreamTable.h - The streams that are open --------------------------===//
#pragma once

#include "serve/engine/Dispatcher.h"
#include "serve/engine/PagePool.h"

namespace betz::serve {

class OpenStream;

/// Opens streams, closes those that are idle and counts. Thread-safe.
class StreamTable {
public:
  /// `dispatcher` and `device` must outlive it.
  static Result<std::unique_ptr<StreamTable>>
  create(const EngineConfig &config, Dispatcher &dispatcher, Device &device);
  /// Closes every stream.
  ~StreamTable();

  /// `model` is what the options name; it may go when the call has ended.
  std::variant<std::shared_ptr<StreamSession>, Error>
  open(const StreamOptions &options, const LoadedModel &model);

  /// Fills in Statistics::streams.
  void count(StreamStatistics &statistics);

private:
  friend class OpenStream;
  /// Counted by streams as they go.
  struct Counts {
    std::atomic<int64_t> open{0};
    std::atomic<uint64_t> decodes{0}, events{0}, late{0}, merged{0};
  };

  StreamTable(const EngineConfig &config, Dispatcher &dispatcher)
      : config(config), dispatcher(dispatcher) {}
  void closeIdleStreams();

  const EngineConfig config;
  Dispatcher &dispatcher;
  std::unique_ptr<PagePool> pool;
  std::shared_ptr<Counts> counts = std::make_shared<Counts>();

  std::mutex mutex;
  std::condition_variable stop;
  bool stopping = false; // guarded by the mutex, as are those below
  std::vector<std::weak_ptr<OpenStream>> streams;
  uint64_t idleClosed = 0;
  std::thread janitor;
};

} // namespace betz::serve
