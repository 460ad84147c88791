#include "train/protocol/Lint.h"
#include "runtime/base/Progress.h"
#include "train/data/Dataset.h"
#include "train/data/Decoder.h"
#include "train/score/Controls.h"
#include "train/score/Random.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace betz::train {
namespace {

/// A Gaussian is taken to reach this many standard deviations.
constexpr double kKernelReach = 3;
/// A row this share of a step off its place by number is misplaced.
constexpr double kRowTolerance = 0.5;
constexpr double kGapSteps = 1.5;

/// Bins of the window after the target's.
int32_t binsAhead(const ProtocolDescription &protocol) {
  const int32_t last = protocol.spec.historyBins - 1;
  switch (protocol.target) {
  case TargetBin::Last:
    return 0;
  case TargetBin::Middle:
    return last - last / 2;
  case TargetBin::First:
    return last;
  }
  return 0;
}

void checkFuture(const ProtocolDescription &protocol, double binMs,
                 LintReport &report) {
  if (const double ahead = binsAhead(protocol) * binMs; ahead > 0)
    report.faults.push_back(
        {"future-data", "",
         fmt::format("the window reaches {:g} ms past the bin of its target; "
                     "predict the window's last bin",
                     ahead),
         ahead});
  if (protocol.smoothing == Smoothing::Symmetric && protocol.smoothingMs > 0) {
    const double ahead = kKernelReach * protocol.smoothingMs;
    report.faults.push_back(
        {"future-data", "",
         fmt::format("spikes are smoothed with a symmetric kernel of {:g} ms, "
                     "which brings spikes from about {:g} ms later; take a "
                     "causal kernel",
                     protocol.smoothingMs, ahead),
         ahead});
  }
}

void checkScale(const ProtocolDescription &protocol, LintReport &report) {
  if (!protocol.scaleFromTrain)
    report.faults.push_back(
        {"held-out-statistics", "",
         "z-scores come from all samples, val and test among them; take mean "
         "and deviation from train only",
         1});
}

//===- Overlap ------------------------------------------------------------===//

/// Windows on bins that count through a recording, `first` to `last` included.
struct SplitWindow {
  int64_t first = 0;
  int64_t last = 0;
  Split split = Split::Train;
};

/// Windows of every segment, split at random as if they were apart.
std::vector<SplitWindow> drawWindows(const WindowIndex &index,
                                     const DataSpec &spec) {
  std::vector<int64_t> order(size_t(index.size()));
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), Random(spec.seed));
  std::vector<int64_t> segmentFirst = {0};
  for (size_t i = 0; i < index.segments().size(); ++i)
    segmentFirst.push_back(segmentFirst.back() + index.bins(int64_t(i)));
  std::vector<SplitWindow> windows;
  for (size_t i = 0; i < order.size(); ++i) {
    const Window window = index.at(order[i]);
    const int64_t origin = segmentFirst[size_t(window.segment)];
    const double place = (double(i) + 0.5) / double(order.size());
    windows.push_back({origin + std::max<int64_t>(0, window.firstBin),
                       origin + window.firstBin + spec.historyBins - 1,
                       place < 0.6   ? Split::Train
                       : place < 0.8 ? Split::Val
                                     : Split::Test});
  }
  return windows;
}

/// Windows that end in a piece but begin where their gap-free segment allows.
std::vector<SplitWindow> crossingWindows(const std::vector<Interval> &segments,
                                         const Pieces &cut,
                                         const DataSpec &spec) {
  std::vector<SplitWindow> windows;
  int64_t origin = 0;
  size_t piece = 0;
  for (const Interval &segment : segments) {
    const int64_t bins = binOf(segment.stop, segment.start, spec.binMs);
    for (int64_t last = 0; last < bins; last += spec.strideBins) {
      const double time =
          segment.start + (double(last) + 0.5) * spec.binMs / 1000;
      while (piece < cut.pieces.size() && cut.pieces[piece].time.stop <= time)
        ++piece;
      if (piece < cut.pieces.size() && cut.pieces[piece].time.start <= time)
        windows.push_back(
            {origin + std::max<int64_t>(0, last - spec.historyBins + 1),
             origin + last, cut.pieces[piece].split});
    }
    origin += bins;
  }
  return windows;
}

