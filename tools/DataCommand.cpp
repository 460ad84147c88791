// `data inspect`: what a recording holds and what windows come of it.
// `data synth`: a recording made up.
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "runtime/base/Progress.h"
#include "runtime/io/Nwb.h"
#include "runtime/io/Synth.h"
#include "runtime/io/Windows.h"
#include "tools/RuntimeCommands.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace betz {
namespace {

constexpr size_t kGapsShown = 10;

struct InspectOptions {
  std::string file;
  std::string behavior;
  std::string series;
  double binMs = 5;
  double windowMs = 600;
  int32_t windowBins = 0;
  double strideMs = 50;
  std::string json;
};

/// Five places in a sorted list of numbers.
struct Spread {
  double min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;

  static Spread of(std::vector<double> values) {
    if (values.empty())
      return {};
    std::sort(values.begin(), values.end());
    auto at = [&](double part) {
      return values[size_t(part * double(values.size() - 1) + 0.5)];
    };
    return {values.front(), at(0.5), at(0.9), at(0.99), values.back()};
  }
  Json toJson() const {
    return {
        {"min", min}, {"p50", p50}, {"p90", p90}, {"p99", p99}, {"max", max}};
  }
};

struct SeriesReport {
  SeriesInfo info;
  double rate = 0;
  int64_t missingRows = 0;
  bool isTarget = false;
};

/// All that `data inspect` says.
struct Inspection {
  Recording recording;
  std::vector<SeriesReport> series;
  Spread unitRates;
  int64_t silentUnits = 0;
  std::map<std::string, int64_t> trialsBySplit;
  Segmentation segmentation;
  std::vector<Interval> gaps;
  WindowSpec spec;
  int64_t windows = 0;
  int64_t windowsWithoutTarget = 0;
  std::map<std::string, int64_t> windowsBySplit;
  Spread events;
  std::vector<std::string> warnings;
};

/// `ms` in bins, which must come out whole.
Result<int32_t> toBins(const char *option, double ms, double binMs) {
  double bins = ms / binMs;
  if (!(bins >= 0.5) || bins > INT32_MAX ||
      std::abs(bins - std::round(bins)) > 1e-6)
    return invalidArgument(fmt::format(
        "{} {} is not a whole number of bins of {} ms", option, ms, binMs));
  return int32_t(std::lround(bins));
}

Result<WindowSpec> makeSpec(const InspectOptions &options) {
  if (!std::isfinite(options.binMs) || options.binMs <= 0)
    return invalidArgument(
        fmt::format("--bin-ms {}: give a positive number", options.binMs));
  WindowSpec spec;
  spec.binMs = options.binMs;
  spec.windowBins = options.windowBins;
  if (options.windowBins == 0) {
    BETZ_ASSIGN_OR_RETURN(
        spec.windowBins,
        toBins("--window-ms", options.windowMs, options.binMs));
  }
  BETZ_ASSIGN_OR_RETURN(spec.strideBins,
                        toBins("--stride-ms", options.strideMs, options.binMs));
  return spec;
}

/// Loads each series in turn for its rate and its missing rows; keeps the
/// target.
Result<std::optional<Series>> inspectSeries(const InspectOptions &options,
                                            Inspection &out) {
  BETZ_ASSIGN_OR_RETURN(const SeriesInfo *chosen,
                        out.recording.chooseSeries(options.series));
  if (!chosen && !out.recording.series.empty())
    out.warnings.push_back("no series is plainly the velocity: name the target "
                           "with --series");
  std::optional<Series> target;
  Progress progress("reading behaviour", int64_t(out.recording.series.size()),
                    "series");
  for (const SeriesInfo &info : out.recording.series) {
    SeriesReport report;
    report.info = info;
    report.isTarget = &info == chosen;
    Result<Series> series = loadSeries(info);
    if (!series.isOk() && report.isTarget)
      return std::move(series).status();
    if (series.isOk()) {
      double step = series->medianStep();
      report.rate = step > 0 ? 1 / step : 0;
      for (int64_t row = 0; row < info.rows; ++row)
        report.missingRows += series->isMissing(row);
      if (report.isTarget)
        target = std::move(*series);
    } else if (report.info.problem.empty()) {
      report.info.problem = series.status().message();
    }
    out.series.push_back(std::move(report));
    progress.update(int64_t(out.series.size()));
  }
  return target;
}

void inspectUnits(Inspection &out) {
  const Units &units = out.recording.units;
  double seconds = 0;
  for (const Interval &segment : out.segmentation.segments)
    seconds += segment.seconds();
  std::vector<double> rates;
  for (int64_t row = 0; row < units.count(); ++row) {
    size_t spikes = units.spikes(row).size();
    out.silentUnits += spikes == 0;
    rates.push_back(seconds > 0 ? double(spikes) / seconds : 0);
  }
  out.unitRates = Spread::of(std::move(rates));
}

void inspectWindows(const WindowIndex &index, const Series *target,
                    Inspection &out) {
  const Units &units = out.recording.units;
  std::vector<int32_t> rows(size_t(units.count()));
  std::iota(rows.begin(), rows.end(), 0);
  WindowReader reader(index, units, rows, target);
  std::vector<double> events;
  WindowBatch batch;
  Progress progress("counting events", index.size(), "windows");
  for (int64_t i = 0; i < index.size(); ++i) {
    events.push_back(double(reader.eventsIn(i)));
    if (std::optional<int64_t> trial =
            out.recording.trials.at(index.at(i).target))
      ++out.windowsBySplit[out.recording.trials.split[size_t(*trial)]];
    if (target && reader.read(std::span(&i, 1), batch).isOk())
      out.windowsWithoutTarget +=
          std::any_of(batch.target.begin(), batch.target.end(),
                      [](float value) { return std::isnan(value); });
    progress.update(i);
  }
  out.windows = index.size();
  out.events = Spread::of(std::move(events));
}

void warnOfWindows(const WindowIndex &index, Inspection &out) {
  double longest = 0;
  for (const Interval &segment : out.segmentation.segments)
    longest = std::max(longest, segment.seconds());
  if (out.windows == 0)
    out.warnings.push_back(fmt::format(
        "no window of {:g} ms fits: the longest segment has {:g} ms; take a "
        "shorter --window-ms",
        out.spec.binMs * out.spec.windowBins, longest * 1000));
  if (out.windowsWithoutTarget > 0)
    out.warnings.push_back(fmt::format(
        "{} of {} windows have no target: is the bin finer than the rows of "
        "the behaviour?",
        out.windowsWithoutTarget, out.windows));
}

Result<Inspection> inspect(const InspectOptions &options) {
  Inspection out;
  BETZ_ASSIGN_OR_RETURN(out.spec, makeSpec(options));
  BETZ_ASSIGN_OR_RETURN(out.recording,
                        Recording::open(options.file, options.behavior));
  out.warnings = out.recording.warnings;
  const Trials &trials = out.recording.trials;
  for (const std::string &split : trials.split)
    ++out.trialsBySplit[split];
  BETZ_ASSIGN_OR_RETURN(std::optional<Series> target,
                        inspectSeries(options, out));
  if (!out.recording.units.canBeDecoded())
    return out;
  const Series *behavior = target ? &*target : nullptr;
  BETZ_ASSIGN_OR_RETURN(out.segmentation,
                        findSegments(out.recording, behavior));
  const std::vector<Interval> &segments = out.segmentation.segments;
  for (size_t i = 1; i < segments.size(); ++i)
    out.gaps.push_back({segments[i - 1].stop, segments[i].start});
  inspectUnits(out);
  BETZ_ASSIGN_OR_RETURN(WindowIndex index,
                        WindowIndex::build(segments, out.spec));
  inspectWindows(index, behavior, out);
  warnOfWindows(index, out);
  return out;
}

//===- The report ---------------------------------------------------------===//

Spread lengths(const std::vector<Interval> &intervals) {
  std::vector<double> seconds;
  for (const Interval &interval : intervals)
    seconds.push_back(interval.seconds());
  return Spread::of(std::move(seconds));
}

double total(const std::vector<Interval> &intervals) {
  double seconds = 0;
  for (const Interval &interval : intervals)
    seconds += interval.seconds();
  return seconds;
}

Json toJson(const std::vector<Interval> &intervals) {
  Json list = Json::array();
  for (const Interval &interval : intervals)
    list.push_back({{"start_s", interval.start},
                    {"stop_s", interval.stop},
                    {"seconds", interval.seconds()}});
  return list;
}

Json toJson(const SeriesReport &series) {
  Json json = {{"name", series.info.name},       {"path", series.info.path},
               {"unit", series.info.unit},       {"rows", series.info.rows},
               {"columns", series.info.columns}, {"rate_hz", series.rate},
               {"nan_rows", series.missingRows}, {"target", series.isTarget}};
  if (!series.info.problem.empty())
    json["problem"] = series.info.problem;
  return json;
}

Json toJson(const Inspection &in) {
  const Units &units = in.recording.units;
  Json series = Json::array();
  for (const SeriesReport &report : in.series)
    series.push_back(toJson(report));
  int64_t heldOut =
      std::count(units.heldOut.begin(), units.heldOut.end(), true);
  return {
      {"file", in.recording.file.string()},
      {"identifier", in.recording.identifier},
      {"nwb_version", in.recording.nwbVersion},
      {"units",
       {{"count", units.count()},
        {"held_out", heldOut},
        {"silent", in.silentUnits},
        {"spikes", units.spikeTimes.size()},
        {"rate_hz", in.unitRates.toJson()},
        {"ids", units.ids}}},
      {"trials",
       {{"count", in.recording.trials.count()}, {"split", in.trialsBySplit}}},
      {"series", std::move(series)},
      {"segments",
       {{"count", in.segmentation.segments.size()},
        {"source", in.segmentation.source},
        {"seconds", total(in.segmentation.segments)}}},
      {"gaps", toJson(in.gaps)},
      {"windows",
       {{"count", in.windows},
        {"bin_ms", in.spec.binMs},
        {"window_bins", in.spec.windowBins},
        {"stride_bins", in.spec.strideBins},
        {"split", in.windowsBySplit},
        {"without_target", in.windowsWithoutTarget},
        {"events", in.events.toJson()}}},
      {"warnings", in.warnings}};
}

std::string splitText(const std::map<std::string, int64_t> &bySplit) {
  std::string text;
  for (const auto &[name, count] : bySplit)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        name.empty() ? "without split" : name, count);
  return text.empty() ? "none" : text;
}

