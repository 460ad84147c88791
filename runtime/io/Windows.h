//===- Windows.h - From a recording to windows of events ------------------===//
//
// Segments are stretches without a gap; windows lie on a segment's own grid of
// bins; a window's events are its non-empty (unit, bin) pairs. What belongs to
// which bin is decided by one function, binOf.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/io/Nwb.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace betz {

struct WindowSpec {
  /// Milliseconds of a bin; need not be whole.
  double binMs = 5;
  int32_t windowBins = 120;
  int32_t strideBins = 10;
  /// An event's value is min(spike count, valueBuckets - 1).
  int32_t valueBuckets = 8;
  /// Windows may start before their segment, with empty history, so that each
  /// bin of a segment can be a window's last.
  bool padStart = false;
};

/// The bin of `seconds` on the grid that starts at `origin`. Times within half
/// a nanosecond below a bin's start belong to it: stored times are not exact.
int64_t binOf(double seconds, double origin, double binMs);

struct Segmentation {
  /// Sorted and disjoint.
  std::vector<Interval> segments;
  /// Where they come from: "obs_intervals", "trials" or "spikes".
  std::string source;
};

/// When the units were observed, else the trials, else the spikes' span; those
/// within a millisecond of each other are one. With `behavior`, also cut where
/// it has no row for more than 1.5 of its steps or its rows are NaN. Fails when
/// there is no unit, or nothing remains.
Result<Segmentation> findSegments(const Recording &recording,
                                  const Series *behavior);

/// Which neuron_id of a model each unit is, by the unit's id.
struct UnitMap {
  std::map<int64_t, int32_t> neuronOfUnit;

  /// From a JSON object {"unit id": neuron_id}, as model metadata holds it.
  static Result<UnitMap> parse(std::string_view json);
};

struct NeuronTable {
  /// For each row of /units its neuron_id, or -1 when it is left out.
  std::vector<int32_t> neuronOfRow;
  /// Names the units left out, and why.
  std::vector<std::string> warnings;
};

/// Looks the recording's units up in `map`; without one, row i is neuron i.
/// Units that the map lacks, or that are not below `maxNeurons`, are left out
/// with a warning, or an error if `strict`.
Result<NeuronTable> assignNeurons(const Units &units, const UnitMap *map,
                                  int32_t maxNeurons, bool strict);

struct Window {
  int64_t segment = 0;
  /// On the segment's grid; negative for padded windows.
  int64_t firstBin = 0;
  /// Seconds on the recording's clock: the window's extent, and the centre of
  /// its last bin, which is where its target lies.
  double start = 0;
  double stop = 0;
  double target = 0;
};

/// All windows of a recording, in order of time. Holds segments only, so that
/// its size does not depend on the number of windows. Constant once built.
class WindowIndex {
public:
  static Result<WindowIndex> build(std::vector<Interval> segments,
                                   const WindowSpec &spec);

  int64_t size() const { return ends.empty() ? 0 : ends.back(); }
  /// Window `index` of [0, size()).
  Window at(int64_t index) const;
  const WindowSpec &spec() const { return windowSpec; }
  const std::vector<Interval> &segments() const { return intervals; }
  /// Whole bins of a segment.
  int64_t bins(int64_t segment) const { return binCounts[size_t(segment)]; }

private:
  WindowSpec windowSpec;
  std::vector<Interval> intervals;
  std::vector<int64_t> binCounts;
  /// Windows up to and with each segment.
  std::vector<int64_t> ends;
};

/// Windows ready for a step. Reused from batch to batch to keep its memory.
struct WindowBatch {
  /// i32[E], by window, then bin, then row of /units.
  std::vector<int32_t> neuronId;
  std::vector<int32_t> timeBin;
  std::vector<int32_t> value;
  /// i32[B + 1].
  std::vector<int32_t> rowSplits;
  /// f32[B, columns]; NaN where the behaviour has no row. Empty without one.
  std::vector<float> target;
};

/// Targets of windows: the mean of the behaviour's rows in the last bin, else
/// the row nearest to it if at most half a bin outside, else NaN. The index and
/// the behaviour must outlive it; reading from several threads is safe.
class TargetReader {
public:
  TargetReader(const WindowIndex &index, const Series &behavior)
      : index(&index), behavior(&behavior) {}

  int64_t columns() const { return behavior->info.columns; }
  /// f32[columns()].
  void read(const Window &window, std::span<float> target) const;

private:
  struct Range {
    int64_t begin;
    int64_t end;
  };
  Range rowsOf(const Window &window) const;

  const WindowIndex *index;
  const Series *behavior;
};

/// A window's events where they lie, in order of (bin, row of /units). `bin` is
/// on the segment's grid.
struct EventView {
  std::span<const int32_t> bin;
  std::span<const int32_t> neuron;
  std::span<const int32_t> value;
};

/// Reads windows in any order. Bins all spikes once, when made (12 bytes an
/// event); reading copies. The index and the behaviour must outlive it; reading
/// from several threads is safe.
class WindowReader {
public:
  WindowReader(const WindowIndex &index, const Units &units,
               std::span<const int32_t> neuronOfRow, const Series *behavior);

  /// Replaces `batch`. Fails when its events do not fit in i32 splits.
  Status read(std::span<const int64_t> windows, WindowBatch &batch) const;
  int64_t eventsIn(int64_t window) const;
  EventView events(int64_t window) const;
  /// Columns of the target; 0 without behaviour.
  int64_t targetColumns() const;

private:
  struct Range {
    int64_t begin;
    int64_t end;
  };
  void binSegment(int64_t segment, const Units &units,
                  std::span<const int32_t> neuronOfRow,
                  std::vector<uint64_t> &scratch);
  Range eventsOf(const Window &window) const;

  const WindowIndex &index;
  std::optional<TargetReader> targets;
  /// One entry an event, by segment, bin, row.
  std::vector<int32_t> bins;
  std::vector<int32_t> neurons;
  std::vector<int32_t> values;
  /// Events up to and with each segment.
  std::vector<int64_t> segmentEnds;
};

} // namespace betz
