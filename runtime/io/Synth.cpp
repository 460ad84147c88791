#include "runtime/io/Synth.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Progress.h"
#include "runtime/io/Hdf5.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

namespace betz {
namespace {

constexpr int64_t kDirections = 8;
/// Speed at which a unit's tuning depths are stated.
constexpr double kReferenceSpeed = 500;
constexpr const char *kEpoch = "2020-01-01T00:00:00+00:00";

/// SplitMix64. Each unit, trial and purpose has its own stream, so that no
/// number depends on how much another part draws.
class Random {
public:
  Random(uint64_t seed, uint64_t purpose, uint64_t index, uint64_t inner = 0)
      : state(seed) {
    for (uint64_t part : {purpose, index, inner})
      state = next() ^ (part * 0xd1342543de82ef95u);
  }
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// [0, 1).
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  double between(double low, double high) {
    return low + (high - low) * uniform();
  }
  int64_t whole(int64_t low, int64_t high) {
    return low + int64_t(next() % uint64_t(high - low + 1));
  }
  double exponential() { return -std::log1p(-uniform()); }

private:
  uint64_t state;
};

enum Purpose : uint64_t { kTrialShape = 1, kSplit, kTuning, kHeldOut, kSpikes };

/// All times but startMs in milliseconds from the trial's start.
struct Trial {
  int64_t startMs;
  int64_t durationMs;
  int64_t targetOnMs;
  int64_t goMs;
  int64_t onsetMs;
  int64_t moveMs;
  int64_t direction;
  double distance; // mm

