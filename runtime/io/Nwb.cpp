#include "runtime/io/Nwb.h"
#include "runtime/base/Suggest.h"
#include "runtime/io/Hdf5.h"
#include "runtime/io/Hdf5Rehearsal.h"
#include "runtime/io/NwbUnits.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz {
namespace {

constexpr const char *kTrials = "/intervals/trials";
constexpr const char *kBehavior = "/processing/behavior";
/// Containers (Position, BehavioralTimeSeries) nest once; more is a loop.
constexpr int kMaxNesting = 4;

Result<std::string> readText(const Hdf5File &file, const std::string &path) {
  BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(path));
  if (kind != Hdf5Kind::Dataset)
    return std::string();
  BETZ_ASSIGN_OR_RETURN(std::vector<std::string> values,
                        file.readStrings(path));
  return values.empty() ? std::string() : values[0];
}

Status checkIsNwb(const Hdf5File &file) {
  for (const char *group :
       {"/units", "/intervals", "/processing", "/acquisition", "/general"}) {
    BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(group));
    if (kind == Hdf5Kind::Group)
      return Status::ok();
  }
  return dataLoss(
      file.locate("/", "is HDF5 but holds no recording (no units, intervals or "
                       "processing); give a file in NWB format"));
}

//===- Trials -------------------------------------------------------------===//

Status checkRows(const Hdf5File &file, const std::string &path, int64_t rows,
                 int64_t expected) {
  if (rows == expected)
    return Status::ok();
  return dataLoss(file.locate(
      path, fmt::format("has {} rows but the table has {}; the file is damaged",
                        rows, expected)));
}

Result<std::vector<double>> readTrialTimes(const Hdf5File &file,
                                           const std::string &path) {
  BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(path));
  if (kind != Hdf5Kind::Dataset)
    return dataLoss(file.locate(
        path, "is missing; a trials table needs start_time and stop_time"));
  return file.readDoubles(path);
}

/// Adds column `name` unless it is ragged, has several values a row or is of a
/// type that is neither number nor text.
Status readTrialColumn(const Hdf5File &file, const std::string &name,
                       const std::vector<std::string> &names, Trials &trials) {
  auto has = [&](const std::string &other) {
    return std::find(names.begin(), names.end(), other) != names.end();
  };
  std::string path = fmt::format("{}/{}", kTrials, name);
  if (name == "id" || name.ends_with("_index") || has(name + "_index"))
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(path));
  if (kind != Hdf5Kind::Dataset)
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(Hdf5Info info, file.info(path));
  if (info.shape.size() != 1 || info.elements == Hdf5Class::Other)
    return Status::ok();
  BETZ_RETURN_IF_ERROR(checkRows(file, path, info.rows(), trials.count()));
  TrialColumn column;
  column.name = name;
  if (info.elements == Hdf5Class::String) {
    BETZ_ASSIGN_OR_RETURN(column.texts, file.readStrings(path));
  } else if (info.elements == Hdf5Class::Bool) {
    BETZ_ASSIGN_OR_RETURN(std::vector<int64_t> values, file.readIntegers(path));
    column.numbers.assign(values.begin(), values.end());
  } else {
    BETZ_ASSIGN_OR_RETURN(column.numbers, file.readDoubles(path));
  }
  if (name == "split" && !column.texts.empty())
    trials.split = std::move(column.texts);
  else
    trials.columns.push_back(std::move(column));
  return Status::ok();
}

void orderTrials(Trials &trials, std::vector<std::string> &warnings) {
  for (int64_t row = 0; row < trials.count(); ++row)
    if (trials.times[size_t(row)].stop > trials.times[size_t(row)].start)
      trials.order.push_back(row);
  std::sort(trials.order.begin(), trials.order.end(),
            [&](int64_t a, int64_t b) {
              return std::pair(trials.times[size_t(a)].start, a) <
                     std::pair(trials.times[size_t(b)].start, b);
            });
  int64_t unusable = trials.count() - int64_t(trials.order.size());
  if (unusable > 0)
    warnings.push_back(fmt::format(
        "{}: {} of {} trials have no usable start and stop and are left out",
        kTrials, unusable, trials.count()));
}

