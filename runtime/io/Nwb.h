//===- Nwb.h - Recordings: spikes, trials and behaviour -------------------===//
//
// Reads what a decoder needs of an NWB file (any 2.x version, any writer). What
// is odd but usable becomes a warning; what would give wrong numbers is one
// error that names the path inside the file. docs/recordings.md lists both.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace betz {

/// [start, stop) in seconds of the recording's clock.
struct Interval {
  double start = 0;
  double stop = 0;
  double seconds() const { return stop - start; }
  bool operator==(const Interval &) const = default;
};

/// The rows of /units.
struct Units {
  /// The file's name of each unit; not 0..N-1.
  std::vector<int64_t> ids;
  /// True for units that exist in training files only.
  std::vector<bool> heldOut;
  /// Seconds, sorted within a unit, units one after the other.
  std::vector<double> spikeTimes;
  /// Where each unit's spikes end in spikeTimes.
  std::vector<int64_t> spikeEnds;
  /// False where the file has no column of spike times at all.
  bool haveSpikes = true;
  /// When units were observed, sorted and disjoint; empty when not said.
  std::vector<Interval> observed;

  int64_t count() const { return int64_t(ids.size()); }
  bool canBeDecoded() const { return count() > 0 && haveSpikes; }
  std::span<const double> spikes(int64_t row) const;
};

/// A column of /intervals/trials with one number or one text a trial.
struct TrialColumn {
  std::string name;
  std::vector<double> numbers;
  std::vector<std::string> texts;
};

struct Trials {
  /// As in the file, row by row; an unusable row has stop < start or NaN.
  std::vector<Interval> times;
  /// "train", "val", "test", "none"; "" where the file has no split.
  std::vector<std::string> split;
  std::vector<TrialColumn> columns;

  int64_t count() const { return int64_t(times.size()); }
  /// The first trial whose interval holds `seconds`.
  std::optional<int64_t> at(double seconds) const;
  /// Rows with a usable interval, by start.
  std::vector<int64_t> order;
};

/// A time series of /processing/behavior, not yet read.
struct SeriesInfo {
  std::string name;
  /// Where it is: the file, and the group inside it.
  std::filesystem::path file;
  std::string path;
  /// As written; never used to rescale.
  std::string unit;
  int64_t rows = 0;
  int64_t columns = 1;
  /// Rows a second; nothing when the series has timestamps.
  std::optional<double> rate;
  double startingTime = 0;
  double conversion = 1;
  double offset = 0;
  /// Why it cannot be loaded; empty when it can.
  std::string problem;
};

/// A series in memory: row i is at time[i] seconds.
struct Series {
  SeriesInfo info;
  /// Never falling.
  std::vector<double> time;
  /// rows × columns: data × conversion + offset.
  std::vector<double> values;

  bool isMissing(int64_t row) const;
  /// The median step between rows in seconds; 0 with fewer than two rows.
  double medianStep() const;
};

/// What a recording holds. Constant once opened.
struct Recording {
  std::filesystem::path file;
  std::string identifier;
  std::string nwbVersion;
  Units units;
  Trials trials;
  std::vector<SeriesInfo> series;
  /// One line each, for the caller to show.
  std::vector<std::string> warnings;

  /// Opens `path`. `behaviorPath`, if given, is a second file on the same clock
  /// that supplies the series, and the trials when the first has none.
  static Result<Recording> open(const std::filesystem::path &path,
                                const std::filesystem::path &behaviorPath = {});

  /// The series called `name`; without a name hand_vel, finger_vel or
  /// cursor_vel, else the only series with two columns, else null.
  Result<const SeriesInfo *> chooseSeries(const std::string &name) const;
};

/// Reads one series whole.
Result<Series> loadSeries(const SeriesInfo &info);

} // namespace betz
