#include "train/data/Dataset.h"
#include "runtime/base/Progress.h"
#include "train/data/Decoder.h"
#include "train/score/Random.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace betz::train {
namespace {

constexpr double kDefaultBinMs = 20;
constexpr double kFinestDefaultMs = 10;
/// Keeps the draw of labels apart from that of splits.
constexpr uint64_t kLabels = 6ull << 60;

Status checkSpec(const DataSpec &spec) {
  auto atLeastOne = [](const char *what, int32_t value) {
    return value >= 1 ? Status::ok()
                      : invalidArgument(
                            fmt::format("{} {}: give at least 1", what, value));
  };
  if (!std::isfinite(spec.binMs) || spec.binMs < 0)
    return invalidArgument(
        fmt::format("a bin of {} ms: give a positive number", spec.binMs));
  BETZ_RETURN_IF_ERROR(atLeastOne("history bins", spec.historyBins));
  BETZ_RETURN_IF_ERROR(atLeastOne("stride bins", spec.strideBins));
  BETZ_RETURN_IF_ERROR(atLeastOne("value buckets", spec.valueBuckets));
  BETZ_RETURN_IF_ERROR(atLeastOne("target times", spec.targetTimes));
  BETZ_RETURN_IF_ERROR(atLeastOne("target step bins", spec.targetStepBins));
  if (spec.labelFraction &&
      !(*spec.labelFraction > 0 && *spec.labelFraction <= 1))
    return invalidArgument(fmt::format(
        "a label fraction of {}: give a share above 0", *spec.labelFraction));
  if (spec.labelledTrials && *spec.labelledTrials < 1)
    return invalidArgument(fmt::format("{} labelled trials: give at least 1",
                                       *spec.labelledTrials));
  if (int64_t(spec.targetTimes - 1) * spec.targetStepBins >= spec.historyBins)
    return invalidArgument(fmt::format(
        "{} target times {} bins apart do not fit in a window of {} bins",
        spec.targetTimes, spec.targetStepBins, spec.historyBins));
  return Status::ok();
}

double defaultBin(const Series *behavior) {
  double ms = behavior ? behavior->medianStep() * 1000 : 0;
  // Times are stored with rounding; a bin of 19.999999999 ms would drift.
  double rounded = std::round(ms * 1e6) / 1e6;
  return rounded >= kFinestDefaultMs ? rounded : kDefaultBinMs;
}

/// Behaviour by bin, and its scale over the bins of train pieces.
void readBehavior(const Series &series, Session &session) {
  const size_t columns = size_t(series.info.columns);
  TargetReader reader(session.index, series);
  session.behavior = series.info;
  session.behaviorByBin.resize(size_t(session.bins()) * columns);
  Progress progress("binning behaviour", session.bins(), "bins");
  for (int64_t bin = 0; bin < session.bins(); ++bin) {
    reader.read(session.index.at(bin),
                std::span(session.behaviorByBin)
                    .subspan(size_t(bin) * columns, columns));
    progress.update(bin);
  }
}

bool isMissing(std::span<const float> row) {
  return std::any_of(row.begin(), row.end(),
                     [](float value) { return !std::isfinite(value); });
}

std::span<const float> behaviorAt(const Session &session, int64_t bin) {
  const size_t columns = size_t(session.columns());
  return std::span(session.behaviorByBin)
      .subspan(size_t(bin) * columns, columns);
}

/// Mean and deviation of `column` over the train bins that have a row, by two
/// passes: velocities far from zero keep their digits.
void scaleColumn(const Session &session, const std::vector<int64_t> &bins,
                 size_t column, TargetScale &scale) {
  auto average = [&](auto term) {
    double sum = 0;
    for (int64_t bin : bins)
      sum += term(double(behaviorAt(session, bin)[column]));
    return bins.empty() ? 0.0 : sum / double(bins.size());
  };
  const double mean = average([](double v) { return v; });
  const double variance =
      average([&](double v) { return (v - mean) * (v - mean); });
  scale.mean.push_back(mean);
  scale.deviation.push_back(variance > 0 ? std::sqrt(variance) : 1.0);
}

void findScale(Session &session) {
  std::vector<int64_t> bins;
  for (int64_t bin = 0; bin < session.bins(); ++bin) {
    const Piece &piece = session.pieces[size_t(session.index.at(bin).segment)];
    if (piece.split == Split::Train && !isMissing(behaviorAt(session, bin)))
      bins.push_back(bin);
  }
  for (size_t column = 0; column < size_t(session.columns()); ++column)
    scaleColumn(session, bins, column, session.scale);
}

/// Leaves labels to so many train pieces; fewer labels are a part of more.
void drawLabels(std::vector<Piece> &pieces, const DataSpec &spec) {
  if (!spec.labelFraction && !spec.labelledTrials)
    return;
  std::vector<Piece *> train;
  for (Piece &piece : pieces)
    if (piece.split == Split::Train)
      train.push_back(&piece);
  const int64_t all = int64_t(train.size());
  const int64_t labelled =
      spec.labelledTrials
          ? std::min(*spec.labelledTrials, all)
          : std::max<int64_t>(1,
                              std::llround(*spec.labelFraction * double(all)));
  shuffle(std::span(train), Random(spec.seed ^ kLabels));
  for (int64_t i = labelled; i < all; ++i)
    train[size_t(i)]->isLabelled = false;
}

/// As if behaviour had not been recorded in pieces without labels.
void forgetLabels(Session &session) {
  const size_t columns = size_t(session.columns());
  for (int64_t bin = 0; bin < session.bins(); ++bin)
    if (!session.pieces[size_t(session.index.at(bin).segment)].isLabelled)
      std::ranges::fill(std::span(session.behaviorByBin)
                            .subspan(size_t(bin) * columns, columns),
                        std::numeric_limits<float>::quiet_NaN());
}

Result<std::optional<Series>> openBehavior(const Recording &recording,
                                           const std::string &name) {
  BETZ_ASSIGN_OR_RETURN(const SeriesInfo *info, recording.chooseSeries(name));
  if (!info)
    return std::optional<Series>();
  BusyLine busy("reading " + recording.file.string());
  BETZ_ASSIGN_OR_RETURN(Series series, loadSeries(*info));
  return std::optional<Series>(std::move(series));
}

} // namespace