Status readTrials(const Hdf5File &file, Trials &trials,
                  std::vector<std::string> &warnings) {
  BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(kTrials));
  if (kind != Hdf5Kind::Group)
    return Status::ok();
  std::string stopPath = fmt::format("{}/stop_time", kTrials);
  BETZ_ASSIGN_OR_RETURN(
      std::vector<double> starts,
      readTrialTimes(file, fmt::format("{}/start_time", kTrials)));
  BETZ_ASSIGN_OR_RETURN(std::vector<double> stops,
                        readTrialTimes(file, stopPath));
  BETZ_RETURN_IF_ERROR(
      checkRows(file, stopPath, int64_t(stops.size()), int64_t(starts.size())));
  for (size_t i = 0; i < starts.size(); ++i)
    trials.times.push_back({starts[i], stops[i]});
  trials.split.assign(starts.size(), "");
  BETZ_ASSIGN_OR_RETURN(std::vector<std::string> names, file.children(kTrials));
  for (const std::string &name : names)
    if (name != "start_time" && name != "stop_time")
      BETZ_RETURN_IF_ERROR(readTrialColumn(file, name, names, trials));
  orderTrials(trials, warnings);
  return Status::ok();
}

//===- Behaviour ----------------------------------------------------------===//

/// Fills the series' clock; a reason when it has none.
Result<std::string> describeClock(const Hdf5File &file, SeriesInfo &info) {
  BETZ_ASSIGN_OR_RETURN(Hdf5Kind times, file.kindOf(info.path + "/timestamps"));
  if (times == Hdf5Kind::Dataset) {
    BETZ_ASSIGN_OR_RETURN(Hdf5Info shape, file.info(info.path + "/timestamps"));
    if (shape.shape.size() != 1 || shape.rows() != info.rows)
      return fmt::format("{} timestamps for {} rows of data", shape.rows(),
                         info.rows);
    return std::string();
  }
  std::string start = info.path + "/starting_time";
  BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(start));
  if (kind != Hdf5Kind::Dataset)
    return std::string("it has neither timestamps nor a starting_time");
  BETZ_ASSIGN_OR_RETURN(std::vector<double> value, file.readDoubles(start));
  std::optional<double> rate = file.numberAttribute(start, "rate");
  if (value.size() != 1 || !std::isfinite(value[0]) || !rate ||
      !std::isfinite(*rate) || *rate <= 0)
    return std::string("its starting_time has no usable rate");
  info.startingTime = value[0];
  info.rate = rate;
  return std::string();
}

Result<SeriesInfo> describeSeries(const Hdf5File &file,
                                  const std::filesystem::path &fileName,
                                  const std::string &path,
                                  const std::string &name) {
  SeriesInfo info;
  info.name = name;
  info.file = fileName;
  info.path = path;
  std::string data = path + "/data";
  BETZ_ASSIGN_OR_RETURN(Hdf5Info shape, file.info(data));
  info.unit = file.stringAttribute(data, "unit").value_or("");
  info.conversion = file.numberAttribute(data, "conversion").value_or(1.0);
  info.offset = file.numberAttribute(data, "offset").value_or(0.0);
  info.rows = shape.rows();
  info.columns = shape.shape.size() == 2 ? shape.shape[1] : 1;
  if (shape.elements != Hdf5Class::Float &&
      shape.elements != Hdf5Class::Integer) {
    info.problem = "its data are not numbers";
  } else if (shape.shape.empty() || shape.shape.size() > 2) {
    info.problem =
        fmt::format("its data have shape {}, not (rows, columns)", shape.shape);
  } else {
    BETZ_ASSIGN_OR_RETURN(info.problem, describeClock(file, info));
  }
  return info;
}

