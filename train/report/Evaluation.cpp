#include "train/report/Evaluation.h"
#include "train/data/Phases.h"
#include "train/data/SessionRows.h"
#include "train/report/EvaluationParts.h"
#include "train/score/Controls.h"
#include "train/score/NlbVelocity.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz::train {
namespace {

/// A control of each session apart, back in the order of the split.
Table bySession(const Dataset &dataset, Split split, auto control) {
  Table out = behaviorOf(dataset, split);
  for (int64_t i = 0; i < dataset.sessions(); ++i) {
    const SessionRows train = rowsOf(dataset, i, Split::Train);
    const SessionRows rows = rowsOf(dataset, i, split);
    putRows(control(train, rows), rows.rows, out);
  }
  return out;
}

void addRows(const Dataset &dataset, Evaluation &out) {
  std::span<const Sample> samples = dataset.samples(out.split);
  const double binSeconds = dataset.spec().binMs / 1000;
  int64_t padded = 0;
  for (size_t row = 0; row < samples.size(); ++row) {
    const Sample &sample = samples[row];
    const bool samePiece = row > 0 && samples[row - 1].piece == sample.piece &&
                           samples[row - 1].session == sample.session;
    out.group.push_back(row == 0 ? 0 : out.group.back() + !samePiece);
    const int64_t bin = dataset.binInPiece(sample);
    out.seconds.push_back((double(bin) + 0.5) * binSeconds);
    padded += bin < dataset.spec().historyBins - 1;
  }
  out.paddedShare = double(padded) / double(samples.size());
  out.binMs = dataset.spec().binMs;
  out.targets = behaviorOf(dataset, out.split);
  out.unit = dataset.sessions() == 1 ? out.protocol.sessions[0].targetUnit
                                     : "deviations";
  for (const SessionReport &session : out.protocol.sessions)
    out.piecesAreTrials &= session.piecesAreTrials;
  out.alignedTo = haveTrialTimes(dataset, "move_onset_time") ? "move_onset_time"
                  : out.piecesAreTrials                      ? "start_time"
                                                             : "";
  if (!out.alignedTo.empty())
    out.alignedMs = alignedMs(dataset, out.split, out.alignedTo);
}

RowMask movingRowsOf(const Dataset &dataset, Split split) {
  RowMask moving(dataset.samples(split).size(), false);
  for (int64_t i = 0; i < dataset.sessions(); ++i) {
    const SessionRows train = rowsOf(dataset, i, Split::Train);
    const SessionRows rows = rowsOf(dataset, i, split);
    const RowMask mask =
        movingRows(rows.behavior, restThreshold(train.behavior));
    for (size_t row = 0; row < mask.size(); ++row)
      moving[size_t(rows.rows[row])] = mask[row];
  }
  return moving;
}

/// Rows whose window lies in its piece as a whole.
RowMask wholeWindows(const Dataset &dataset, Split split) {
  RowMask whole;
  for (const Sample &sample : dataset.samples(split))
    whole.push_back(dataset.binInPiece(sample) >=
                    dataset.spec().historyBins - 1);
  return whole;
}

void addScopes(const Dataset &dataset, Evaluation &out) {
  // R² of fewer rows is a matter of chance.
  constexpr int64_t kFewestRows = 10;
  const std::string piece = out.piecesAreTrials ? "trial" : "block";
  auto add = [&](std::string name, std::string meaning, RowMask rows,
                 int64_t fewest = kFewestRows) {
    if (std::count(rows.begin(), rows.end(), true) < fewest)
      return false;
    out.scopes.push_back(
        {std::move(name), std::move(meaning), std::move(rows)});
    return true;
  };
  add(std::string(kAllBins),
      fmt::format("a window sliding over every {}", piece),
      RowMask(dataset.samples(out.split).size(), true), 0);
  add(std::string(kMovingBins),
      "bins faster than a tenth of train's 95th percentile",
      movingRowsOf(dataset, out.split), 0);
  add("whole windows",
      fmt::format("no empty bins before the {}, so no clock", piece),
      wholeWindows(dataset, out.split));
  if (out.alignedTo == "move_onset_time")
    add("about onset", "250 ms before to 450 ms after movement onset",
        alignedRows(dataset, out.split, out.alignedTo, -250, 450));
  else if (!out.alignedTo.empty())
    add("trial starts", "the first 600 ms of each trial",
        alignedRows(dataset, out.split, out.alignedTo, 0, 600));
  Phases phases = phasesOf(dataset, out.split);
  for (size_t i = 0; i < phases.names.size(); ++i)
    out.phases +=
        add(phases.names[i], "phase of the trial", std::move(phases.rows[i]));
}

void scorePredictors(const Dataset &dataset, Evaluation &out) {
  for (Predictor &predictor : out.predictors) {
    for (const Scope &scope : out.scopes)
      predictor.scores.push_back(
          {score(predictor.predictions, out.targets, scope.rows),
           bootstrapR2(predictor.predictions, out.targets, out.group, out.seed,
                       1000, scope.rows)});
    std::vector<double> &sessions = out.bySession.emplace_back();
    for (int64_t i = 0; i < dataset.sessions(); ++i) {
      const SessionRows rows = rowsOf(dataset, i, out.split);
      sessions.push_back(score(takeRows(predictor.predictions, rows.rows),
                               takeRows(out.targets, rows.rows))
                             .meanR2());
    }
  }
}

/// Of one session; several have one each.
std::string settingOf(const ProtocolReport &protocol, std::string_view name) {
  if (protocol.sessions.size() == 1)
    for (const BaselineScore &score : protocol.sessions[0].scores)
      if (score.name == name)
        return score.setting;
  return "";
}

/// Of the judged decoder and of ridge.
Status addRotated(const Dataset &dataset, std::span<const Units> units,
                  const Baselines &baselines, const Contestant &judged,
                  Evaluation &out) {
  BETZ_ASSIGN_OR_RETURN(Dataset turned,
                        rotated(*judged.dataset, units, out.split, out.seed));
  BETZ_ASSIGN_OR_RETURN(Table decoder,
                        judged.decoder->predict(turned, out.split));
  out.predictors.push_back({std::string(kRotated),
                            PredictorKind::Control,
                            "",
                            std::move(decoder),
                            {}});
  BETZ_ASSIGN_OR_RETURN(Dataset forRidge,
                        rotated(dataset, units, out.split, out.seed));
  BETZ_ASSIGN_OR_RETURN(Table ridge,
                        baselines.ridge.predict(forRidge, out.split));
  out.predictors.push_back(
      {"ridge, rotated", PredictorKind::Control, "", std::move(ridge), {}});
  return Status::ok();
}

void addControls(const Dataset &dataset, Evaluation &out) {
  auto add = [&](const char *name, Table predictions) {
    out.predictors.push_back(
        {name, PredictorKind::Control, "", std::move(predictions), {}});
  };
  add("clock only",
      bySession(dataset, out.split,
                [](const SessionRows &train, const SessionRows &rows) {
                  return clockControl(train.behavior, train.binInPiece,
                                      rows.behavior, rows.binInPiece);
                }));
  add("mean", bySession(dataset, out.split,
                        [](const SessionRows &train, const SessionRows &rows) {
                          return meanControl(train.behavior, rows.behavior);
                        }));
  add("zero", zeroControl(out.targets));
}

} // namespace

