//===- RecordWriter.h - Writes the batches that an engine runs ------------===//
#pragma once

#include "serve/engine/BatchObserver.h"
#include "serve/record/RecordLog.h"

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

namespace betz::serve {

/// Copies each batch into a buffer of fixed size, which a thread of its own
/// writes to a file. A batch that finds the buffer full, or comes after the
/// file could not be written, is dropped and counted; the engine never waits
/// for the disk.
class RecordWriter final : public BatchObserver {
public:
  /// A file at `path` is kept, as PATH.1 or the next number that is free. Where
  /// the file cannot be made, one line of warning says so and every batch is
  /// dropped. Buffers of `bufferBytes`, two of them.
  explicit RecordWriter(std::filesystem::path path,
                        size_t bufferBytes = 64 << 20);
  /// Writes what is left and the log's end.
  ~RecordWriter() override;

  void onBatch(const FinishedBatch &batch) override;
  ObserverCounts counts() const override;

private:
  struct Model {
    std::string name, version, programHash;
  };

  void open();
  void run();
  void write(const std::vector<char> &bytes);
  void giveUp(const std::string &why);
  // With the mutex held.
  uint32_t modelId(const FinishedBatch &batch);
  void appendBatch(const FinishedBatch &batch, uint32_t model);

  const std::filesystem::path path;
  const size_t bufferBytes;
  int file = -1;             // the thread's, once it runs
  uint64_t writtenBytes = 0; // whole frames

  mutable std::mutex mutex;
  std::condition_variable changed;
  // Guarded by the mutex.
  std::vector<char> filling;
  std::vector<Model> models;
  ObserverCounts counted;
  uint64_t keptInFilling = 0;
  bool hasFailed = false;
  bool stopping = false;

  std::vector<char> writing; // the thread's own
  std::thread thread;
};

} // namespace betz::serve
