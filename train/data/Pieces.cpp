#include "train/data/Pieces.h"
#include "runtime/io/Windows.h"
#include "train/score/Random.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace betz::train {
namespace {

constexpr double kTrainShare = 0.6, kValShare = 0.2;
constexpr double kBlockSeconds = 10;
constexpr double kFewestBlocks = 10;
/// A split by trial needs one for each of train, val and test.
constexpr int64_t kFewestTrials = 3;

std::vector<int64_t> drawOrder(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(size_t(count), 0);
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), Random(seed));
  return order;
}

/// Splits of `count` trials or blocks, each split at least one if there are
/// three.
std::vector<Split> drawSplits(int64_t count, uint64_t seed) {
  auto share = [&](double part) {
    return std::max<int64_t>(1, std::llround(part * double(count)));
  };
  const int64_t val = share(kValShare);
  const int64_t train = std::min(share(kTrainShare), count - val - 1);
  std::vector<Split> splits(size_t(count), Split::Test);
  std::vector<int64_t> order = drawOrder(count, seed);
  for (int64_t i = 0; i < count; ++i)
    if (i < train + val)
      splits[size_t(order[size_t(i)])] = i < train ? Split::Train : Split::Val;
  return splits;
}

/// The trials' splits: one a row of `order`, nothing for a trial of no split.
using TrialSplits = std::vector<std::optional<Split>>;

int64_t count(const TrialSplits &splits, Split split) {
  return std::count(splits.begin(), splits.end(), std::optional(split));
}

TrialSplits readSplits(const Trials &trials) {
  TrialSplits splits;
  for (int64_t row : trials.order) {
    splits.emplace_back();
    for (Split split : kSplits)
      if (trials.split[size_t(row)] == toString(split))
        splits.back() = split;
  }
  return splits;
}

/// Gives a fifth of the train trials to val.
void drawVal(TrialSplits &splits, uint64_t seed) {
  std::vector<size_t> train;
  for (size_t i = 0; i < splits.size(); ++i)
    if (splits[i] == Split::Train)
      train.push_back(i);
  const int64_t val =
      std::max<int64_t>(1, std::llround(kValShare * double(train.size())));
  std::vector<int64_t> order = drawOrder(int64_t(train.size()), seed);
  for (int64_t i = 0; i < val; ++i)
    splits[train[size_t(order[size_t(i)])]] = Split::Val;
}

/// Nothing when trials cannot be split.
std::optional<TrialSplits> splitTrials(const Recording &recording,
                                       uint64_t seed, Pieces &out) {
  const Trials &trials = recording.trials;
  const int64_t usable = int64_t(trials.order.size());
  TrialSplits splits = readSplits(trials);
  const int64_t train = count(splits, Split::Train);
  const int64_t val = count(splits, Split::Val);
  const int64_t test = count(splits, Split::Test);
  out.source = "file";
  if (train > 0 && val > 0 && test > 0)
    return splits;
  if (train >= 2 && val + test > 0) {
    for (std::optional<Split> &split : splits)
      if (split == Split::Val)
        split = Split::Test;
    drawVal(splits, seed);
    out.warnings.push_back(fmt::format(
        "{}: the trials' split has no {}; {} of {} train trials, drawn by the "
        "seed, are val{}",
        recording.file.string(), val == 0 ? "val" : "test",
        count(splits, Split::Val), train,
        test == 0 ? " and its val trials are test" : ""));
    return splits;
  }
  if (usable < kFewestTrials)
    return std::nullopt;
  if (train + val + test > 0)
    out.warnings.push_back(fmt::format(
        "{}: the trials' split ({} train, {} val, {} test) cannot be used; "
        "trials are drawn 60/20/20 by the seed",
        recording.file.string(), train, val, test));
  out.source = "seeded by trial";
  std::vector<Split> drawn = drawSplits(usable, seed);
  return TrialSplits(drawn.begin(), drawn.end());
}

void addTrialPieces(const Trials &trials, const TrialSplits &splits,
                    const std::vector<Interval> &segments,
                    std::vector<Piece> &pieces) {
  size_t segment = 0;
  double taken = -INFINITY;
  for (size_t i = 0; i < trials.order.size(); ++i) {
    const int64_t row = trials.order[i];
    const Interval &trial = trials.times[size_t(row)];
    // Trials that overlap share no bin: the earlier one has it.
    const double start = std::max(trial.start, taken);
    taken = std::max(taken, trial.stop);
    while (segment < segments.size() && segments[segment].stop <= start)
      ++segment;
    for (size_t s = segment;
         s < segments.size() && segments[s].start < trial.stop; ++s) {
      Interval time = {std::max(start, segments[s].start),
                       std::min(trial.stop, segments[s].stop)};
      if (splits[i] && time.seconds() > 0)
        pieces.push_back({time, row, *splits[i]});
    }
  }
}

void addBlocks(const std::vector<Interval> &segments, double binMs,
               uint64_t seed, std::vector<Piece> &pieces) {
  double total = 0;
  for (const Interval &segment : segments)
    total += segment.seconds();
  const double seconds = std::min(kBlockSeconds, total / kFewestBlocks);
  const double bin = binMs / 1000;
  const double block = std::max(1.0, std::floor(seconds / bin)) * bin;
  for (const Interval &segment : segments)
    for (int64_t i = 0; segment.start + double(i) * block < segment.stop; ++i)
      pieces.push_back(
          {{segment.start + double(i) * block,
            std::min(segment.stop, segment.start + double(i + 1) * block)},
           -1,
           Split::Train});
  std::vector<Split> splits = drawSplits(int64_t(pieces.size()), seed);
  for (size_t i = 0; i < pieces.size(); ++i)
    pieces[i].split = splits[i];
}

} // namespace

std::string_view toString(Split split) {
  switch (split) {
  case Split::Train:
    return "train";
  case Split::Val:
    return "val";
  case Split::Test:
    return "test";
  }
  return "";
}

Result<Pieces> cutPieces(const Recording &recording, double binMs,
                         uint64_t seed) {
  BETZ_ASSIGN_OR_RETURN(Segmentation observed,
                        findSegments(recording, nullptr));
  const std::vector<Interval> &segments = observed.segments;
  Pieces out;
  if (std::optional<TrialSplits> splits = splitTrials(recording, seed, out)) {
    addTrialPieces(recording.trials, *splits, segments, out.pieces);
  } else {
    if (!recording.trials.order.empty())
      out.warnings.push_back(
          fmt::format("{}: {} trial{} cannot be split; blocks of its time are",
                      recording.file.string(), recording.trials.order.size(),
                      recording.trials.order.size() == 1 ? "" : "s"));
    out.source = "seeded by block";
    addBlocks(segments, binMs, seed, out.pieces);
  }
  if (out.pieces.empty())
    return dataLoss(fmt::format(
        "{}: no trial lies in observed time ({}); is the trials table on the "
        "spikes' clock?",
        recording.file.string(), observed.source));
  for (const Interval &segment : segments)
    out.secondsLeftOut += segment.seconds();
  for (const Piece &piece : out.pieces)
    out.secondsLeftOut -= piece.time.seconds();
  return out;
}

} // namespace betz::train
