#include "train/data/Phases.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace betz::train {
namespace {

const TrialColumn *findColumn(const Trials &trials, std::string_view name) {
  for (const TrialColumn &column : trials.columns)
    if (column.name == name && !column.numbers.empty())
      return &column;
  return nullptr;
}

/// Seconds on the recording's clock; NaN when the trial does not say.
double trialTime(const Trials &trials, int64_t trial, std::string_view name) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (trial < 0)
    return kNaN;
  if (name == "start_time")
    return trials.times[size_t(trial)].start;
  if (name == "stop_time")
    return trials.times[size_t(trial)].stop;
  const TrialColumn *column = findColumn(trials, name);
  return column ? column->numbers[size_t(trial)] : kNaN;
}

bool everySession(const Dataset &dataset, auto holds) {
  for (int64_t i = 0; i < dataset.sessions(); ++i)
    if (!holds(dataset.session(i)))
      return false;
  return true;
}

bool hasTrials(const Session &session) {
  return std::all_of(session.pieces.begin(), session.pieces.end(),
                     [](const Piece &piece) { return piece.trial >= 0; });
}

bool hasMovementTimes(const Session &session) {
  return findColumn(session.trials, "go_cue_time") &&
         findColumn(session.trials, "move_onset_time");
}

/// The number of the sample's phase, or -1.
int phaseByEvents(const Trials &trials, int64_t trial, double time) {
  const double go = trialTime(trials, trial, "go_cue_time");
  const double onset = trialTime(trials, trial, "move_onset_time");
  if (!std::isfinite(go) || !std::isfinite(onset))
    return -1;
  return time < go ? 0 : time < onset ? 1 : 2;
}

int phaseByThird(const Trials &trials, int64_t trial, double time) {
  const Interval &interval = trials.times[size_t(trial)];
  const double part = (time - interval.start) / interval.seconds();
  return std::clamp(int(part * 3), 0, 2);
}

} // namespace

Phases phasesOf(const Dataset &dataset, Split split) {
  Phases phases;
  if (!everySession(dataset, hasTrials))
    return phases;
  const bool byEvents = everySession(dataset, hasMovementTimes);
  if (byEvents)
    phases.names = {"before go", "go to onset", "after onset"};
  else
    phases.names = {"first third", "middle third", "last third"};
  std::span<const Sample> samples = dataset.samples(split);
  phases.rows.assign(phases.names.size(), RowMask(samples.size(), false));
  for (size_t row = 0; row < samples.size(); ++row) {
    const Session &session = dataset.session(samples[row].session);
    const double time = session.index.at(samples[row].bin).target;
    const int64_t trial = session.pieces[size_t(samples[row].piece)].trial;
    const int phase = byEvents ? phaseByEvents(session.trials, trial, time)
                               : phaseByThird(session.trials, trial, time);
    if (phase >= 0)
      phases.rows[size_t(phase)][row] = true;
  }
  return phases;
}

bool haveTrialTimes(const Dataset &dataset, std::string_view name) {
  const bool isInterval = name == "start_time" || name == "stop_time";
  return everySession(dataset, [&](const Session &session) {
    return hasTrials(session) &&
           (isInterval || findColumn(session.trials, name));
  });
}

std::vector<double> alignedMs(const Dataset &dataset, Split split,
                              std::string_view align) {
  std::vector<double> out;
  for (const Sample &sample : dataset.samples(split)) {
    const Session &session = dataset.session(sample.session);
    const double origin = trialTime(
        session.trials, session.pieces[size_t(sample.piece)].trial, align);
    out.push_back((session.index.at(sample.bin).target - origin) * 1000);
  }
  return out;
}

RowMask alignedRows(const Dataset &dataset, Split split, std::string_view align,
                    double startMs, double stopMs) {
  RowMask rows;
  for (double ms : alignedMs(dataset, split, align))
    rows.push_back(ms >= startMs && ms < stopMs);
  return rows;
}

} // namespace betz::train
