#include "runtime/io/NwbUnits.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <set>

namespace betz {
namespace {

constexpr const char *kUnits = "/units";

class UnitsReader {
public:
  UnitsReader(const Hdf5File &file, Units &units,
              std::vector<std::string> &warnings)
      : file(file), units(units), warnings(warnings) {}

  Status readIds();
  Status readHeldOut();
  Status readSpikes();
  Status readObserved();

private:
  std::string at(std::string_view column) const {
    return fmt::format("{}/{}", kUnits, column);
  }
  Status broken(std::string_view column, std::string_view text) const {
    return dataLoss(file.locate(
        at(column), fmt::format("{}; the file is damaged or was written "
                                "wrongly",
                                text)));
  }
  Result<bool> has(std::string_view column) const {
    BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(at(column)));
    return kind == Hdf5Kind::Dataset;
  }
  Result<std::vector<int64_t>> readEnds(const std::string &column,
                                        int64_t dataRows) const;
  void sortSpikes();
  void dropNonFinite();
  void keepIntervals(const std::vector<double> &flat);

  const Hdf5File &file;
  Units &units;
  std::vector<std::string> &warnings;
};

Status UnitsReader::readIds() {
  for (const char *column : {"id", "spike_times_index"}) {
    BETZ_ASSIGN_OR_RETURN(bool present, has(column));
    if (!present)
      continue;
    BETZ_ASSIGN_OR_RETURN(Hdf5Info info, file.info(at(column)));
    if (info.shape.size() != 1)
      return broken(column, "is not one value a unit");
    BETZ_ASSIGN_OR_RETURN(units.ids, file.readIntegers(at(column)));
    if (std::string_view(column) == "id")
      break;
    for (size_t row = 0; row < units.ids.size(); ++row)
      units.ids[row] = int64_t(row);
    warnings.push_back("/units/id is missing: units are named by their row");
  }
  std::set<int64_t> distinct(units.ids.begin(), units.ids.end());
  if (distinct.size() != units.ids.size())
    warnings.push_back("/units/id names some units twice");
  return Status::ok();
}

Status UnitsReader::readHeldOut() {
  units.heldOut.assign(units.ids.size(), false);
  BETZ_ASSIGN_OR_RETURN(bool present, has("heldout"));
  if (!present)
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(std::vector<int64_t> flags,
                        file.readIntegers(at("heldout")));
  if (flags.size() != units.ids.size())
    return broken("heldout", fmt::format("has {} rows for {} units",
                                         flags.size(), units.ids.size()));
  for (size_t row = 0; row < flags.size(); ++row)
    units.heldOut[row] = flags[row] != 0;
  return Status::ok();
}

/// Cumulative ends of `column`'s rows: one a unit, never falling, the last one
/// the data's length.
Result<std::vector<int64_t>> UnitsReader::readEnds(const std::string &column,
                                                   int64_t dataRows) const {
  std::string index = column + "_index";
  BETZ_ASSIGN_OR_RETURN(bool present, has(index));
  if (!present && units.ids.size() == 1)
    return std::vector<int64_t>{dataRows};
  if (!present)
    return broken(index, fmt::format("is missing, so that {} cannot be divided "
                                     "among {} units",
                                     column, units.ids.size()));
  BETZ_ASSIGN_OR_RETURN(Hdf5Info info, file.info(at(index)));
  if (info.shape.size() != 1)
    return broken(index,
                  fmt::format("has shape {}, not one end a unit", info.shape));
  BETZ_ASSIGN_OR_RETURN(std::vector<int64_t> ends,
                        file.readIntegers(at(index)));
  if (ends.size() != units.ids.size())
    return broken(index, fmt::format("has {} rows for {} units", ends.size(),
                                     units.ids.size()));
  int64_t before = 0;
  for (size_t row = 0; row < ends.size(); ++row) {
    if (ends[row] < before)
      return broken(index, fmt::format("falls from {} to {} at row {}", before,
                                       ends[row], row));
    if (ends[row] > dataRows)
      return broken(index, fmt::format("row {} ends at {}, past the {} rows of "
                                       "{}",
                                       row, ends[row], dataRows, column));
    before = ends[row];
  }
  if (before != dataRows)
    return broken(index, fmt::format("ends at {} but {} has {} rows", before,
                                     column, dataRows));
  return ends;
}

void UnitsReader::dropNonFinite() {
  int64_t kept = 0, begin = 0;
  for (int64_t &end : units.spikeEnds) {
    for (int64_t i = begin; i < end; ++i)
      if (std::isfinite(units.spikeTimes[size_t(i)]))
        units.spikeTimes[size_t(kept++)] = units.spikeTimes[size_t(i)];
    begin = std::exchange(end, kept);
  }
  size_t dropped = units.spikeTimes.size() - size_t(kept);
  units.spikeTimes.resize(size_t(kept));
  if (dropped > 0)
    warnings.push_back(fmt::format(
        "/units/spike_times: {} spike times are not numbers and are left out",
        dropped));
}

void UnitsReader::sortSpikes() {
  int64_t begin = 0;
  size_t unsorted = 0;
  for (int64_t end : units.spikeEnds) {
    auto first = units.spikeTimes.begin() + std::exchange(begin, end);
    auto last = units.spikeTimes.begin() + end;
    if (!std::is_sorted(first, last)) {
      std::sort(first, last);
      ++unsorted;
    }
  }
  if (unsorted > 0)
    warnings.push_back(fmt::format(
        "/units/spike_times: the spikes of {} units were not in order of time "
        "and have been sorted",
        unsorted));
}

Status UnitsReader::readSpikes() {
  BETZ_ASSIGN_OR_RETURN(bool present, has("spike_times"));
  if (!present) {
    units.haveSpikes = false;
    units.spikeEnds.assign(units.ids.size(), 0);
    if (!units.ids.empty())
      warnings.push_back("/units/spike_times is missing: no unit has spikes");
    return Status::ok();
  }
  BETZ_ASSIGN_OR_RETURN(Hdf5Info info, file.info(at("spike_times")));
  if (info.shape.size() != 1)
    return broken("spike_times", fmt::format("has shape {}, not one row of "
                                             "times",
                                             info.shape));
  BETZ_ASSIGN_OR_RETURN(units.spikeEnds, readEnds("spike_times", info.rows()));
  BETZ_ASSIGN_OR_RETURN(units.spikeTimes, file.readDoubles(at("spike_times")));
  dropNonFinite();
  sortSpikes();
  return Status::ok();
}

void UnitsReader::keepIntervals(const std::vector<double> &flat) {
  std::vector<Interval> intervals;
  for (size_t i = 0; i + 1 < flat.size(); i += 2)
    if (flat[i + 1] > flat[i])
      intervals.push_back({flat[i], flat[i + 1]});
  if (intervals.size() * 2 != flat.size())
    warnings.push_back(fmt::format(
        "/units/obs_intervals: {} intervals do not end after they start and "
        "are left out",
        flat.size() / 2 - intervals.size()));
  std::sort(
      intervals.begin(), intervals.end(),
      [](const Interval &a, const Interval &b) { return a.start < b.start; });
  for (const Interval &interval : intervals) {
    if (!units.observed.empty() && interval.start < units.observed.back().stop)
      units.observed.back().stop =
          std::max(units.observed.back().stop, interval.stop);
    else
      units.observed.push_back(interval);
  }
}

Status UnitsReader::readObserved() {
  BETZ_ASSIGN_OR_RETURN(bool present, has("obs_intervals"));
  if (!present || units.ids.empty())
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(Hdf5Info info, file.info(at("obs_intervals")));
  if (info.shape.size() != 2 || info.shape[1] != 2)
    return broken("obs_intervals",
                  fmt::format("has shape {}, not (intervals, 2)", info.shape));
  BETZ_ASSIGN_OR_RETURN(std::vector<int64_t> ends,
                        readEnds("obs_intervals", info.rows()));
  bool equal = true;
  for (size_t row = 1; row < ends.size(); ++row)
    equal &= ends[row] - ends[row - 1] == ends[0];
  if (!equal)
    warnings.push_back("/units/obs_intervals differ between units: those of "
                       "the first unit are taken for all");
  BETZ_ASSIGN_OR_RETURN(std::vector<double> flat,
                        file.readRows(at("obs_intervals"), 0, ends[0]));
  keepIntervals(flat);
  return Status::ok();
}

/// Spikes that reach far past the last trial are in milliseconds or samples: a
/// session's trials do not end after a thousandth of it.
Status checkSeconds(const Hdf5File &file, const Trials &trials,
                    const Units &units, std::vector<std::string> &warnings) {
  double lastTrial = 0;
  for (int64_t row : trials.order)
    lastTrial = std::max(lastTrial, trials.times[size_t(row)].stop);
  for (const Interval &interval : units.observed)
    lastTrial = std::max(lastTrial, interval.stop);
  if (lastTrial <= 0 || units.spikeTimes.empty())
    return Status::ok();
  double lastSpike =
      *std::max_element(units.spikeTimes.begin(), units.spikeTimes.end());
  double ratio = lastSpike / lastTrial;
  if (ratio > 10 && ratio < 300)
    warnings.push_back(fmt::format(
        "/units/spike_times reach {:.1f} s but the last trial ends at {:.1f} "
        "s: most of the recording lies outside its trials",
        lastSpike, lastTrial));
  if (ratio < 300)
    return Status::ok();
  return dataLoss(file.locate(
      "/units/spike_times",
      fmt::format("reach {:.6g} but the last trial ends at {:.6g} s: they look "
                  "like {}; rewrite them in seconds",
                  lastSpike, lastTrial,
                  ratio < 3000 ? "milliseconds" : "samples or microseconds")));
}

} // namespace

Status readUnits(const Hdf5File &file, const Trials &trials, Units &units,
                 std::vector<std::string> &warnings) {
  BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(kUnits));
  UnitsReader reader(file, units, warnings);
  if (kind == Hdf5Kind::Group)
    BETZ_RETURN_IF_ERROR(reader.readIds());
  if (units.ids.empty()) {
    warnings.push_back("/units is missing or empty: there are no spikes");
    return Status::ok();
  }
  BETZ_RETURN_IF_ERROR(reader.readHeldOut());
  BETZ_RETURN_IF_ERROR(reader.readSpikes());
  BETZ_RETURN_IF_ERROR(reader.readObserved());
  return checkSeconds(file, trials, units, warnings);
}

std::span<const double> Units::spikes(int64_t row) const {
  int64_t begin = row == 0 ? 0 : spikeEnds[size_t(row) - 1];
  return std::span(spikeTimes)
      .subspan(size_t(begin), size_t(spikeEnds[size_t(row)] - begin));
}

} // namespace betz