Status listSeries(const Hdf5File &file, const std::filesystem::path &fileName,
                  const std::string &group, int nesting,
                  std::vector<SeriesInfo> &series) {
  BETZ_ASSIGN_OR_RETURN(std::vector<std::string> names, file.children(group));
  for (const std::string &name : names) {
    std::string path = group + "/" + name;
    BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(path));
    if (kind != Hdf5Kind::Group)
      continue;
    BETZ_ASSIGN_OR_RETURN(Hdf5Kind data, file.kindOf(path + "/data"));
    if (data == Hdf5Kind::Dataset) {
      BETZ_ASSIGN_OR_RETURN(SeriesInfo info,
                            describeSeries(file, fileName, path, name));
      series.push_back(std::move(info));
    } else if (nesting < kMaxNesting) {
      BETZ_RETURN_IF_ERROR(
          listSeries(file, fileName, path, nesting + 1, series));
    }
  }
  return Status::ok();
}

Status readSeriesList(const Hdf5File &file,
                      const std::filesystem::path &fileName,
                      std::vector<SeriesInfo> &series) {
  BETZ_ASSIGN_OR_RETURN(Hdf5Kind kind, file.kindOf(kBehavior));
  if (kind != Hdf5Kind::Group)
    return Status::ok();
  return listSeries(file, fileName, kBehavior, 0, series);
}

Status readBehaviorFile(const std::filesystem::path &path, Recording &into) {
  BETZ_ASSIGN_OR_RETURN(Hdf5File file, Hdf5File::open(path));
  into.series.clear();
  BETZ_RETURN_IF_ERROR(readSeriesList(file, path, into.series));
  if (into.series.empty())
    return dataLoss(
        file.locate(kBehavior, "holds no series; give a file with behaviour"));
  if (into.trials.count() == 0)
    BETZ_RETURN_IF_ERROR(readTrials(file, into.trials, into.warnings));
  return Status::ok();
}

Status checkTimestamps(const Hdf5File &file, const SeriesInfo &info,
                       const std::vector<double> &time) {
  for (size_t row = 0; row < time.size(); ++row)
    if (!std::isfinite(time[row]) || (row > 0 && time[row] < time[row - 1]))
      return dataLoss(file.locate(
          info.path + "/timestamps",
          fmt::format("row {} ({}) is not after the row before it; sort the "
                      "series by time",
                      row, time[row])));
  return Status::ok();
}

Result<Series> readSeries(const SeriesInfo &info) {
  BETZ_ASSIGN_OR_RETURN(Hdf5File file, Hdf5File::open(info.file));
  if (!info.problem.empty())
    return dataLoss(file.locate(info.path, info.problem));
  Series series;
  series.info = info;
  BETZ_ASSIGN_OR_RETURN(series.values, file.readDoubles(info.path + "/data"));
  if (int64_t(series.values.size()) != info.rows * info.columns)
    return dataLoss(file.locate(info.path, "changed while it was read"));
  if (info.conversion != 1 || info.offset != 0)
    for (double &value : series.values)
      value = value * info.conversion + info.offset;
  if (info.rate) {
    series.time.resize(size_t(info.rows));
    for (int64_t row = 0; row < info.rows; ++row)
      series.time[size_t(row)] = info.startingTime + double(row) / *info.rate;
    return series;
  }
  BETZ_ASSIGN_OR_RETURN(series.time,
                        file.readDoubles(info.path + "/timestamps"));
  if (int64_t(series.time.size()) != info.rows)
    return dataLoss(file.locate(info.path, "changed while it was read"));
  BETZ_RETURN_IF_ERROR(checkTimestamps(file, info, series.time));
  return series;
}

