// The part of Windows.h that decides where a recording has no gap.
#include "runtime/io/Windows.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace betz {
namespace {

/// Writers end an interval at its last sample or after it, and the finest
/// recordings have a sample a millisecond.
constexpr double kTouchSeconds = 1e-3 + 1e-6;
/// Rounding of stored times.
constexpr double kEpsilonSeconds = 1e-6;
/// A step of more than this many median steps is a gap.
constexpr double kGapSteps = 1.5;

std::vector<Interval> mergeTouching(const std::vector<Interval> &sorted) {
  std::vector<Interval> merged;
  for (const Interval &interval : sorted) {
    if (!merged.empty() && interval.start <= merged.back().stop + kTouchSeconds)
      merged.back().stop = std::max(merged.back().stop, interval.stop);
    else
      merged.push_back(interval);
  }
  return merged;
}

std::vector<Interval> spanOfSpikes(const Units &units) {
  if (units.spikeTimes.empty())
    return {};
  auto [first, last] =
      std::minmax_element(units.spikeTimes.begin(), units.spikeTimes.end());
  return {{*first, *last}};
}

Segmentation findObserved(const Recording &recording) {
  if (!recording.units.observed.empty())
    return {mergeTouching(recording.units.observed), "obs_intervals"};
  std::vector<Interval> trials;
  for (int64_t row : recording.trials.order)
    trials.push_back(recording.trials.times[size_t(row)]);
  if (!trials.empty())
    return {mergeTouching(trials), "trials"};
  return {spanOfSpikes(recording.units), "spikes"};
}

/// Where the series has no usable row: from the last row before to the first
/// row after, in order, open at both ends of the series.
std::vector<Interval> findRowGaps(const Series &series, double step) {
  constexpr double kForever = std::numeric_limits<double>::infinity();
  std::vector<Interval> gaps;
  double before = -kForever;
  for (int64_t row = 0; row < series.info.rows; ++row) {
    if (series.isMissing(row))
      continue;
    double time = series.time[size_t(row)];
    if (time - before > kGapSteps * step)
      gaps.push_back({before, time});
    before = time;
  }
  gaps.push_back({before, kForever});
  return gaps;
}

/// Appends what `gaps` leave of `segment`. A row speaks for one step around
/// it, wherever in its bin the writer put its time; so a boundary of the
/// segment that lies within a step of a row stands.
void cutSegment(const Interval &segment, const std::vector<Interval> &gaps,
                double step, std::vector<Interval> &pieces) {
  auto add = [&](double start, double stop) {
    if (stop - start > kEpsilonSeconds)
      pieces.push_back({start, stop});
  };
  double at = segment.start;
  auto gap =
      std::partition_point(gaps.begin(), gaps.end(), [&](const Interval &g) {
        return g.stop - step <= at + kEpsilonSeconds;
      });
  for (;
       gap != gaps.end() && gap->start + step < segment.stop - kEpsilonSeconds;
       ++gap) {
    add(at, gap->start + step);
    at = gap->stop;
  }
  add(at, segment.stop);
}

Status cutByBehavior(const Recording &recording, const Series &series,
                     Segmentation &found) {
  std::string where =
      fmt::format("{}: {}", series.info.file.string(), series.info.path);
  double step = series.medianStep();
  if (series.info.rows < 2 || step <= 0)
    return dataLoss(fmt::format(
        "{}: {} rows that do not advance in time cannot be a target", where,
        series.info.rows));
  std::vector<Interval> gaps = findRowGaps(series, step);
  std::vector<Interval> pieces;
  for (const Interval &segment : found.segments)
    cutSegment(segment, gaps, step, pieces);
  if (pieces.empty())
    return dataLoss(fmt::format(
        "{}: no usable row between {:.3f} and {:.3f} s, where {} has spikes "
        "(its rows go from {:.3f} to {:.3f} s); are both on one clock?",
        where, found.segments.front().start, found.segments.back().stop,
        recording.file.string(), series.time.front(), series.time.back()));
  found.segments = std::move(pieces);
  return Status::ok();
}

} // namespace

Result<Segmentation> findSegments(const Recording &recording,
                                  const Series *behavior) {
  if (!recording.units.canBeDecoded())
    return dataLoss(fmt::format("{}: /units{}: is missing or empty, so there "
                                "is nothing to decode; give a recording with "
                                "sorted units",
                                recording.file.string(),
                                recording.units.count() ? "/spike_times" : ""));
  Segmentation found = findObserved(recording);
  for (const Interval &segment : found.segments)
    if (!std::isfinite(segment.start) || !std::isfinite(segment.stop))
      return dataLoss(fmt::format("{}: {} are not finite",
                                  recording.file.string(), found.source));
  if (behavior && !found.segments.empty())
    BETZ_RETURN_IF_ERROR(cutByBehavior(recording, *behavior, found));
  return found;
}

} // namespace betz