void shareScale(const Dataset &dataset, Split split, Table &rows) {
  if (dataset.sessions() == 1)
    return;
  std::span<const Sample> samples = dataset.samples(split);
  for (int64_t row = 0; row < rows.rows; ++row) {
    const TargetScale &scale =
        dataset.session(samples[size_t(row)].session).scale;
    for (int64_t column = 0; column < rows.columns; ++column)
      rows.at(row, column) =
          (rows.at(row, column) - scale.mean[size_t(column)]) /
          scale.deviation[size_t(column)];
  }
}

const Predictor *Evaluation::find(std::string_view name) const {
  for (const Predictor &predictor : predictors)
    if (predictor.name == name)
      return &predictor;
  return nullptr;
}

Result<Evaluation> evaluate(const Dataset &dataset, const Baselines &baselines,
                            ProtocolReport protocol,
                            const std::vector<Contestant> &contestants,
                            const EvaluationOptions &options) {
  if (!options.nlb.empty() && !nlbWindow(options.nlb))
    return invalidArgument(
        fmt::format("{}: no window of NLB'21; take mc_maze, mc_maze_large, "
                    "mc_maze_medium, mc_maze_small, mc_rtt or area2_bump",
                    options.nlb));
  Evaluation out;
  out.split = options.split;
  out.seed = options.seed;
  out.protocol = std::move(protocol);
  addRows(dataset, out);
  addScopes(dataset, out);
  for (const Contestant &contestant : contestants) {
    BETZ_ASSIGN_OR_RETURN(Table table, contestant.decoder->predict(
                                           *contestant.dataset, out.split));
    out.predictors.push_back(
        {contestant.name, PredictorKind::Decoder, "", std::move(table), {}});
  }
  auto addBaseline = [&](const char *name, const Decoder &decoder) -> Status {
    BETZ_ASSIGN_OR_RETURN(Table table, decoder.predict(dataset, out.split));
    out.predictors.push_back({name,
                              PredictorKind::Baseline,
                              settingOf(out.protocol, name),
                              std::move(table),
                              {}});
    return Status::ok();
  };
  BETZ_RETURN_IF_ERROR(addBaseline("ridge", baselines.ridge));
  BETZ_RETURN_IF_ERROR(addBaseline("Kalman", baselines.kalman));
  BETZ_ASSIGN_OR_RETURN(out.nlb,
                        scoreNlbVelocity(dataset, out.split, options.nlb,
                                         out.judged().predictions,
                                         out.find("ridge")->predictions));
  BETZ_ASSIGN_OR_RETURN(std::vector<Units> units, readUnits(dataset));
  BETZ_RETURN_IF_ERROR(
      addRotated(dataset, units, baselines, contestants.front(), out));
  addControls(dataset, out);
  shareScale(dataset, out.split, out.targets);
  for (Predictor &predictor : out.predictors)
    shareScale(dataset, out.split, predictor.predictions);
  scorePredictors(dataset, out);
  if (options.unitDraws > 0) {
    BETZ_ASSIGN_OR_RETURN(out.byUnits,
                          scoreByUnits(contestants.front(), units, options,
                                       out.judged().scores[0].score.meanR2()));
  }
  addNotes(dataset, out);
  return out;
}

} // namespace betz::train
