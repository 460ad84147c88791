#include "runtime/io/Windows.h"
#include "runtime/base/Json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace betz {
namespace {

constexpr double kEpsilonMs = 0.5e-6;
/// Further than any segment reaches, so that absurd times stay countable.
constexpr double kFarBins = 1e15;
/// Named in a warning before "and N more".
constexpr size_t kNamedUnits = 8;

/// Collects ids and says how many were too many to name.
class IdList {
public:
  void add(int64_t id) {
    if (count++ < kNamedUnits)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", id);
  }
  bool isEmpty() const { return count == 0; }
  size_t size() const { return count; }
  std::string str() const {
    return count <= kNamedUnits
               ? text
               : fmt::format("{} and {} more", text, count - kNamedUnits);
  }

private:
  std::string text;
  size_t count = 0;
};

Status checkSpec(const WindowSpec &spec) {
  if (!std::isfinite(spec.binMs) || spec.binMs <= 0)
    return invalidArgument(
        fmt::format("a bin of {} ms: give a positive number", spec.binMs));
  if (spec.windowBins < 1 || spec.strideBins < 1 || spec.valueBuckets < 1)
    return invalidArgument(fmt::format(
        "windows of {} bins at a stride of {} bins with {} value buckets: each "
        "must be at least 1",
        spec.windowBins, spec.strideBins, spec.valueBuckets));
  return Status::ok();
}

int64_t countWindows(int64_t bins, const WindowSpec &spec) {
  int64_t free = bins - (spec.padStart ? 1 : spec.windowBins);
  return free < 0 ? 0 : free / spec.strideBins + 1;
}

} // namespace

int64_t binOf(double seconds, double origin, double binMs) {
  double ms = (seconds - origin) * 1000;
  double bin = std::floor(ms / binMs);
  // Round, then floor: the next bin's start may be a rounding error away.
  if ((bin + 1) * binMs - ms <= kEpsilonMs)
    bin += 1;
  return static_cast<int64_t>(std::clamp(bin, -kFarBins, kFarBins));
}

//===- Units --------------------------------------------------------------===//

Result<UnitMap> UnitMap::parse(std::string_view json) {
  BETZ_ASSIGN_OR_RETURN(Json table, parseJson(json));
  if (!table.is_object())
    return dataLoss("the unit table is not an object {\"unit id\": neuron}");
  UnitMap map;
  for (const auto &[key, value] : table.items()) {
    int64_t id = 0;
    auto [end, error] =
        std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size())
      return dataLoss(
          fmt::format("the unit table names \"{}\", not a unit id", key));
    if (!value.is_number_unsigned() || value.get<uint64_t>() > INT32_MAX)
      return dataLoss(fmt::format("the unit table gives unit {} the neuron {}",
                                  id, value.dump()));
    map.neuronOfUnit[id] = value.get<int32_t>();
  }
  return map;
}

Result<NeuronTable> assignNeurons(const Units &units, const UnitMap *map,
                                  int32_t maxNeurons, bool strict) {
  NeuronTable table;
  IdList unknown, tooHigh;
  for (int64_t row = 0; row < units.count(); ++row) {
    int64_t id = units.ids[size_t(row)];
    int64_t neuron = row;
    if (map) {
      auto it = map->neuronOfUnit.find(id);
      neuron = it == map->neuronOfUnit.end() ? -1 : it->second;
    }
    if (neuron < 0)
      unknown.add(id);
    else if (neuron >= maxNeurons)
      tooHigh.add(id);
    bool known = neuron >= 0 && neuron < maxNeurons;
    table.neuronOfRow.push_back(known ? int32_t(neuron) : -1);
  }
  if (!unknown.isEmpty())
    table.warnings.push_back(fmt::format(
        "{} of {} units are not in the model's unit table and are left out: {}",
        unknown.size(), units.count(), unknown.str()));
  if (!tooHigh.isEmpty())
    table.warnings.push_back(
        fmt::format("{} of {} units are left out because the model has only {} "
                    "neurons: {}",
                    tooHigh.size(), units.count(), maxNeurons, tooHigh.str()));
  if (strict && !table.warnings.empty())
    return invalidArgument(table.warnings.front());
  return table;
}

