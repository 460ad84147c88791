#include "train/protocol/Report.h"
#include "train/data/SessionRows.h"
#include "train/score/Controls.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace betz::train {
namespace {

std::vector<double> variances(const Table &table) {
  std::vector<double> out;
  for (int64_t column = 0; column < table.columns; ++column) {
    double mean = 0, variance = 0;
    for (int64_t row = 0; row < table.rows; ++row)
      mean += table.at(row, column) / double(table.rows);
    for (int64_t row = 0; row < table.rows; ++row)
      variance +=
          std::pow(table.at(row, column) - mean, 2) / double(table.rows);
    out.push_back(variance);
  }
  return out;
}

void countPieces(const Dataset &dataset, int64_t number,
                 SessionReport &report) {
  const Session &session = dataset.session(number);
  for (const Piece &piece : session.pieces) {
    ++report.pieces[size_t(piece.split)];
    report.piecesAreTrials &= piece.trial >= 0;
    report.labelledPieces += piece.split == Split::Train && piece.isLabelled;
  }
  for (Split split : kSplits)
    for (const Sample &sample : dataset.samples(split))
      report.samples[size_t(split)] += sample.session == number;
}

/// Of all sessions.
struct Predictions {
  Table ridge;
  Table kalman;
};

void scoreSession(const Dataset &dataset, int64_t number,
                  const Baselines &baselines, const Predictions &predictions,
                  SessionReport &report) {
  const SessionRows train = rowsOf(dataset, number, Split::Train);
  const SessionRows test = rowsOf(dataset, number, Split::Test);
  report.targetVariance = variances(train.behavior);
  report.restSpeed = restThreshold(train.behavior);
  const RowMask moving = movingRows(test.behavior, report.restSpeed);
  const int64_t resting = std::count(moving.begin(), moving.end(), false);
  report.restShare = double(resting) / double(moving.size());
  const uint64_t seed = dataset.spec().seed;
  auto add = [&](std::string name, std::string setting, const Table &table) {
    report.scores.push_back(
        {std::move(name), std::move(setting),
         score(table, test.behavior).meanR2(),
         score(table, test.behavior, moving).meanR2(),
         bootstrapR2(table, test.behavior, test.group, seed)});
  };
  add("zero", "", zeroControl(test.behavior));
  add("mean", "", meanControl(train.behavior, test.behavior));
  add("clock only", "",
      clockControl(train.behavior, train.binInPiece, test.behavior,
                   test.binInPiece));
  const Table ridge = takeRows(predictions.ridge, test.rows);
  const RidgeChoice &chosen = baselines.ridge.choice(number);
  add("ridge",
      fmt::format("{} lags of {} bin{}, alpha {:g}", chosen.lags,
                  chosen.binsPerLag, chosen.binsPerLag == 1 ? "" : "s",
                  chosen.alpha),
      ridge);
  add("ridge, rotated", "", rotatedControl(ridge, seed));
  const KalmanChoice &filter = baselines.kalman.choice(number);
  add("Kalman",
      fmt::format("lag {} bins, state {}", filter.lag,
                  filter.displacement ? "velocity and displacement"
                                      : "velocity"),
      takeRows(predictions.kalman, test.rows));
}

SessionReport describeSession(const Dataset &dataset, int64_t number) {
  const Session &session = dataset.session(number);
  SessionReport report;
  report.file = session.file.string();
  report.units = session.units();
  report.splitSource = session.splitSource;
  report.secondsLeftOut = session.secondsLeftOut;
  report.samplesWithoutTarget = session.binsWithoutTarget;
  countPieces(dataset, number, report);
  if (session.behavior) {
    report.target = session.behavior->name;
    report.targetUnit = session.behavior->unit;
  }
  return report;
}

//===- Text ---------------------------------------------------------------===//

std::string sizes(const std::array<int64_t, kSplits.size()> &counts) {
  return fmt::format("train {}, val {}, test {}", counts[0], counts[1],
                     counts[2]);
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "-";
}

std::string scoreText(const BaselineScore &score) {
  return fmt::format("  {:<15} {:>7} {:>7}   {:>7} .. {:<7} {}\n", score.name,
                     number(score.testR2), number(score.movingR2),
                     number(score.interval.low), number(score.interval.high),
                     score.setting);
}

std::string sessionText(const SessionReport &session) {
  std::string text =
      fmt::format("\n{}\n  {} units; split {}: {} {}; samples {}\n",
                  session.file, session.units, session.splitSource,
                  session.piecesAreTrials ? "trials" : "blocks",
                  sizes(session.pieces), sizes(session.samples));
  if (session.secondsLeftOut > 0.0005)
    text += fmt::format("  {:.3f} s observed outside of these are left out\n",
                        session.secondsLeftOut);
  if (session.labelledPieces < session.pieces[0])
    text += fmt::format("  behaviour of {} of the {} train {} is used\n",
                        session.labelledPieces, session.pieces[0],
                        session.piecesAreTrials ? "trials" : "blocks");
  if (session.target.empty())
    return text + "  no behaviour: samples have events only\n";
  text += fmt::format("  target {} in {}, variance", session.target,
                      session.targetUnit);
  for (double variance : session.targetVariance)
    text += fmt::format(" {:.4g}", variance);
  text += fmt::format("; {:.1f} % of test bins at rest (speed below {:.4g})\n",
                      100 * session.restShare, session.restSpeed);
  text += fmt::format("  {:<15} {:>7} {:>7}   {}\n", "R² on test", " all",
                      "moving", "95 % over trials");
  for (const BaselineScore &score : session.scores)
    text += scoreText(score);
  return text;
}

Json toJson(const std::array<int64_t, kSplits.size()> &counts) {
  Json json = Json::object();
  for (Split split : kSplits)
    json[std::string(toString(split))] = counts[size_t(split)];
  return json;
}

/// JSON has no NaN.
Json toJson(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json toJson(const SessionReport &session) {
  Json json = {
      {"file", session.file},
      {"units", session.units},
      {"split_source", session.splitSource},
      {session.piecesAreTrials ? "trials" : "blocks", toJson(session.pieces)},
      {session.piecesAreTrials ? "labelled_trials" : "labelled_blocks",
       session.labelledPieces},
      {"samples", toJson(session.samples)},
      {"seconds_left_out", session.secondsLeftOut},
      {"samples_without_target", session.samplesWithoutTarget}};
  if (session.target.empty())
    return json;
  json["target"] = session.target;
  json["target_unit"] = session.targetUnit;
  json["target_variance"] = session.targetVariance;
  json["rest_speed"] = session.restSpeed;
  json["rest_share"] = session.restShare;
  Json &scores = json["test_r2"] = Json::object();
  for (const BaselineScore &score : session.scores)
    scores[score.name] = {{"all", toJson(score.testR2)},
                          {"moving", toJson(score.movingR2)},
                          {"low", toJson(score.interval.low)},
                          {"high", toJson(score.interval.high)},
                          {"setting", score.setting}};
  return json;
}

} // namespace

Result<Baselines> fitBaselines(const Dataset &dataset) {
  BETZ_ASSIGN_OR_RETURN(RidgeDecoder ridge, RidgeDecoder::fit(dataset));
  BETZ_ASSIGN_OR_RETURN(KalmanDecoder kalman, KalmanDecoder::fit(dataset));
  return Baselines{std::move(ridge), std::move(kalman)};
}

Result<ProtocolReport> describeProtocol(const Dataset &dataset,
                                        const Baselines *baselines) {
  ProtocolReport report;
  report.spec = dataset.spec();
  report.warnings = dataset.warnings();
  for (int64_t i = 0; i < dataset.sessions(); ++i)
    report.sessions.push_back(describeSession(dataset, i));
  if (!baselines)
    return report;
  Predictions predictions;
  BETZ_ASSIGN_OR_RETURN(predictions.ridge,
                        baselines->ridge.predict(dataset, Split::Test));
  BETZ_ASSIGN_OR_RETURN(predictions.kalman,
                        baselines->kalman.predict(dataset, Split::Test));
  for (int64_t i = 0; i < dataset.sessions(); ++i)
    scoreSession(dataset, i, *baselines, predictions,
                 report.sessions[size_t(i)]);
  return report;
}

Result<ProtocolReport> describeProtocol(const Dataset &dataset) {
  if (dataset.outputs() == 0)
    return describeProtocol(dataset, nullptr);
  BETZ_ASSIGN_OR_RETURN(Baselines baselines, fitBaselines(dataset));
  return describeProtocol(dataset, &baselines);
}

std::string toText(const ProtocolReport &report) {
  const DataSpec &spec = report.spec;
  std::string text =
      fmt::format("Window   {} bins of {:g} ms ({:g} ms), one every {} bin{}\n",
                  spec.historyBins, spec.binMs, spec.historyBins * spec.binMs,
                  spec.strideBins, spec.strideBins == 1 ? "" : "s");
  text += "Target   mean of the behaviour in the window's last bin; no later "
          "spike is seen\n";
  if (spec.targetTimes > 1)
    text += fmt::format(
        "         trained at {} times {} bins apart: all but the last see up "
        "to {:g} ms ahead and are not scored\n",
        spec.targetTimes, spec.targetStepBins,
        (spec.targetTimes - 1) * spec.targetStepBins * spec.binMs);
  text += "Padding  bins before a trial or block are empty, which tells time "
          "in trial: see clock only\n"
          "Scale    z-scores by mean and deviation of train bins only\n";
  for (const SessionReport &session : report.sessions)
    text += sessionText(session);
  for (const std::string &warning : report.warnings)
    text += fmt::format("warning: {}\n", warning);
  return text;
}

Json toJson(const ProtocolReport &report) {
  Json sessions = Json::array();
  for (const SessionReport &session : report.sessions)
    sessions.push_back(toJson(session));
  const DataSpec &spec = report.spec;
  return {{"bin_ms", spec.binMs},
          {"history_bins", spec.historyBins},
          {"stride_bins", spec.strideBins},
          {"target", "last bin"},
          {"target_times", spec.targetTimes},
          {"target_step_bins", spec.targetStepBins},
          {"padding", "empty bins before a trial or block"},
          {"scale", "train"},
          {"seed", spec.seed},
          {"sessions", std::move(sessions)},
          {"warnings", report.warnings}};
}

} // namespace betz::train
