//===- RecordReader.h - Reads a log of batches ----------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/engine/Request.h"
#include "serve/record/RecordLog.h"

#include <map>
#include <vector>

namespace betz::serve {

/// What a log says of a program that ran.
struct RecordedModel {
  std::string name = {};
  std::string version = {};
  std::string programHash = {};
  std::string device = {};
  int64_t columns = 0;
};

/// A batch of a log, with arrays of its own.
struct RecordedBatch {
  uint64_t number = 0;
  const RecordedModel *model = nullptr; // the reader's
  std::vector<int32_t> rowSplits, windowStart, neuronId, timeBin, value;
  std::vector<float> behavior;

  Windows windows() const {
    return {neuronId, timeBin, value, rowSplits, windowStart};
  }
};

/// Goes through a log from its begin. Any bytes are a log or give an error.
class RecordReader {
public:
  /// `bytes` must outlive the reader. A DataLoss if they are no log, or one of
  /// another version.
  static Result<RecordReader> open(std::span<const std::byte> bytes);

  /// Reads the next batch; false at the log's end, or before a frame that is
  /// cut off. Damage inside is a DataLoss that says where.
  Result<bool> next(RecordedBatch &batch);

  /// By their ids; those that came so far.
  const std::map<uint32_t, RecordedModel> &models() const { return known; }
  /// Whether the log's end was read: the writer was not killed.
  bool isComplete() const { return hasEnd; }
  /// Batches dropped by the writer, as far as was read.
  uint64_t dropped() const { return droppedBatches; }

private:
  explicit RecordReader(std::span<const std::byte> bytes) : bytes(bytes) {}
  Result<bool> readFrame(FrameKind &kind, std::span<const std::byte> &payload);
  Status readModel(std::span<const std::byte> payload);
  Status readBatch(std::span<const std::byte> payload, RecordedBatch &batch);
  Status readEnd(std::span<const std::byte> payload);
  Status damage(std::string_view what) const;

  std::span<const std::byte> bytes;
  size_t place = kLogHeaderBytes;
  size_t frameStart = 0;
  std::map<uint32_t, RecordedModel> known;
  bool hasEnd = false;
  uint64_t droppedBatches = 0;
};

} // namespace betz::serve
