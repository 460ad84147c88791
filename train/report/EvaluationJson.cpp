#include "train/report/Evaluation.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace betz::train {
namespace {

/// JSON has no NaN.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json numbers(const std::vector<double> &values) {
  Json list = Json::array();
  for (double value : values)
    list.push_back(number(value));
  return list;
}

Json toJson(const ScopeScore &entry) {
  const Score &score = entry.score;
  return {{"r2", number(score.meanR2())},
          {"low", number(entry.interval.low)},
          {"high", number(entry.interval.high)},
          {"mse", number(score.meanMse())},
          {"correlation", number(score.meanCorrelation())},
          {"r2_by_output", numbers(score.r2)},
          {"mse_by_output", numbers(score.mse)},
          {"correlation_by_output", numbers(score.correlation)}};
}

Json scopesToJson(const Evaluation &evaluation) {
  Json scopes = Json::object();
  for (size_t i = 0; i < evaluation.scopes.size(); ++i) {
    const Scope &scope = evaluation.scopes[i];
    Json &entry = scopes[scope.name];
    entry["meaning"] = scope.meaning;
    entry["bins"] = evaluation.judged().scores[i].score.rows;
    Json &scores = entry["scores"] = Json::object();
    for (const Predictor &predictor : evaluation.predictors)
      scores[predictor.name] = toJson(predictor.scores[i]);
  }
  return scopes;
}

Json toJson(const NlbScore &nlb) {
  return {{"window_of", nlb.dataset},
          {"align", nlb.align},
          {"start_ms", nlb.startMs},
          {"stop_ms", nlb.stopMs},
          {"lag_ms", nlb.lagMs},
          {"train_bins", nlb.trainBins},
          {"bins", nlb.bins},
          {"smoothing_ms", nlb.smoothingMs},
          {"smoothed_spikes_r2", number(nlb.smoothedR2)},
          {"decoder_r2", number(nlb.decoderR2)},
          {"ridge_r2", number(nlb.ridgeR2)}};
}

Json byUnitsToJson(const std::vector<UnitCount> &counts) {
  Json list = Json::array();
  for (const UnitCount &count : counts)
    list.push_back({{"units", count.units}, {"r2", numbers(count.r2)}});
  return list;
}

Json bySessionToJson(const Evaluation &evaluation) {
  Json list = Json::array();
  for (size_t i = 0; i < evaluation.protocol.sessions.size(); ++i) {
    Json entry = {{"file", evaluation.protocol.sessions[i].file}};
    for (size_t p = 0; p < evaluation.predictors.size(); ++p)
      entry["r2"][evaluation.predictors[p].name] =
          number(evaluation.bySession[p][i]);
    list.push_back(std::move(entry));
  }
  return list;
}

std::string text(double value) {
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : "-";
}

} // namespace

Json toJson(const Evaluation &evaluation) {
  const std::string split(toString(evaluation.split));
  const std::vector<ScopeScore> &judged = evaluation.judged().scores;
  Json json = {
      {split + "_r2", number(judged[0].score.meanR2())},
      {split + "_r2_by_output", numbers(judged[0].score.r2)},
      {split + "_mse", number(judged[0].score.meanMse())},
      {split + "_correlation", number(judged[0].score.meanCorrelation())},
      {split + "_r2_interval",
       {number(judged[0].interval.low), number(judged[0].interval.high)}},
      {split + "_rotated_r2",
       number(evaluation.find(kRotated)->scores[0].score.meanR2())}};
  for (size_t i = 0; i < evaluation.scopes.size(); ++i)
    if (evaluation.scopes[i].name == kMovingBins)
      json[split + "_moving_r2"] = number(judged[i].score.meanR2());
  Json &baselines = json["baselines"] = Json::object();
  for (size_t i = 1; i < evaluation.predictors.size(); ++i)
    baselines[evaluation.predictors[i].name] =
        number(evaluation.predictors[i].scores[0].score.meanR2());
  json["split"] = split;
  json["unit"] = evaluation.unit;
  json["seed"] = evaluation.seed;
  json["scopes"] = scopesToJson(evaluation);
  json["by_session"] = bySessionToJson(evaluation);
  json["by_units"] = byUnitsToJson(evaluation.byUnits);
  json["nlb_velocity"] = evaluation.nlb ? toJson(*evaluation.nlb) : Json();
  json["notes"] = evaluation.notes;
  json["protocol"] = toJson(evaluation.protocol);
  return json;
}

std::string toText(const Evaluation &evaluation) {
  const std::string title = fmt::format("R² on {}", toString(evaluation.split));
  std::string out = fmt::format("\n{:<24} {:>7} {:>18} {:>7} {:>9}\n", title,
                                "all", "95 %", "moving", "corr.");
  const size_t moving =
      evaluation.scopes.size() > 1 && evaluation.scopes[1].name == kMovingBins
          ? 1
          : 0;
  for (const Predictor &predictor : evaluation.predictors) {
    const ScopeScore &all = predictor.scores[0];
    out += fmt::format("{:<24} {:>7} {:>18} {:>7} {:>9}\n", predictor.name,
                       text(all.score.meanR2()),
                       fmt::format("{} .. {}", text(all.interval.low),
                                   text(all.interval.high)),
                       text(predictor.scores[moving].score.meanR2()),
                       text(all.score.meanCorrelation()));
  }
  out += fmt::format("\n{:<24} {:>7} {:>7} {:>7} {:>10} {:>8}\n", "by scope",
                     "bins", "decoder", "ridge", "clock only", "rotated");
  for (size_t i = 0; i < evaluation.scopes.size(); ++i) {
    auto r2 = [&](std::string_view name) {
      return text(evaluation.find(name)->scores[i].score.meanR2());
    };
    const ScopeScore &judged = evaluation.judged().scores[i];
    out += fmt::format("{:<24} {:>7} {:>7} {:>7} {:>10} {:>8}\n",
                       evaluation.scopes[i].name, judged.score.rows,
                       text(judged.score.meanR2()), r2("ridge"),
                       r2("clock only"), r2(kRotated));
  }
  if (const std::optional<NlbScore> &nlb = evaluation.nlb)
    out += fmt::format(
        "\nNLB'21 velocity, window of {}: decoder {}, ridge {}, smoothed "
        "spikes {} ({} bins)\n",
        nlb->dataset, text(nlb->decoderR2), text(nlb->ridgeR2),
        text(nlb->smoothedR2), nlb->bins);
  out += "\n";
  for (const std::string &note : evaluation.notes)
    out += fmt::format("note: {}\n", note);
  return out;
}

} // namespace betz::train