Status Dataset::addSession(const std::filesystem::path &file) {
  BETZ_ASSIGN_OR_RETURN(Recording recording, Recording::open(file));
  BETZ_ASSIGN_OR_RETURN(std::optional<Series> behavior,
                        openBehavior(recording, dataSpec.series));
  const Series *series = behavior ? &*behavior : nullptr;
  if (dataSpec.binMs == 0)
    dataSpec.binMs = defaultBin(series);
  const int64_t columns = series ? series->info.columns : 0;
  if (!list.empty() && columns != list[0]->columns())
    return invalidArgument(fmt::format(
        "{}: its behaviour has {} columns but that of {} has {}; train on "
        "recordings of one kind, or name the series",
        file.string(), columns, list[0]->file.string(), list[0]->columns()));
  BETZ_ASSIGN_OR_RETURN(Pieces cut,
                        cutPieces(recording, dataSpec.binMs, dataSpec.seed));
  for (const std::string &warning : recording.warnings)
    lines.push_back(fmt::format("{}: {}", file.string(), warning));
  lines.insert(lines.end(), cut.warnings.begin(), cut.warnings.end());
  if (!series && !recording.series.empty())
    lines.push_back(fmt::format("{}: no series is plainly the velocity, so "
                                "there is no target; name it",
                                file.string()));

  auto session = std::make_unique<Session>();
  session->file = file;
  session->unitIds = recording.units.ids;
  session->firstNeuron = int32_t(neuronCount);
  session->pieces = std::move(cut.pieces);
  if (series)
    drawLabels(session->pieces, dataSpec);
  session->splitSource = cut.source;
  session->secondsLeftOut = cut.secondsLeftOut;
  std::vector<Interval> times;
  for (const Piece &piece : session->pieces)
    times.push_back(piece.time);
  WindowSpec windows;
  windows.binMs = dataSpec.binMs;
  windows.windowBins = dataSpec.historyBins;
  windows.strideBins = 1;
  windows.valueBuckets = std::numeric_limits<int32_t>::max();
  windows.padStart = true;
  BETZ_ASSIGN_OR_RETURN(session->index,
                        WindowIndex::build(std::move(times), windows));
  makeReader(recording.units, *session);
  session->trials = std::move(recording.trials);
  if (series) {
    readBehavior(*series, *session);
    forgetLabels(*session);
    findScale(*session);
  }
  neuronCount += session->units();
  list.push_back(std::move(session));
  return addSamples(int32_t(list.size()) - 1);
}

