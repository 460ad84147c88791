//===- OddFiles.h - Small recordings, as other writers make them ----------===//
#pragma once

#include "runtime/io/Hdf5.h"
#include "runtime/io/Nwb.h"
#include "tests/runtime/io/TestFiles.h"

#include <functional>
#include <string>
#include <vector>

namespace betz::test {

/// Writes `path` by `fill`, failing the test when that fails.
inline std::string makeFile(const std::filesystem::path &path,
                            const std::function<void(Hdf5Writer &)> &fill) {
  Status status = writeHdf5(path, [&](Hdf5Writer &writer) {
    fill(writer);
    return Status::ok();
  });
  EXPECT_TRUE(status.isOk()) << status.message();
  return path.string();
}

inline void must(const Status &status) {
  EXPECT_TRUE(status.isOk()) << status.message();
}

using SpikeLists = std::vector<std::vector<double>>;

inline void addUnits(Hdf5Writer &writer, const std::vector<int64_t> &ids,
                     const SpikeLists &spikes,
                     Hdf5Integer indexType = Hdf5Integer::U8,
                     Hdf5Layout layout = {}) {
  std::vector<double> flat;
  std::vector<int64_t> ends;
  for (const std::vector<double> &list : spikes) {
    flat.insert(flat.end(), list.begin(), list.end());
    ends.push_back(int64_t(flat.size()));
  }
  must(writer.integers("/units/id", ids, {int64_t(ids.size())}));
  must(writer.doubles("/units/spike_times", flat, {int64_t(flat.size())},
                      layout));
  must(writer.integers("/units/spike_times_index", ends, {int64_t(ends.size())},
                       indexType));
}

/// The same intervals for each of `units` units.
inline void addObserved(Hdf5Writer &writer, int64_t units,
                        const std::vector<Interval> &intervals) {
  std::vector<double> flat;
  std::vector<int64_t> ends;
  for (int64_t unit = 0; unit < units; ++unit) {
    for (const Interval &interval : intervals) {
      flat.push_back(interval.start);
      flat.push_back(interval.stop);
    }
    ends.push_back(int64_t(flat.size() / 2));
  }
  must(writer.doubles("/units/obs_intervals", flat,
                      {int64_t(flat.size() / 2), 2}));
  must(writer.integers("/units/obs_intervals_index", ends, {units},
                       Hdf5Integer::U16));
}

inline void addTrials(Hdf5Writer &writer,
                      const std::vector<Interval> &intervals,
                      const std::vector<std::string> &split = {}) {
  std::vector<double> starts, stops;
  for (const Interval &interval : intervals) {
    starts.push_back(interval.start);
    stops.push_back(interval.stop);
  }
  int64_t count = int64_t(intervals.size());
  must(writer.doubles("/intervals/trials/start_time", starts, {count}));
  must(writer.doubles("/intervals/trials/stop_time", stops, {count}));
  if (!split.empty())
    must(writer.strings("/intervals/trials/split", split));
}

/// A series with timestamps; values are rows × 2.
inline void addSeries(Hdf5Writer &writer, const std::string &path,
                      const std::vector<double> &times,
                      const std::vector<double> &values) {
  int64_t rows = int64_t(times.size());
  must(writer.doubles(path + "/data", values,
                      {rows, rows > 0 ? int64_t(values.size()) / rows : 2}));
  must(writer.attribute(path + "/data", "unit", "mm/s"));
  must(writer.doubles(path + "/timestamps", times, {rows}));
}

} // namespace betz::test