//===- Index --------------------------------------------------------------===//

Result<WindowIndex> WindowIndex::build(std::vector<Interval> segments,
                                       const WindowSpec &spec) {
  BETZ_RETURN_IF_ERROR(checkSpec(spec));
  WindowIndex index;
  index.windowSpec = spec;
  index.intervals = std::move(segments);
  int64_t windows = 0;
  for (const Interval &segment : index.intervals) {
    if (segment.seconds() * 1000 / spec.binMs > INT32_MAX)
      return invalidArgument(fmt::format(
          "{:.3f} s without a gap are more than {} bins of {} ms; take longer "
          "bins",
          segment.seconds(), INT32_MAX, spec.binMs));
    int64_t bins = binOf(segment.stop, segment.start, spec.binMs);
    index.binCounts.push_back(bins);
    windows += countWindows(bins, spec);
    index.ends.push_back(windows);
  }
  return index;
}

Window WindowIndex::at(int64_t index) const {
  auto end = std::upper_bound(ends.begin(), ends.end(), index);
  Window window;
  window.segment = end - ends.begin();
  int64_t before = end == ends.begin() ? 0 : *std::prev(end);
  window.firstBin = (index - before) * windowSpec.strideBins;
  if (windowSpec.padStart)
    window.firstBin -= windowSpec.windowBins - 1;
  double origin = intervals[size_t(window.segment)].start;
  double binSeconds = windowSpec.binMs / 1000;
  int64_t endBin = window.firstBin + windowSpec.windowBins;
  window.start = origin + double(window.firstBin) * binSeconds;
  window.stop = origin + double(endBin) * binSeconds;
  window.target = origin + (double(endBin) - 0.5) * binSeconds;
  return window;
}

//===- Targets ------------------------------------------------------------===//

/// The rows that a window's target averages: those inside its last bin, else
/// the one nearest to the bin if it is at most half a bin outside.
TargetReader::Range TargetReader::rowsOf(const Window &window) const {
  const std::vector<double> &time = behavior->time;
  double binMs = index->spec().binMs;
  double origin = index->segments()[size_t(window.segment)].start;
  int64_t lastBin = window.firstBin + index->spec().windowBins - 1;
  auto bin = [&](double seconds) { return binOf(seconds, origin, binMs); };
  auto first = std::partition_point(time.begin(), time.end(),
                                    [&](double t) { return bin(t) < lastBin; });
  auto last = std::partition_point(first, time.end(),
                                   [&](double t) { return bin(t) <= lastBin; });
  auto toRange = [&](auto begin, auto end) {
    return Range{begin - time.begin(), end - time.begin()};
  };
  if (first != last)
    return toRange(first, last);
  double reach = binMs / 1000;
  double before =
      first == time.begin() ? reach + 1 : window.target - *std::prev(first);
  double after = last == time.end() ? reach + 1 : *last - window.target;
  if (std::min(before, after) > reach)
    return toRange(first, first);
  return before <= after ? toRange(std::prev(first), first)
                         : toRange(last, std::next(last));
}

void TargetReader::read(const Window &window, std::span<float> target) const {
  Range rows = rowsOf(window);
  std::vector<double> sums(target.size(), 0.0);
  int64_t used = 0;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    if (behavior->isMissing(row))
      continue;
    for (size_t column = 0; column < sums.size(); ++column)
      sums[column] += behavior->values[size_t(row) * sums.size() + column];
    ++used;
  }
  for (size_t column = 0; column < sums.size(); ++column)
    target[column] = used > 0 ? float(sums[column] / double(used))
                              : std::numeric_limits<float>::quiet_NaN();
}

//===- Reader -------------------------------------------------------------===//

WindowReader::WindowReader(const WindowIndex &index, const Units &units,
                           std::span<const int32_t> neuronOfRow,
                           const Series *behavior)
    : index(index) {
  if (behavior)
    targets.emplace(index, *behavior);
  std::vector<uint64_t> scratch;
  for (size_t segment = 0; segment < index.segments().size(); ++segment) {
    binSegment(int64_t(segment), units, neuronOfRow, scratch);
    segmentEnds.push_back(int64_t(bins.size()));
  }
}