void Dataset::makeReader(const Units &units, Session &session) const {
  std::vector<int32_t> neurons(session.unitIds.size());
  std::iota(neurons.begin(), neurons.end(), session.firstNeuron);
  session.reader =
      std::make_unique<WindowReader>(session.index, units, neurons, nullptr);
}

Dataset Dataset::withUnits(std::span<const Units> units, Split split) const {
  Dataset copy;
  copy.dataSpec = dataSpec;
  copy.bySplit[size_t(split)] = bySplit[size_t(split)];
  copy.neuronCount = neuronCount;
  copy.outputCount = outputCount;
  copy.lines = lines;
  for (size_t i = 0; i < list.size(); ++i) {
    auto session = std::make_unique<Session>();
    static_cast<SessionFacts &>(*session) = *list[i];
    makeReader(units[i], *session);
    copy.list.push_back(std::move(session));
  }
  for (const Sample &sample : copy.samples(split))
    copy.mostEvents =
        std::max(copy.mostEvents,
                 copy.session(sample.session).reader->eventsIn(sample.bin));
  return copy;
}

Status Dataset::addSamples(int32_t number) {
  Session &session = *list[size_t(number)];
  const int64_t reach =
      int64_t(dataSpec.targetTimes - 1) * dataSpec.targetStepBins;
  auto hasTarget = [&](int64_t bin) {
    for (int64_t at = bin - reach; at <= bin; at += dataSpec.targetStepBins)
      if (isMissing(behaviorAt(session, at)))
        return false;
    return true;
  };
  Progress progress("listing samples", session.bins(), "bins");
  int64_t bin = 0;
  for (size_t piece = 0; piece < session.pieces.size(); ++piece) {
    const int64_t bins = session.index.bins(int64_t(piece));
    const bool isUsed = session.pieces[piece].isLabelled;
    for (int64_t i = reach; isUsed && i < bins; i += dataSpec.strideBins) {
      if (session.behavior && !hasTarget(bin + i)) {
        ++session.binsWithoutTarget;
        continue;
      }
      bySplit[size_t(session.pieces[piece].split)].push_back(
          {number, int32_t(piece), bin + i});
      mostEvents = std::max(mostEvents, session.reader->eventsIn(bin + i));
    }
    bin += bins;
    progress.update(bin);
  }
  if (session.binsWithoutTarget > 0)
    lines.push_back(fmt::format(
        "{}: {} samples are left out because {} has no usable row there",
        session.file.string(), session.binsWithoutTarget,
        session.behavior->name));
  return Status::ok();
}

Status Dataset::checkNames() const {
  for (size_t i = 0; i < list.size(); ++i)
    for (size_t before = 0; before < i; ++before)
      if (list[i]->name() == list[before]->name())
        return invalidArgument(fmt::format(
            "{} and {}: two recordings of one name; a decoder knows its "
            "sessions by the names of their files, so rename one",
            list[before]->file.string(), list[i]->file.string()));
  return Status::ok();
}

