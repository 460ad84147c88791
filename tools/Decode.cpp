#include "tools/Decode.h"

#include "runtime/base/File.h"
#include "runtime/base/Log.h"
#include "runtime/base/Progress.h"
#include "runtime/io/Nwb.h"
#include "runtime/io/Windows.h"
#include "serve/engine/DecoderPorts.h"
#include "tools/DecoderInfo.h"
#include "tools/OpenProgram.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace betz {
namespace {

//===----------------------------------------------------------------------===//
// What the program's metadata says
//===----------------------------------------------------------------------===//

struct DecoderInfo : DecoderWindows {
  int64_t columns = 0;
  std::vector<std::string> names;
  /// In the target's units; prediction = value * scale + shift.
  std::vector<double> scale, shift;
  std::string units;
};

Status readLabels(const Metadata &metadata, DecoderInfo &info) {
  size_t count = size_t(info.columns);
  BETZ_ASSIGN_OR_RETURN(Json names, readMetadata(metadata, "outputs"));
  for (size_t i = 0; i < count; ++i)
    info.names.push_back(names.is_array() && i < names.size() &&
                                 names[i].is_string()
                             ? names[i].get<std::string>()
                             : fmt::format("behavior_{}", i));
  BETZ_ASSIGN_OR_RETURN(Json units, readMetadata(metadata, "output_units"));
  if (units.is_string())
    info.units = units.get<std::string>();
  BETZ_ASSIGN_OR_RETURN(info.scale, readNumbers(metadata, "target_std", count));
  BETZ_ASSIGN_OR_RETURN(info.shift,
                        readNumbers(metadata, "target_mean", count));
  if (info.scale.empty())
    info.scale.assign(count, 1);
  if (info.shift.empty())
    info.shift.assign(count, 0);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Binding windows to the program
//===----------------------------------------------------------------------===//

/// Runs one window at a time on buffers that it reuses.
class WindowRunner {
public:
  static Result<WindowRunner> create(Session &session);

  int64_t columns() const { return ports.columns; }
  /// The most events that a window may have.
  int64_t maxEvents() const { return ports.maxEvents; }
  /// Decodes `batch`, one window; adds the step's seconds to `seconds`.
  Status run(const WindowBatch &batch, std::vector<double> &seconds);
  /// The last window's output.
  std::span<const float> output() const { return values; }

private:
  WindowRunner(Session &session, const serve::DecoderPorts &ports)
      : session(&session), ports(ports), values(size_t(ports.columns)) {}

  Session *session;
  serve::DecoderPorts ports;
  std::vector<float> values;
};

Result<WindowRunner> WindowRunner::create(Session &session) {
  BETZ_ASSIGN_OR_RETURN(serve::DecoderPorts ports,
                        serve::findDecoderPorts(session.program()));
  return WindowRunner(session, ports);
}

Status WindowRunner::run(const WindowBatch &batch,
                         std::vector<double> &seconds) {
  const int64_t events[] = {int64_t(batch.neuronId.size())};
  const int64_t splits[] = {int64_t(batch.rowSplits.size())};
  const int64_t shape[] = {splits[0] - 1, columns()};
  const InputBinding inputs[] = {
      {ports.neuronId, DType::I32, batch.neuronId.data(), events},
      {ports.timeBin, DType::I32, batch.timeBin.data(), events},
      {ports.value, DType::I32, batch.value.data(), events},
      {ports.rowSplits, DType::I32, batch.rowSplits.data(), splits}};
  const OutputBinding outputs[] = {
      {ports.behavior, DType::F32, values.data(), shape}};
  Clock::time_point start = Clock::now();
  Status status = session->run(inputs, outputs);
  seconds.push_back(secondsSince(start));
  return status;
}

//===----------------------------------------------------------------------===//
// Scores and rows
//===----------------------------------------------------------------------===//

/// R² of one output: 1 - squared error / squared deviation from the mean.
class Score {
public:
  void add(double prediction, double target) {
    ++count;
    double before = target - mean;
    mean += before / double(count);
    deviation += before * (target - mean);
    error += (prediction - target) * (prediction - target);
  }
  int64_t windows() const { return count; }
  /// Null where the target never changes.
  Json value() const {
    return deviation > 0 ? Json(1 - error / deviation) : Json();
  }

private:
  int64_t count = 0;
  double mean = 0, deviation = 0, error = 0;
};

/// Scores of all windows, and of those of each split of the trials.
class ScoreTable {
public:
  ScoreTable(const DecoderInfo &info, const Trials &trials)
      : info(info), trials(trials) {}

  void add(const Window &window, std::span<const double> predictions,
           std::span<const float> target) {
    if (!std::ranges::all_of(target, [](float v) { return std::isfinite(v); }))
      return;
    addTo("all", predictions, target);
    std::optional<int64_t> trial = trials.at(window.target);
    if (trial && !trials.split[size_t(*trial)].empty())
      addTo(trials.split[size_t(*trial)], predictions, target);
  }

  Json toJson() const {
    Json table = Json::object();
    for (const auto &[name, scores] : splits) {
      Json entry = {{"windows", scores.front().windows()}};
      for (size_t i = 0; i < scores.size(); ++i)
        entry["r2"][info.names[i]] = scores[i].value();
      table[name] = std::move(entry);
    }
    return table;
  }

private:
  void addTo(const std::string &split, std::span<const double> predictions,
             std::span<const float> target) {
    std::vector<Score> &scores = splits[split];
    scores.resize(predictions.size());
    for (size_t i = 0; i < scores.size(); ++i)
      scores[i].add(predictions[i], double(target[i]));
  }

  const DecoderInfo &info;
  const Trials &trials;
  std::map<std::string, std::vector<Score>> splits;
};

/// Rows of text for a descriptor, written in large pieces.
class CsvWriter {
public:
  explicit CsvWriter(int fd) : fd(fd) {}

  Status header(const DecoderInfo &info, bool hasTarget) {
    text = "time_s," + fmt::format("{}", fmt::join(info.names, ","));
    if (hasTarget)
      for (const std::string &name : info.names)
        text += ",target_" + name;
    return endRow();
  }
  Status row(double time, std::span<const double> predictions,
             std::span<const float> target) {
    fmt::format_to(std::back_inserter(text), "{:.6f}", time);
    for (double prediction : predictions)
      fmt::format_to(std::back_inserter(text), ",{:.9g}", prediction);
    for (float value : target) {
      text += ',';
      if (std::isfinite(value))
        fmt::format_to(std::back_inserter(text), "{:.9g}", value);
    }
    return endRow();
  }
  Status flush() {
    BETZ_RETURN_IF_ERROR(writeAll(fd, text.data(), text.size()));
    text.clear();
    return Status::ok();
  }

private:
  Status endRow() {
    text += '\n';
    return text.size() > (1 << 20) ? flush() : Status::ok();
  }

  int fd;
  std::string text;
};

//===----------------------------------------------------------------------===//
// The recording
//===----------------------------------------------------------------------===//

void warn(const std::vector<std::string> &warnings) {
  for (const std::string &warning : warnings)
    logWarn("run", "{}", warning);
}

/// The behaviour to score against. None, with a warning, where the recording
/// has none that fits; an error where the user asked for it by name.
Result<std::optional<Series>> findTarget(const Recording &recording,
                                         const DecodeOptions &options,
                                         int64_t columns) {
  BETZ_ASSIGN_OR_RETURN(const SeriesInfo *info,
                        recording.chooseSeries(options.series));
  if (!info)
    return std::optional<Series>();
  std::string problem = info->problem;
  if (problem.empty() && info->columns != columns)
    problem = fmt::format("it has {} columns, the program decodes {}",
                          info->columns, columns);
  if (problem.empty()) {
    BETZ_ASSIGN_OR_RETURN(Series series, loadSeries(*info));
    return std::optional<Series>(std::move(series));
  }
  if (!options.series.empty())
    return invalidArgument(fmt::format(
        "{}: --series {}: {}", info->file.string(), info->name, problem));
  logWarn("run", "no scores: {}: {}", info->name, problem);
  return std::optional<Series>();
}

struct DecodeJob {
  Session &session;
  const DecoderInfo &info;
  const Recording &recording;
  const WindowIndex &index;
  const WindowReader &reader;
  WindowRunner &runner;
};

/// Decodes all windows; rows go to `csv` where it is not null.
Status decodeWindows(DecodeJob &job, CsvWriter *csv, ScoreTable &scores,
                     std::vector<double> &seconds) {
  const DecoderInfo &info = job.info;
  if (csv)
    BETZ_RETURN_IF_ERROR(csv->header(info, job.reader.targetColumns() > 0));
  WindowBatch batch;
  std::vector<double> predictions(size_t(info.columns));
  seconds.reserve(size_t(job.index.size()));
  Progress progress("decoding", job.index.size(), "windows");
  for (int64_t i = 0; i < job.index.size(); ++i) {
    Window window = job.index.at(i);
    BETZ_RETURN_IF_ERROR(job.reader.read({&i, 1}, batch));
    auto where = [&] {
      return fmt::format("{}: window {} at {:.3f} s",
                         job.recording.file.string(), i, window.start);
    };
    if (int64_t events = int64_t(batch.neuronId.size());
        events > job.runner.maxEvents())
      return invalidArgument(fmt::format(
          "{} has {} events; the program takes at most {} (compile with a "
          "larger --max-events)",
          where(), events, job.runner.maxEvents()));
    if (Status status = job.runner.run(batch, seconds); !status.isOk())
      return std::move(status).withContext(where());
    for (size_t c = 0; c < predictions.size(); ++c)
      predictions[c] =
          double(job.runner.output()[c]) * info.scale[c] + info.shift[c];
    if (!batch.target.empty())
      scores.add(window, predictions, batch.target);
    if (csv)
      BETZ_RETURN_IF_ERROR(csv->row(window.stop, predictions, batch.target));
    progress.update(i + 1);
  }
  return csv ? csv->flush() : Status::ok();
}

Json segmentsToJson(const Segmentation &segmentation) {
  double longest = 0, total = 0;
  const std::vector<Interval> &segments = segmentation.segments;
  for (size_t i = 0; i < segments.size(); ++i) {
    total += segments[i].seconds();
    if (i > 0)
      longest = std::max(longest, segments[i].start - segments[i - 1].stop);
  }
  return {{"count", segments.size()},
          {"from", segmentation.source},
          {"seconds", total},
          {"longest_gap_s", longest}};
}

Json toReport(const DecodeJob &job, const DecodeOptions &options,
              const Segmentation &segmentation, int64_t unitsUsed,
              std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const WindowSpec &windows = job.info.windows;
  return {{"recording", options.recording},
          {"device", job.session.device().name()},
          {"isa", job.session.isa()},
          {"units", job.recording.units.count()},
          {"units_used", unitsUsed},
          {"bin_ms", windows.binMs},
          {"window_bins", windows.windowBins},
          {"stride_bins", windows.strideBins},
          {"segments", segmentsToJson(segmentation)},
          {"windows", job.index.size()},
          {"p50_us", quantile(seconds, 0.50) * 1e6},
          {"p99_us", quantile(seconds, 0.99) * 1e6}};
}

} // namespace

Result<Json> decodeRecording(Session &session, const DecodeOptions &options) {
  DecoderInfo info;
  BETZ_ASSIGN_OR_RETURN(
      const Metadata metadata,
      metadataOfSession(
          session.program().metadata,
          options.session.empty()
              ? std::filesystem::path(options.recording).stem().string()
              : options.session));
  BETZ_ASSIGN_OR_RETURN(static_cast<DecoderWindows &>(info),
                        readDecoderWindows(metadata));
  BETZ_ASSIGN_OR_RETURN(WindowRunner runner, WindowRunner::create(session));
  info.columns = runner.columns();
  BETZ_RETURN_IF_ERROR(readLabels(metadata, info));

  BETZ_ASSIGN_OR_RETURN(Recording recording,
                        Recording::open(options.recording, options.behavior));
  warn(recording.warnings);
  BETZ_ASSIGN_OR_RETURN(std::optional<Series> target,
                        findTarget(recording, options, info.columns));
  const Series *behavior = target ? &*target : nullptr;
  BETZ_ASSIGN_OR_RETURN(Segmentation segmentation,
                        findSegments(recording, behavior));
  BETZ_ASSIGN_OR_RETURN(NeuronTable neurons,
                        assignNeurons(recording.units,
                                      info.unitMap ? &*info.unitMap : nullptr,
                                      info.maxNeurons, options.strict));
  warn(neurons.warnings);
  BETZ_ASSIGN_OR_RETURN(
      WindowIndex index,
      WindowIndex::build(segmentation.segments, info.windows));
  WindowReader reader(index, recording.units, neurons.neuronOfRow, behavior);

  DecodeJob job = {session, info, recording, index, reader, runner};
  ScoreTable scores(info, recording.trials);
  std::vector<double> seconds;
  if (options.csv.empty()) {
    BETZ_RETURN_IF_ERROR(decodeWindows(job, nullptr, scores, seconds));
  } else {
    BETZ_RETURN_IF_ERROR(writeFileAtomically(options.csv, [&](int fd) {
      CsvWriter csv(fd);
      return decodeWindows(job, &csv, scores, seconds);
    }));
  }
  int64_t used = std::ranges::count_if(neurons.neuronOfRow,
                                       [](int32_t id) { return id >= 0; });
  Json report = toReport(job, options, segmentation, used, std::move(seconds));
  if (target) {
    report["target"] = target->info.name;
    report["scores"] = scores.toJson();
  }
  return report;
}

void printDecodeReport(const Json &report) {
  auto text = [&](const char *key) { return report[key].get<std::string>(); };
  auto number = [](const Json &value) { return value.get<double>(); };
  const Json &segments = report["segments"];
  fmt::print("{}: {} of {} units, {} segments ({}), {:.1f} s, longest gap "
             "{:.3f} s\n",
             text("recording"), report["units_used"].get<int64_t>(),
             report["units"].get<int64_t>(), segments["count"].get<int64_t>(),
             segments["from"].get<std::string>(), number(segments["seconds"]),
             number(segments["longest_gap_s"]));
  fmt::print("{} windows of {} bins of {:g} ms, every {} bins, on {}\n",
             report["windows"].get<int64_t>(),
             report["window_bins"].get<int64_t>(), number(report["bin_ms"]),
             report["stride_bins"].get<int64_t>(), text("device"));
  fmt::print("a window takes {:.1f} us (p50), {:.1f} us (p99)\n",
             number(report["p50_us"]), number(report["p99_us"]));
  if (!report.contains("scores"))
    return;
  for (const auto &[split, entry] : report["scores"].items()) {
    fmt::print("R² of {}, {} windows ({}):", text("target"), split,
               entry["windows"].get<int64_t>());
    for (const auto &[name, value] : entry["r2"].items())
      if (value.is_null())
        fmt::print(" {} undefined", name);
      else
        fmt::print(" {} {:.4f}", name, number(value));
    fmt::print("\n");
  }
}

} // namespace betz