void printUnits(const Inspection &in) {
  const Units &units = in.recording.units;
  fmt::print("\nUnits     {}", units.count());
  if (!units.canBeDecoded()) {
    fmt::print("\n");
    return;
  }
  auto [lowest, highest] =
      std::minmax_element(units.ids.begin(), units.ids.end());
  fmt::print(", ids {} to {}, {} held out, {} without spikes\n", *lowest,
             *highest,
             std::count(units.heldOut.begin(), units.heldOut.end(), true),
             in.silentUnits);
  fmt::print("          {} spikes; Hz a unit: min {:.2f}, median {:.2f}, max "
             "{:.2f}\n",
             units.spikeTimes.size(), in.unitRates.min, in.unitRates.p50,
             in.unitRates.max);
}

void printTrials(const Inspection &in) {
  const Trials &trials = in.recording.trials;
  fmt::print("Trials    {}", trials.count());
  if (!trials.order.empty()) {
    std::vector<Interval> usable;
    for (int64_t row : trials.order)
      usable.push_back(trials.times[size_t(row)]);
    Spread seconds = lengths(usable);
    fmt::print(" ({}), {:.3f} to {:.3f} s, each {:.3f} to {:.3f} s",
               splitText(in.trialsBySplit), usable.front().start,
               usable.back().stop, seconds.min, seconds.max);
  }
  fmt::print("\n");
}

