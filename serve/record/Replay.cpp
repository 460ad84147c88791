#include "serve/record/Replay.h"

#include "runtime/base/Progress.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace betz::serve {
namespace {

/// The outputs, until the next call.
Result<std::span<const float>> run(LoadedModel &model,
                                   const RecordedBatch &batch) {
  Windows windows = batch.windows();
  if (!model.ports().windowStart)
    windows.windowStart = {};
  return model.run(windows);
}

std::optional<ReplayDifference> compare(const RecordedBatch &batch,
                                        std::span<const float> replayed) {
  const auto sameBits = [](float left, float right) {
    return std::bit_cast<uint32_t>(left) == std::bit_cast<uint32_t>(right);
  };
  const auto [recorded, again] =
      std::ranges::mismatch(batch.behavior, replayed, sameBits);
  if (recorded == batch.behavior.end())
    return std::nullopt;
  const int64_t place = recorded - batch.behavior.begin();
  const int64_t columns = batch.model->columns;
  return ReplayDifference{batch.number, place / columns, place % columns,
                          *recorded, *again};
}

Status otherProgram(const RecordReader &log, const std::string &hash) {
  std::string models;
  for (const auto &[id, model] : log.models())
    models +=
        fmt::format("{}{} version {} with hash {}", models.empty() ? "" : ", ",
                    model.name, model.version, model.programHash);
  return invalidArgument(fmt::format(
      "the program's hash is {}; the log is of {}; give the program that ran",
      hash, models));
}

} // namespace

Result<ReplayResult> replay(RecordReader &log, LoadedModel &model,
                            const std::string &hash) {
  ReplayResult result;
  RecordedBatch batch;
  Progress progress("replaying", 0, "batches");
  while (!result.difference) {
    BETZ_ASSIGN_OR_RETURN(const bool isThere, log.next(batch));
    if (!isThere)
      break;
    if (batch.model->programHash != hash) {
      ++result.skipped;
      continue;
    }
    if (batch.model->columns != model.ports().columns)
      return dataLoss(fmt::format("batch {} has {} columns, its program {}",
                                  batch.number, batch.model->columns,
                                  model.ports().columns));
    Result<std::span<const float>> rows = run(model, batch);
    if (!rows.isOk())
      return std::move(rows).status().withContext(
          fmt::format("batch {}", batch.number));
    result.difference = compare(batch, *rows);
    if (std::ranges::find(result.devices, batch.model->device) ==
        result.devices.end())
      result.devices.push_back(batch.model->device);
    ++result.batches;
    result.windows += batch.windows().windows();
    progress.update(result.batches);
  }
  if (result.batches == 0 && result.skipped > 0)
    return otherProgram(log, hash);
  result.dropped = log.dropped();
  result.isComplete = log.isComplete();
  return result;
}

} // namespace betz::serve