Status Dataset::checkSplits() const {
  std::vector<std::array<int64_t, kSplits.size()>> counts(list.size());
  std::vector<std::array<bool, kSplits.size()>> spikes(list.size());
  for (Split split : kSplits)
    for (const Sample &sample : samples(split)) {
      ++counts[size_t(sample.session)][size_t(split)];
      if (!spikes[size_t(sample.session)][size_t(split)])
        spikes[size_t(sample.session)][size_t(split)] =
            !events(sample).events.bin.empty();
    }
  for (size_t i = 0; i < list.size(); ++i)
    for (Split split : kSplits) {
      if (counts[i][size_t(split)] == 0)
        return dataLoss(fmt::format(
            "{}: no sample is in the split {}; give a longer recording or a "
            "shorter bin",
            list[i]->file.string(), toString(split)));
      if (!spikes[i][size_t(split)])
        return dataLoss(fmt::format(
            "{}: no spike is in the split {}, so nothing can be decoded there; "
            "is the spikes' clock that of the trials?",
            list[i]->file.string(), toString(split)));
    }
  return Status::ok();
}

Result<Dataset> Dataset::open(std::span<const std::filesystem::path> files,
                              const DataSpec &spec) {
  BETZ_RETURN_IF_ERROR(checkSpec(spec));
  if (files.empty())
    return invalidArgument("no recording given");
  Dataset dataset;
  dataset.dataSpec = spec;
  for (const std::filesystem::path &file : files)
    BETZ_RETURN_IF_ERROR(dataset.addSession(file));
  BETZ_RETURN_IF_ERROR(dataset.checkNames());
  dataset.outputCount = dataset.list[0]->columns() * spec.targetTimes;
  BETZ_RETURN_IF_ERROR(dataset.checkSplits());
  return dataset;
}

SampleEvents Dataset::events(const Sample &sample) const {
  const Session &from = *list[size_t(sample.session)];
  return {from.reader->events(sample.bin),
          binInPiece(sample) - dataSpec.historyBins + 1};
}

int64_t Dataset::binInPiece(const Sample &sample) const {
  const Session &from = *list[size_t(sample.session)];
  return from.index.at(sample.bin).firstBin + dataSpec.historyBins - 1;
}

void Dataset::target(const Sample &sample, std::span<float> out) const {
  const Session &from = *list[size_t(sample.session)];
  const size_t columns = size_t(from.columns());
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t before = dataSpec.targetTimes - 1 - int64_t(i / columns);
    const size_t column = i % columns;
    const float value =
        behaviorAt(from, sample.bin - before * dataSpec.targetStepBins)[column];
    out[i] =
        float((value - from.scale.mean[column]) / from.scale.deviation[column]);
  }
}

std::span<const float> Dataset::behavior(const Sample &sample) const {
  return behaviorAt(*list[size_t(sample.session)], sample.bin);
}

Table behaviorOf(const Dataset &dataset, Split split) {
  std::span<const Sample> samples = dataset.samples(split);
  Table table(int64_t(samples.size()), dataset.session(0).columns());
  for (int64_t row = 0; row < table.rows; ++row) {
    std::span<const float> values = dataset.behavior(samples[size_t(row)]);
    for (int64_t column = 0; column < table.columns; ++column)
      table.at(row, column) = double(values[size_t(column)]);
  }
  return table;
}

std::vector<Score> scoreSessions(const Dataset &dataset, Split split,
                                 const Table &predictions) {
  const Table targets = behaviorOf(dataset, split);
  const std::span<const Sample> samples = dataset.samples(split);
  std::vector<Score> scores;
  for (int64_t session = 0; session < dataset.sessions(); ++session) {
    RowMask mask;
    for (const Sample &sample : samples)
      mask.push_back(sample.session == session);
    scores.push_back(score(predictions, targets, mask));
  }
  return scores;
}

double meanR2(const std::vector<Score> &sessions) {
  double sum = 0;
  for (const Score &score : sessions)
    sum += score.meanR2();
  return sum / double(sessions.size());
}

} // namespace betz::train