/// How many val and test windows share a bin with a train window, and of how
/// many.
std::pair<int64_t, int64_t>
countOverlaps(const std::vector<SplitWindow> &windows) {
  int64_t bins = 0;
  for (const SplitWindow &window : windows)
    bins = std::max(bins, window.last + 1);
  // Differences, then sums: train windows over each bin, then bins so far that
  // have one.
  std::vector<int64_t> covered(size_t(bins) + 1, 0);
  for (const SplitWindow &window : windows)
    if (window.split == Split::Train) {
      ++covered[size_t(window.first)];
      --covered[size_t(window.last) + 1];
    }
  std::partial_sum(covered.begin(), covered.end(), covered.begin());
  std::vector<int64_t> before(size_t(bins) + 1, 0);
  for (size_t bin = 0; bin < size_t(bins); ++bin)
    before[bin + 1] = before[bin] + (covered[bin] > 0);
  int64_t shared = 0, held = 0;
  for (const SplitWindow &window : windows)
    if (window.split != Split::Train) {
      ++held;
      shared += before[size_t(window.last) + 1] > before[size_t(window.first)];
    }
  return {shared, held};
}

Status checkOverlap(const ProtocolDescription &protocol, const DataSpec &spec,
                    const Recording &recording, LintReport &report) {
  if (protocol.split == SplitBy::Trial && !protocol.crossesTrials)
    return Status::ok(); // pieces are disjoint, and windows stay inside
  BETZ_ASSIGN_OR_RETURN(Segmentation observed,
                        findSegments(recording, nullptr));
  std::vector<SplitWindow> windows;
  if (protocol.split == SplitBy::Window) {
    WindowSpec window;
    window.binMs = spec.binMs;
    window.windowBins = spec.historyBins;
    window.strideBins = spec.strideBins;
    window.padStart = protocol.padded;
    BETZ_ASSIGN_OR_RETURN(
        WindowIndex index,
        WindowIndex::build(std::move(observed.segments), window));
    windows = drawWindows(index, spec);
  } else {
    BETZ_ASSIGN_OR_RETURN(Pieces cut,
                          cutPieces(recording, spec.binMs, spec.seed));
    windows = crossingWindows(observed.segments, cut, spec);
  }
  const auto [shared, held] = countOverlaps(windows);
  if (shared > 0)
    report.faults.push_back(
        {"overlapping-splits", recording.file.string(),
         fmt::format("{} of {} val and test windows share bins with train "
                     "windows; split by trial and let no window begin before "
                     "its trial",
                     shared, held),
         double(shared) / double(held)});
  return Status::ok();
}

//===- Behaviour across gaps ----------------------------------------------===//

void checkRowNumbers(const Series &series, const std::string &file,
                     LintReport &report) {
  const double step = series.medianStep();
  double worst = 0;
  for (size_t row = 0; row < series.time.size(); ++row)
    worst = std::max(worst, std::abs(series.time[row] - series.time[0] -
                                     double(row) * step));
  if (worst > kRowTolerance * step)
    report.faults.push_back(
        {"gap-blind-behavior", file,
         fmt::format("rows of {} are taken by their number, but gaps put them "
                     "up to {:.3f} s off against the spikes; take them by "
                     "their time",
                     series.info.name, worst),
         worst});
}

void checkInterpolation(const Series &series, const std::string &file,
                        LintReport &report) {
  const double step = series.medianStep();
  double before = NAN, missing = 0;
  for (int64_t row = 0; row < series.info.rows; ++row) {
    if (series.isMissing(row))
      continue;
    const double time = series.time[size_t(row)];
    if (time - before > kGapSteps * step)
      missing += time - before - step;
    before = time;
  }
  const double share = missing / (series.time.back() - series.time.front());
  if (missing > 0)
    report.faults.push_back(
        {"gap-blind-behavior", file,
         fmt::format(
             "{} is interpolated across gaps of {:.3f} s in all, {:.1f} "
             "% of the time; leave out bins without a row",
             series.info.name, missing, 100 * share),
         share});
}