  double angle() const {
    return 2 * std::numbers::pi * double(direction) / double(kDirections);
  }
  double seconds(int64_t ms) const { return double(startMs + ms) / 1000; }
  double peakSpeed() const {
    return 1.875 * distance / (double(moveMs) / 1000);
  }
  /// Minimum jerk; mm/s along the direction, and mm from the centre.
  double speed(double ms) const {
    double x = std::clamp((ms - double(onsetMs)) / double(moveMs), 0.0, 1.0);
    return peakSpeed() * 16 * x * x * (1 - x) * (1 - x);
  }
  double reached(double ms) const {
    double x = std::clamp((ms - double(onsetMs)) / double(moveMs), 0.0, 1.0);
    return distance * x * x * x * (10 + x * (6 * x - 15));
  }
};

/// rate = base + (depth cos(direction - preferred) + gain) speed / reference,
/// in Hz, not below zero.
struct Tuning {
  double base;
  double depth;
  double gain;
  double preferred; // radians
  double leadMs;
};

std::vector<Trial> makeTrials(const SynthSpec &spec) {
  std::vector<Trial> trials;
  int64_t startMs = 0;
  for (int64_t i = 0; i < spec.trials; ++i) {
    Random random(spec.seed, kTrialShape, uint64_t(i));
    Trial trial;
    trial.startMs = startMs;
    trial.targetOnMs = random.whole(300, 500);
    trial.goMs = trial.targetOnMs + random.whole(450, 850);
    trial.onsetMs = trial.goMs + random.whole(230, 330);
    trial.moveMs = random.whole(400, 550);
    trial.durationMs = trial.onsetMs + trial.moveMs + random.whole(1000, 1200);
    trial.direction = random.whole(0, kDirections - 1);
    trial.distance = random.between(108, 132);
    // Trials start on a grid of 0.1 s, as in the files imitated.
    int64_t next = startMs + trial.durationMs + random.whole(200, 600);
    startMs = (next + 99) / 100 * 100;
    trials.push_back(trial);
  }
  return trials;
}

Tuning makeTuning(const SynthSpec &spec, int64_t unit) {
  Random random(spec.seed, kTuning, uint64_t(unit));
  Tuning tuning;
  tuning.base = random.between(1, 8);
  tuning.depth = random.between(5, 30);
  tuning.gain = random.between(-3, 10);
  tuning.preferred = random.between(0, 2 * std::numbers::pi);
  tuning.leadMs = random.between(70, 130);
  return tuning;
}

/// Appends one unit's spikes in one trial, by thinning at its highest rate.
void addSpikes(const Tuning &tuning, const Trial &trial, Random random,
               std::vector<double> &times) {
  double slope = (tuning.depth * std::cos(trial.angle() - tuning.preferred) +
                  tuning.gain) /
                 kReferenceSpeed;
  double highest = tuning.base + std::max(0.0, slope * trial.peakSpeed());
  int64_t latest = -1;
  for (double ms = 0;;) {
    ms += random.exponential() * 1000 / highest;
    if (ms >= double(trial.durationMs))
      return;
    double rate = tuning.base + slope * trial.speed(ms + tuning.leadMs);
    if (random.uniform() * highest >= rate)
      continue;
    // Stored on a grid of 1 µs, each time once.
    int64_t micros = int64_t(ms * 1000);
    if (micros == latest)
      continue;
    latest = micros;
    times.push_back(double(trial.startMs * 1000 + micros) / 1e6);
  }
}

Hdf5Integer smallestUnsigned(int64_t highest) {
  if (highest <= std::numeric_limits<uint8_t>::max())
    return Hdf5Integer::U8;
  if (highest <= std::numeric_limits<uint16_t>::max())
    return Hdf5Integer::U16;
  return highest <= std::numeric_limits<uint32_t>::max() ? Hdf5Integer::U32
                                                         : Hdf5Integer::U64;
}

/// Digits of MC_Maze's unit names: array, electrode, unit on the electrode.
std::vector<int64_t> makeUnitIds(int64_t units) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < units; ++i) {
    int64_t array = 1 + i % 2, place = i / 2;
    ids.push_back(array * 1000 + (1 + place % 96) * 10 + 1 + place / 96);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

class SessionWriter {
public:
  SessionWriter(const SynthSpec &spec, Hdf5Writer &writer)
      : spec(spec), writer(writer), trials(makeTrials(spec)),
        progress("synthesizing", spec.units + spec.trials, "units and trials") {
  }

  Status writeAll() {
    BETZ_RETURN_IF_ERROR(writeRoot());
    BETZ_RETURN_IF_ERROR(writeTrials());
    BETZ_RETURN_IF_ERROR(writeUnits());
    return writeBehavior();
  }

private:
  Status describe(const std::string &path, const char *type,
                  const std::string &description);
  Status writeRoot();
  Status writeTrials();
  Status writeTrialTimes();
  Status writeUnits();
  Status writeObserved();
  Status writeBehavior();
  Status createSeries(const std::string &path, const char *type,
                      const char *unit, int64_t rows);
  std::vector<std::string> makeSplit() const;

  const SynthSpec &spec;
  Hdf5Writer &writer;
  std::vector<Trial> trials;
  Progress progress;
};

Status SessionWriter::describe(const std::string &path, const char *type,
                               const std::string &description) {
  // Stands for a UUID; the same for the same place and seed.
  uint64_t high = hashBytes(path, spec.seed), low = hashBytes(path, ~high);
  std::string id = toHex(high) + toHex(low);
  for (size_t at : {8, 13, 18, 23})
    id.insert(at, "-");
  BETZ_RETURN_IF_ERROR(writer.attribute(path, "namespace", "core"));
  BETZ_RETURN_IF_ERROR(writer.attribute(path, "neurodata_type", type));
  BETZ_RETURN_IF_ERROR(writer.attribute(path, "object_id", id));
  if (description.empty())
    return Status::ok();
  return writer.attribute(path, "description", description);
}

Status SessionWriter::writeRoot() {
  BETZ_RETURN_IF_ERROR(describe("/", "NWBFile", ""));
  BETZ_RETURN_IF_ERROR(writer.attribute("/", "nwb_version", "2.4.0"));
  for (const char *group : {"/acquisition", "/analysis", "/general",
                            "/stimulus/presentation", "/stimulus/templates"})
    BETZ_RETURN_IF_ERROR(writer.group(group));
  BETZ_RETURN_IF_ERROR(writer.text(
      "/identifier", fmt::format("betz-synth-seed{}-trials{}-units{}",
                                 spec.seed, spec.trials, spec.units)));
  BETZ_RETURN_IF_ERROR(writer.text(
      "/session_description", "synthesized centre-out reaching, not recorded"));
  BETZ_RETURN_IF_ERROR(writer.text("/session_start_time", kEpoch));
  BETZ_RETURN_IF_ERROR(writer.text("/timestamps_reference_time", kEpoch));
  BETZ_RETURN_IF_ERROR(writer.strings("/file_create_date", {kEpoch}));
  return writer.text("/general/session_id", "synthetic");
}

/// Exactly 60/20/20, in random order.
std::vector<std::string> SessionWriter::makeSplit() const {
  size_t count = trials.size();
  std::vector<std::string> split(count, "train");
  for (size_t i = 0; i < count; ++i)
    if (i * 10 >= count * 6)
      split[i] = i * 10 < count * 8 ? "val" : "test";
  Random random(spec.seed, kSplit, 0);
  for (size_t i = count; i > 1; --i)
    std::swap(split[i - 1], split[random.next() % i]);
  return split;
}

Status SessionWriter::writeTrialTimes() {
  struct Column {
    const char *name;
    int64_t Trial::*ms;
  };
  std::vector<double> times;
  auto store = [&](const char *name) {
    return writer.doubles(fmt::format("/intervals/trials/{}", name), times,
                          {spec.trials});
  };
  for (Column column : {Column{"stop_time", &Trial::durationMs},
                        Column{"target_on_time", &Trial::targetOnMs},
                        Column{"go_cue_time", &Trial::goMs},
                        Column{"move_onset_time", &Trial::onsetMs}}) {
    times.clear();
    for (const Trial &trial : trials)
      times.push_back(trial.seconds(trial.*column.ms));
    BETZ_RETURN_IF_ERROR(store(column.name));
  }
  times.clear();
  for (const Trial &trial : trials)
    times.push_back(trial.seconds(0));
  return store("start_time");
}

Status SessionWriter::writeTrials() {
  std::string table = "/intervals/trials";
  BETZ_RETURN_IF_ERROR(writer.group(table));
  BETZ_RETURN_IF_ERROR(describe(table, "TimeIntervals", "reaches"));
  BETZ_RETURN_IF_ERROR(writer.attribute(
      table, "colnames",
      std::vector<std::string>{"start_time", "stop_time", "target_on_time",
                               "go_cue_time", "move_onset_time", "direction",
                               "success", "split"}));
  std::vector<int64_t> ids(trials.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<int64_t> directions;
  for (const Trial &trial : trials)
    directions.push_back(trial.direction);
  BETZ_RETURN_IF_ERROR(writer.integers(table + "/id", ids, {spec.trials}));
  BETZ_RETURN_IF_ERROR(writeTrialTimes());
  BETZ_RETURN_IF_ERROR(
      writer.integers(table + "/direction", directions, {spec.trials}));
  BETZ_RETURN_IF_ERROR(
      writer.bools(table + "/success", std::vector<bool>(trials.size(), true)));
  return writer.strings(table + "/split", makeSplit());
}

Status SessionWriter::writeObserved() {
  std::vector<double> block;
  for (const Trial &trial : trials) {
    block.push_back(trial.seconds(0));
    block.push_back(trial.seconds(trial.durationMs));
  }
  std::vector<int64_t> ends;
  std::string path = "/units/obs_intervals";
  BETZ_RETURN_IF_ERROR(
      writer.createDoubles(path, {spec.units * spec.trials, 2}));
  for (int64_t unit = 0; unit < spec.units; ++unit) {
    BETZ_RETURN_IF_ERROR(writer.writeRows(path, unit * spec.trials, block));
    ends.push_back((unit + 1) * spec.trials);
  }
  return writer.integers(path + "_index", ends, {spec.units},
                         smallestUnsigned(ends.back()));
}

Status SessionWriter::writeUnits() {
  BETZ_RETURN_IF_ERROR(writer.group("/units"));
  BETZ_RETURN_IF_ERROR(describe("/units", "Units", "synthesized units"));
  BETZ_RETURN_IF_ERROR(writer.attribute(
      "/units", "colnames",
      std::vector<std::string>{"heldout", "spike_times", "obs_intervals"}));
  BETZ_RETURN_IF_ERROR(
      writer.integers("/units/id", makeUnitIds(spec.units), {spec.units}));
  std::vector<double> times;
  std::vector<int64_t> ends;
  std::vector<bool> heldOut;
  for (int64_t unit = 0; unit < spec.units; ++unit) {
    Tuning tuning = makeTuning(spec, unit);
    for (size_t trial = 0; trial < trials.size(); ++trial)
      addSpikes(tuning, trials[trial],
                Random(spec.seed, kSpikes, uint64_t(unit), trial), times);
    ends.push_back(int64_t(times.size()));
    heldOut.push_back(Random(spec.seed, kHeldOut, uint64_t(unit)).uniform() <
                      0.25);
    progress.update(unit + 1);
  }
  BETZ_RETURN_IF_ERROR(writer.bools("/units/heldout", heldOut));
  BETZ_RETURN_IF_ERROR(
      writer.doubles("/units/spike_times", times, {int64_t(times.size())}));
  BETZ_RETURN_IF_ERROR(writer.integers("/units/spike_times_index", ends,
                                       {spec.units},
                                       smallestUnsigned(ends.back())));
  return writeObserved();
}

Status SessionWriter::createSeries(const std::string &path, const char *type,
                                   const char *unit, int64_t rows) {
  BETZ_RETURN_IF_ERROR(writer.group(path));
  BETZ_RETURN_IF_ERROR(
      describe(path, type, fmt::format("x and y of the hand, {}", unit)));
  BETZ_RETURN_IF_ERROR(writer.attribute(path, "comments", "columns=[x,y]"));
  std::string data = path + "/data", times = path + "/timestamps";
  BETZ_RETURN_IF_ERROR(writer.createDoubles(data, {rows, 2}));
  BETZ_RETURN_IF_ERROR(writer.attribute(data, "unit", unit));
  BETZ_RETURN_IF_ERROR(writer.attribute(data, "conversion", 1.0));
  BETZ_RETURN_IF_ERROR(writer.attribute(data, "resolution", -1.0));
  BETZ_RETURN_IF_ERROR(writer.createDoubles(times, {rows}));
  BETZ_RETURN_IF_ERROR(writer.attribute(times, "interval", 1.0));
  return writer.attribute(times, "unit", "seconds");
}

Status SessionWriter::writeBehavior() {
  const std::string group = "/processing/behavior";
  const std::string position = group + "/hand_pos",
                    velocity = group + "/hand_vel";
  BETZ_RETURN_IF_ERROR(writer.group(group));
  BETZ_RETURN_IF_ERROR(
      describe(group, "ProcessingModule", "synthesized hand movement"));
  int64_t rows = 0;
  for (const Trial &trial : trials)
    rows += trial.durationMs;
  BETZ_RETURN_IF_ERROR(createSeries(position, "SpatialSeries", "mm", rows));
  BETZ_RETURN_IF_ERROR(createSeries(velocity, "TimeSeries", "mm/s", rows));
  std::vector<double> times, positions, velocities;
  int64_t first = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    const Trial &trial = trials[i];
    double x = std::cos(trial.angle()), y = std::sin(trial.angle());
    times.clear();
    positions.clear();
    velocities.clear();
    for (int64_t ms = 0; ms < trial.durationMs; ++ms) {
      double speed = trial.speed(double(ms)),
             reached = trial.reached(double(ms));
      times.push_back(trial.seconds(ms));
      positions.insert(positions.end(), {reached * x, reached * y});
      velocities.insert(velocities.end(), {speed * x, speed * y});
    }
    for (const std::string &series : {position, velocity})
      BETZ_RETURN_IF_ERROR(
          writer.writeRows(series + "/timestamps", first, times));
    BETZ_RETURN_IF_ERROR(
        writer.writeRows(position + "/data", first, positions));
    BETZ_RETURN_IF_ERROR(
        writer.writeRows(velocity + "/data", first, velocities));
    first += trial.durationMs;
    progress.update(spec.units + int64_t(i) + 1);
  }
  return Status::ok();
}

} // namespace

Status synthesizeSession(const SynthSpec &spec,
                         const std::filesystem::path &path) {
  if (spec.trials < 1 || spec.trials > kMaxSynthTrials)
    return invalidArgument(
        fmt::format("{} trials: give 1 to {}", spec.trials, kMaxSynthTrials));
  if (spec.units < 1 || spec.units > kMaxSynthUnits)
    return invalidArgument(
        fmt::format("{} units: give 1 to {}", spec.units, kMaxSynthUnits));
  return writeHdf5(path, [&](Hdf5Writer &writer) {
    return SessionWriter(spec, writer).writeAll();
  });
}

} // namespace betz