void printSeries(const Inspection &in) {
  fmt::print("Behaviour{}\n", in.series.empty() ? " none" : "");
  for (const SeriesReport &report : in.series) {
    if (!report.info.problem.empty()) {
      fmt::print("  {:<14} cannot be used: {}\n", report.info.name,
                 report.info.problem);
      continue;
    }
    fmt::print("  {:<14} {:<6} {} x {}, {:.6g} Hz by {}, {} NaN rows{}\n",
               report.info.name, report.info.unit, report.info.rows,
               report.info.columns, report.rate,
               report.info.rate ? "rate" : "timestamps", report.missingRows,
               report.isTarget ? "  <- target" : "");
  }
}

void printSegments(const Inspection &in) {
  const std::vector<Interval> &segments = in.segmentation.segments;
  Spread seconds = lengths(segments);
  fmt::print("Segments  {} without a gap (from {}), {:.3f} s in all, each "
             "{:.3f} to {:.3f} s\n",
             segments.size(), in.segmentation.source, total(segments),
             seconds.min, seconds.max);
  fmt::print("Gaps      {}", in.gaps.size());
  if (!in.gaps.empty()) {
    Spread gaps = lengths(in.gaps);
    fmt::print(", {:.3f} s in all, each {:.3f} to {:.3f} s", total(in.gaps),
               gaps.min, gaps.max);
  }
  fmt::print("\n");
  for (size_t i = 0; i < std::min(in.gaps.size(), kGapsShown); ++i)
    fmt::print("  {:.3f} to {:.3f} s ({:.3f} s)\n", in.gaps[i].start,
               in.gaps[i].stop, in.gaps[i].seconds());
  if (in.gaps.size() > kGapsShown)
    fmt::print("  and {} more (all are in --json)\n",
               in.gaps.size() - kGapsShown);
}