Status checkGaps(const ProtocolDescription &protocol,
                 const Recording &recording, LintReport &report) {
  if (protocol.rows == BehaviorRows::Time)
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(const SeriesInfo *info,
                        recording.chooseSeries(protocol.spec.series));
  if (!info || info->rows < 2)
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(Series series, loadSeries(*info));
  if (protocol.rows == BehaviorRows::Number)
    checkRowNumbers(series, recording.file.string(), report);
  else
    checkInterpolation(series, recording.file.string(), report);
  return Status::ok();
}

//===- Time ---------------------------------------------------------------===//

/// A split's samples of one session: behaviour and bin in the piece.
struct ClockRows {
  Table behavior;
  std::vector<int64_t> bin;
};

ClockRows clockRows(const Dataset &dataset, int64_t session, Split split) {
  const Table all = behaviorOf(dataset, split);
  ClockRows out;
  out.behavior.columns = all.columns;
  std::span<const Sample> samples = dataset.samples(split);
  for (size_t row = 0; row < samples.size(); ++row)
    if (samples[row].session == session) {
      auto first = all.values.begin() + std::ptrdiff_t(row) * all.columns;
      out.behavior.values.insert(out.behavior.values.end(), first,
                                 first + all.columns);
      ++out.behavior.rows;
      out.bin.push_back(dataset.binInPiece(samples[row]));
    }
  return out;
}

void checkClock(const ProtocolDescription &protocol, const Dataset &dataset,
                LintReport &report) {
  if (!protocol.padded || protocol.crossesTrials)
    return;
  if (dataset.outputs() == 0) {
    report.notes.push_back("time-from-padding is not checked: no behaviour");
    return;
  }
  for (int64_t i = 0; i < dataset.sessions(); ++i) {
    const ClockRows train = clockRows(dataset, i, Split::Train);
    const ClockRows test = clockRows(dataset, i, Split::Test);
    const double r2 =
        score(clockControl(train.behavior, train.bin, test.behavior, test.bin),
              test.behavior)
            .meanR2();
    if (r2 > protocol.clockR2Limit)
      report.faults.push_back(
          {"time-from-padding", dataset.session(i).file.string(),
           fmt::format("time in trial alone, which empty bins before a trial "
                       "tell, scores R² {:.3f} (limit {:g}); take whole "
                       "windows only, or report the score beside it",
                       r2, protocol.clockR2Limit),
           r2});
  }
}

} // namespace

Result<LintReport> lintProtocol(const ProtocolDescription &protocol) {
  LintReport report;
  BETZ_ASSIGN_OR_RETURN(Dataset dataset,
                        Dataset::open(protocol.recordings, protocol.spec));
  checkFuture(protocol, dataset.spec().binMs, report);
  checkScale(protocol, report);
  for (const std::filesystem::path &file : protocol.recordings) {
    BusyLine busy("checking " + file.string());
    BETZ_ASSIGN_OR_RETURN(Recording recording, Recording::open(file));
    BETZ_RETURN_IF_ERROR(
        checkOverlap(protocol, dataset.spec(), recording, report));
    BETZ_RETURN_IF_ERROR(checkGaps(protocol, recording, report));
  }
  checkClock(protocol, dataset, report);
  return report;
}

Json toJson(const LintReport &report) {
  Json faults = Json::array();
  for (const Fault &fault : report.faults)
    faults.push_back({{"rule", fault.rule},
                      {"file", fault.file},
                      {"message", fault.message},
                      {"value", fault.value}});
  return {{"ok", report.faults.empty()},
          {"faults", std::move(faults)},
          {"notes", report.notes}};
}

} // namespace betz::train