Result<Recording> readRecording(const std::filesystem::path &path,
                                const std::filesystem::path &behaviorPath) {
  BETZ_ASSIGN_OR_RETURN(Hdf5File file, Hdf5File::open(path));
  BETZ_RETURN_IF_ERROR(checkIsNwb(file));
  Recording recording;
  recording.file = path;
  recording.nwbVersion =
      file.stringAttribute("/", "nwb_version").value_or("unknown");
  BETZ_ASSIGN_OR_RETURN(recording.identifier, readText(file, "/identifier"));
  BETZ_RETURN_IF_ERROR(readTrials(file, recording.trials, recording.warnings));
  BETZ_RETURN_IF_ERROR(readSeriesList(file, path, recording.series));
  if (!behaviorPath.empty())
    BETZ_RETURN_IF_ERROR(readBehaviorFile(behaviorPath, recording));
  BETZ_RETURN_IF_ERROR(
      readUnits(file, recording.trials, recording.units, recording.warnings));
  if (recording.units.count() == 0 && recording.series.empty())
    return dataLoss(file.locate(
        "/units", "is missing or empty, and there is no behaviour either; give "
                  "a recording with sorted units"));
  return recording;
}

std::vector<std::string> namesOf(const std::vector<SeriesInfo> &series) {
  std::vector<std::string> names;
  for (const SeriesInfo &info : series)
    names.push_back(info.name);
  return names;
}

} // namespace

std::optional<int64_t> Trials::at(double seconds) const {
  auto after = std::upper_bound(order.begin(), order.end(), seconds,
                                [&](double value, int64_t row) {
                                  return value < times[size_t(row)].start;
                                });
  if (after == order.begin())
    return std::nullopt;
  int64_t row = *std::prev(after);
  if (seconds >= times[size_t(row)].stop)
    return std::nullopt;
  return row;
}

bool Series::isMissing(int64_t row) const {
  auto first = values.begin() + row * info.columns;
  return std::any_of(first, first + info.columns,
                     [](double value) { return !std::isfinite(value); });
}

double Series::medianStep() const {
  if (time.size() < 2)
    return 0;
  std::vector<double> steps;
  steps.reserve(time.size() - 1);
  for (size_t row = 1; row < time.size(); ++row)
    steps.push_back(time[row] - time[row - 1]);
  auto middle = steps.begin() + std::ptrdiff_t(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

Result<Recording> Recording::open(const std::filesystem::path &path,
                                  const std::filesystem::path &behaviorPath) {
  auto read = [&] { return readRecording(path, behaviorPath); };
  hdf5::RehearsalLimits limits = hdf5::RehearsalLimits::forFile(path);
  std::string files = path.string();
  if (!behaviorPath.empty()) {
    files += " or " + behaviorPath.string();
    limits.memory += hdf5::RehearsalLimits::forFile(behaviorPath).memory;
  }
  BETZ_RETURN_IF_ERROR(
      hdf5::rehearse(files, [&] { return read().status(); }, limits));
  return read();
}

Result<const SeriesInfo *>
Recording::chooseSeries(const std::string &name) const {
  auto find = [&](std::string_view wanted) -> const SeriesInfo * {
    for (const SeriesInfo &info : series)
      if (info.name == wanted || info.path == wanted)
        return &info;
    return nullptr;
  };
  if (!name.empty()) {
    if (const SeriesInfo *info = find(name))
      return info;
    std::string nearest = nearestName(name, namesOf(series));
    return notFound(fmt::format(
        "{}: no behaviour series \"{}\"{}; there are: {}", file.string(), name,
        nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest),
        fmt::join(namesOf(series), ", ")));
  }
  for (const char *usual : {"hand_vel", "finger_vel", "cursor_vel"})
    if (const SeriesInfo *info = find(usual))
      return info;
  const SeriesInfo *sole = nullptr;
  for (const SeriesInfo &info : series) {
    if (info.columns != 2 || !info.problem.empty())
      continue;
    if (sole)
      return static_cast<const SeriesInfo *>(nullptr);
    sole = &info;
  }
  return sole;
}

Result<Series> loadSeries(const SeriesInfo &info) {
  auto read = [&] { return readSeries(info); };
  BETZ_RETURN_IF_ERROR(hdf5::rehearse(
      info.file.string(), [&] { return read().status(); },
      hdf5::RehearsalLimits::forFile(info.file)));
  return read();
}

} // namespace betz