void printWindows(const Inspection &in) {
  const WindowSpec &spec = in.spec;
  fmt::print("Windows   {} (bin {:g} ms, window {:g} ms, stride {:g} ms)\n",
             in.windows, spec.binMs, spec.binMs * spec.windowBins,
             spec.binMs * spec.strideBins);
  if (in.windows == 0)
    return;
  fmt::print("  by the trial of their last bin: {}\n",
             splitText(in.windowsBySplit));
  fmt::print("  events: min {}, median {}, p90 {}, p99 {}, max {}\n",
             in.events.min, in.events.p50, in.events.p90, in.events.p99,
             in.events.max);
}

void print(const Inspection &in) {
  fmt::print("{}\n  identifier {}, NWB {}\n", in.recording.file.string(),
             in.recording.identifier, in.recording.nwbVersion);
  printUnits(in);
  printTrials(in);
  printSeries(in);
  if (in.recording.units.canBeDecoded()) {
    printSegments(in);
    printWindows(in);
  }
  for (const std::string &warning : in.warnings)
    fmt::print("warning: {}\n", warning);
}

Status runInspect(const InspectOptions &options) {
  BETZ_RETURN_IF_ERROR(
      checkOutputs({options.json}, {options.file, options.behavior}));
  BETZ_ASSIGN_OR_RETURN(Inspection inspection, inspect(options));
  if (options.json != "-")
    print(inspection);
  return options.json.empty()
             ? Status::ok()
             : writeJsonReport(toJson(inspection), options.json);
}

void addInspect(CommandLine &line, CLI::App *data) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App *command = line.addCommand(
      "inspect",
      "Say what a recording holds, where its gaps are, and what windows come "
      "of it.",
      [options] { return runInspect(*options); }, data);
  command->add_option("file", options->file, "The recording (NWB)")->required();
  command->add_option("--behavior", options->behavior,
                      "A second NWB file on the same clock that supplies the "
                      "behaviour (and trials, if the first has none)");
  command->add_option("--series", options->series,
                      "The behaviour to predict; else hand_vel, finger_vel, "
                      "cursor_vel, or the only series with two columns");
  command
      ->add_option("--bin-ms", options->binMs,
                   "Spikes of one unit in one bin are one event")
      ->capture_default_str();
  CLI::Option *ms =
      command
          ->add_option("--window-ms", options->windowMs,
                       "History that the decoder sees; whole bins")
          ->capture_default_str();
  command
      ->add_option("--window-bins", options->windowBins,
                   "The same, counted in bins")
      ->check(CLI::Range(1, 1'000'000))
      ->excludes(ms);
  command
      ->add_option("--stride-ms", options->strideMs,
                   "From one window to the next; whole bins")
      ->capture_default_str();
  command->add_option("--json", options->json,
                      "Write the report as JSON to a file, or - for stdout");
  command->footer(
      "Windows never cross a gap: a segment is a stretch where the units were "
      "observed\n(obs_intervals, else trials, else the spikes' span) and the "
      "target has rows.\n\nExample: a file of 20 ms rows, 300 ms of history, a "
      "decision every 20 ms\n  data inspect F.nwb --bin-ms 20 --window-ms 300 "
      "--stride-ms 20");
}

void addSynth(CommandLine &line, CLI::App *data) {
  struct Options {
    SynthSpec spec;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  CLI::App *command = line.addCommand(
      "synth",
      "Make up a centre-out session: reaches in eight directions, units tuned "
      "to velocity, gaps between trials.",
      [options]() -> Status {
        BETZ_RETURN_IF_ERROR(checkOutputs({options->output}, {}));
        BETZ_RETURN_IF_ERROR(synthesizeSession(options->spec, options->output));
        fmt::print("{}: {} trials, {} units, seed {}\n", options->output,
                   options->spec.trials, options->spec.units,
                   options->spec.seed);
        return Status::ok();
      },
      data);
  command->add_option("-o,--output", options->output, "The NWB file to write")
      ->check(kFileName)
      ->required();
  command
      ->add_option("--trials", options->spec.trials,
                   "Trials of about 2.9 s; 60/20/20 train, val, test")
      ->capture_default_str();
  command->add_option("--units", options->spec.units, "Units")
      ->capture_default_str();
  command
      ->add_option("--seed", options->spec.seed,
                   "The same seed and sizes give the same bytes")
      ->capture_default_str();
  command->footer("Example: a full-sized session of about 380 MB\n  data synth "
                  "-o full.nwb --trials 2295 --units 182");
}

} // namespace

void addDataCommand(CommandLine &line) {
  CLI::App *data =
      line.addCommand("data", "Look at recordings; make synthetic ones.", {});
  addInspect(line, data);
  addSynth(line, data);
}

} // namespace betz