/// Appends one segment's events. Each spike becomes a (bin, row) key; sorted,
/// equal keys are one event.
void WindowReader::binSegment(int64_t segment, const Units &units,
                              std::span<const int32_t> neuronOfRow,
                              std::vector<uint64_t> &scratch) {
  const Interval &interval = index.segments()[size_t(segment)];
  const int64_t binCount = index.bins(segment);
  const int32_t maxValue = index.spec().valueBuckets - 1;
  scratch.clear();
  for (int64_t row = 0; row < units.count(); ++row) {
    if (neuronOfRow[size_t(row)] < 0)
      continue;
    std::span<const double> spikes = units.spikes(row);
    auto spike = std::lower_bound(spikes.begin(), spikes.end(),
                                  interval.start - kEpsilonMs / 1000);
    for (; spike != spikes.end(); ++spike) {
      int64_t bin = binOf(*spike, interval.start, index.spec().binMs);
      if (bin >= binCount)
        break;
      if (bin >= 0)
        scratch.push_back(uint64_t(bin) << 32 | uint64_t(row));
    }
  }
  std::sort(scratch.begin(), scratch.end());
  for (size_t i = 0; i < scratch.size();) {
    size_t run = i;
    while (run < scratch.size() && scratch[run] == scratch[i])
      ++run;
    bins.push_back(int32_t(scratch[i] >> 32));
    neurons.push_back(neuronOfRow[size_t(uint32_t(scratch[i]))]);
    values.push_back(int32_t(std::min<size_t>(run - i, size_t(maxValue))));
    i = run;
  }
}

WindowReader::Range WindowReader::eventsOf(const Window &window) const {
  size_t segment = size_t(window.segment);
  auto first = bins.begin() + (segment == 0 ? 0 : segmentEnds[segment - 1]);
  auto last = bins.begin() + segmentEnds[segment];
  auto begin = std::lower_bound(first, last, window.firstBin);
  auto end =
      std::lower_bound(begin, last, window.firstBin + index.spec().windowBins);
  return {begin - bins.begin(), end - bins.begin()};
}

int64_t WindowReader::eventsIn(int64_t window) const {
  Range events = eventsOf(index.at(window));
  return events.end - events.begin;
}

EventView WindowReader::events(int64_t window) const {
  Range range = eventsOf(index.at(window));
  auto part = [&](const std::vector<int32_t> &all) {
    return std::span(all).subspan(size_t(range.begin),
                                  size_t(range.end - range.begin));
  };
  return {part(bins), part(neurons), part(values)};
}

int64_t WindowReader::targetColumns() const {
  return targets ? targets->columns() : 0;
}

Status WindowReader::read(std::span<const int64_t> windows,
                          WindowBatch &batch) const {
  batch.neuronId.clear();
  batch.timeBin.clear();
  batch.value.clear();
  batch.target.clear();
  batch.rowSplits.assign(1, 0);
  for (int64_t number : windows) {
    Window window = index.at(number);
    Range events = eventsOf(window);
    if (int64_t(batch.value.size()) + events.end - events.begin > INT32_MAX)
      return invalidArgument(fmt::format(
          "{} windows hold more than {} events; read fewer at a time",
          windows.size(), INT32_MAX));
    for (int64_t event = events.begin; event < events.end; ++event)
      batch.timeBin.push_back(int32_t(bins[size_t(event)] - window.firstBin));
    batch.neuronId.insert(batch.neuronId.end(), neurons.begin() + events.begin,
                          neurons.begin() + events.end);
    batch.value.insert(batch.value.end(), values.begin() + events.begin,
                       values.begin() + events.end);
    batch.rowSplits.push_back(int32_t(batch.value.size()));
    if (targets) {
      size_t columns = size_t(targets->columns());
      batch.target.resize(batch.target.size() + columns);
      targets->read(window, std::span(batch.target).last(columns));
    }
  }
  return Status::ok();
}

} // namespace betz
