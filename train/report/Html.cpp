#include "train/report/Html.h"
#include "runtime/base/File.h"
#include "runtime/base/Xml.h"
#include "train/report/Figures.h"
#include "train/report/Plot.h"
#include "train/report/Style.h"

#include <cctype>
#include <cmath>
#include <fmt/format.h>

namespace betz::train {
namespace {

std::string number(double value, double step = 0.001) {
  return std::isfinite(value) ? tickText(value, step) : "–";
}

std::string between(const Confidence &interval) {
  return fmt::format("<span class=\"between\">{} to {}</span>",
                     number(interval.low), number(interval.high));
}

std::string plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string pieceName(const Evaluation &evaluation) {
  return evaluation.piecesAreTrials ? "trial" : "block";
}

std::string recordingNames(const Evaluation &evaluation) {
  std::string names;
  for (const SessionReport &session : evaluation.protocol.sessions)
    names += (names.empty() ? "" : ", ") +
             std::filesystem::path(session.file).filename().string();
  return escapeXml(names);
}

std::string figures(const std::vector<Figure> &list,
                    std::string_view grid = "grid") {
  std::string html = fmt::format("<div class=\"{}\">\n", grid);
  for (const Figure &figure : list)
    html += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n",
                        figure.svg, figure.caption);
  return html + "</div>\n";
}

std::string bigNumber(std::string_view className, double value,
                      std::string_view below) {
  return fmt::format("<div><span class=\"big {}\">{}</span><small>{}</small>"
                     "</div>\n",
                     className, number(value), below);
}

std::string lead(const Evaluation &evaluation) {
  const ScopeScore &judged = evaluation.judged().scores[0];
  const std::string split(toString(evaluation.split));
  std::string html = "<div class=\"lead\">\n";
  html += bigNumber("judged", judged.score.meanR2(),
                    fmt::format("R² on {}, 95 %: {} to {}", split,
                                number(judged.interval.low),
                                number(judged.interval.high)));
  auto add = [&](std::string_view name, std::string_view below) {
    if (const Predictor *found = evaluation.find(name))
      html += bigNumber("", found->scores[0].score.meanR2(), below);
  };
  add("GRU", "recurrent baseline");
  add("ridge", "ridge on the same bins");
  add(kRotated, "this decoder, spikes rotated");
  add("clock only", "clock only, no spikes");
  return html + "</div>\n";
}

std::string row(const Evaluation &evaluation, size_t predictor, size_t moving) {
  const Predictor &one = evaluation.predictors[predictor];
  const bool isFirstControl =
      one.kind == PredictorKind::Control &&
      evaluation.predictors[predictor - 1].kind != PredictorKind::Control;
  const char *style = predictor == 0                       ? "judged"
                      : one.kind == PredictorKind::Control ? "control"
                                                           : "";
  const Score &all = one.scores[0].score;
  return fmt::format(
      "<tr class=\"{}{}\"><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td>"
      "<td>{}</td></tr>\n",
      style, isFirstControl ? " first" : "", escapeXml(one.name),
      number(all.meanR2()), between(one.scores[0].interval),
      number(one.scores[moving].score.meanR2()),
      number(all.meanCorrelation(), 0.01), sizeText(std::sqrt(all.meanMse())));
}

std::string scoreTable(const Evaluation &evaluation) {
  const std::string unit = escapeXml(evaluation.unit);
  size_t moving = 0;
  for (size_t i = 0; i < evaluation.scopes.size(); ++i)
    if (evaluation.scopes[i].name == kMovingBins)
      moving = i;
  std::string html = fmt::format(
      "<table><thead><tr><th>predictor</th><th>R², 95 %</th><th>moving</th>"
      "<th>corr.</th><th>error, {}</th></tr></thead>\n<tbody>\n",
      unit);
  for (size_t i = 0; i < evaluation.predictors.size(); ++i)
    html += row(evaluation, i, moving);
  return html + "</tbody></table>\n";
}

std::string outputTable(const Evaluation &evaluation) {
  const Score &score = evaluation.judged().scores[0].score;
  std::string html = "<table><thead><tr><th>output</th><th>R²</th>"
                     "<th>corr.</th><th>error</th></tr></thead>\n<tbody>\n";
  for (size_t i = 0; i < score.r2.size(); ++i)
    html +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    i < 3 ? std::string(1, "xyz"[i]) : fmt::to_string(i),
                    number(score.r2[i]), number(score.correlation[i], 0.01),
                    sizeText(std::sqrt(score.mse[i])));
  return html + "</tbody></table>\n";
}

std::string sessionTable(const Evaluation &evaluation) {
  if (evaluation.protocol.sessions.size() < 2)
    return "";
  std::string html = "<h2>By session</h2>\n<table><thead><tr><th>recording</th>"
                     "<th>decoder</th><th>ridge</th></tr></thead>\n<tbody>\n";
  const size_t ridge =
      size_t(evaluation.find("ridge") - evaluation.predictors.data());
  for (size_t i = 0; i < evaluation.protocol.sessions.size(); ++i)
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escapeXml(std::filesystem::path(evaluation.protocol.sessions[i].file)
                      .filename()
                      .string()),
        number(evaluation.bySession[0][i]),
        number(evaluation.bySession[ridge][i]));
  return html + "</tbody></table>\n";
}

/// Notes are for terminals first, where a minus sign is a hyphen.
std::string withMinusSigns(std::string text) {
  for (size_t at = 0; (at = text.find(" -", at)) != std::string::npos; ++at)
    if (at + 2 < text.size() && std::isdigit(uint8_t(text[at + 2])))
      text.replace(at + 1, 1, "−");
  return text;
}

std::string notes(const Evaluation &evaluation) {
  std::string html = "<h2>Before believing it</h2>\n<ul class=\"notes\">\n";
  for (const std::string &note : evaluation.notes)
    html += fmt::format("<li>{}</li>\n", withMinusSigns(escapeXml(note)));
  return html + "</ul>\n";
}

std::string nlbSection(const NlbScore &nlb) {
  auto line = [](std::string_view name, double r2, std::string_view note) {
    return fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", name,
                       number(r2), note);
  };
  return fmt::format(
             "<h2>In the window of NLB’21</h2>\n<p>Behaviour {:g} ms after "
             "bins from {} to {} ms about {} (the window of {}): {} bins. The "
             "benchmark's own regressor reads rates; here those of spikes "
             "smoothed over {:g} ms.</p>\n<table><thead><tr><th>predictor</th>"
             "<th>R²</th><th>sees later spikes</th></tr></thead><tbody>\n",
             nlb.lagMs, number(nlb.startMs, 1), number(nlb.stopMs, 1),
             nlb.align == "start_time" ? "the trial's start" : "movement onset",
             nlb.dataset, nlb.bins, nlb.smoothingMs) +
         line("this decoder", nlb.decoderR2, "no") +
         line("ridge with lags", nlb.ridgeR2, "no") +
         line("smoothed spikes", nlb.smoothedR2, "yes") + "</tbody></table>\n";
}

//===- Protocol -----------------------------------------------------------===//

std::string term(std::string_view name, std::string_view text) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", escapeXml(name),
                     escapeXml(text));
}

std::string sessionTerms(const Evaluation &evaluation,
                         const SessionReport &session) {
  auto sizes = [](const auto &counts) {
    return fmt::format("train {}, val {}, test {}", counts[0], counts[1],
                       counts[2]);
  };
  std::string variance;
  for (double value : session.targetVariance)
    variance += (variance.empty() ? "" : ", ") + sizeText(value);
  std::string html =
      term("recording",
           std::filesystem::path(session.file).filename().string()) +
      term("units", fmt::to_string(session.units)) +
      term("split", fmt::format("{}: {}s {}; bins {}", session.splitSource,
                                pieceName(evaluation), sizes(session.pieces),
                                sizes(session.samples))) +
      term("behaviour",
           fmt::format("{} in {}, variance on train {}; {} % of test bins "
                       "at rest",
                       session.target, session.targetUnit, variance,
                       number(100 * session.restShare, 1)));
  if (session.secondsLeftOut > 0.0005)
    html += term("left out", fmt::format("{} s observed outside of {}s",
                                         number(session.secondsLeftOut, 0.1),
                                         pieceName(evaluation)));
  if (session.samplesWithoutTarget > 0)
    html += term("no behaviour",
                 plural(session.samplesWithoutTarget, "bin") + " left out");
  return html;
}

std::string protocolSection(const Evaluation &evaluation,
                            const ReportFacts &facts) {
  const DataSpec &spec = evaluation.protocol.spec;
  std::string html = "<h2>Protocol</h2>\n<dl>\n";
  html += term("decoder", facts.decoder);
  for (const auto &[name, text] : facts.lines)
    html += term(name, text);
  html += term("window", fmt::format("{} of {:g} ms ({:g} ms), one every {}",
                                     plural(spec.historyBins, "bin"),
                                     spec.binMs, spec.historyBins * spec.binMs,
                                     plural(spec.strideBins, "bin")));
  html += term("target", "the mean of the behaviour in the window's last bin; "
                         "no later spike is seen");
  html += term("before a " + pieceName(evaluation),
               "bins are empty; no window crosses its start");
  for (const SessionReport &session : evaluation.protocol.sessions)
    html += sessionTerms(evaluation, session);
  for (const Predictor &predictor : evaluation.predictors)
    if (!predictor.setting.empty())
      html += term(predictor.name, predictor.setting + ", chosen on val");
  html += term("at rest", "slower than a tenth of the 95th percentile of "
                          "train's speeds; \"moving\" leaves these out");
  html += term("intervals",
               fmt::format("95 % of 1000 resamples of whole {}s, seed {}",
                           pieceName(evaluation), evaluation.seed));
  return html + "</dl>\n";
}

} // namespace

std::string toHtml(const Evaluation &evaluation, const ReportFacts &facts) {
  const SessionReport &session = evaluation.protocol.sessions.front();
  const std::vector<ShownPiece> pieces = choosePieces(evaluation);
  const std::string piece = pieceName(evaluation);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{} decoded from {}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<main>\n",
      escapeXml(session.target), recordingNames(evaluation), kReportStyle);
  html += fmt::format("<h1>{} decoded from {}</h1>\n<p class=\"under\">{} "
                      "{}s and {} bins of the split {}, each predicted from "
                      "the spikes up to its end</p>\n",
                      escapeXml(session.target), recordingNames(evaluation),
                      evaluation.group.back() + 1, piece,
                      evaluation.targets.rows, toString(evaluation.split));
  html += lead(evaluation);
  html += notes(evaluation);
  html += "<h2>Scores</h2>\n<p>Averaged over outputs. Controls in grey see no "
          "spike that could tell the movement.</p>\n" +
          scoreTable(evaluation) + "<h2>By output</h2>\n" +
          outputTable(evaluation);
  html += sessionTable(evaluation);
  html += "<h2>R² in parts of the recording</h2>\n" +
          figures(scoreFigures(evaluation));
  html += fmt::format("<h2>Measured and decoded</h2>\n<p>{}s by their error, "
                      "from those decoded well to the worst: none is picked "
                      "by hand. The number is the error.</p>\n",
                      evaluation.piecesAreTrials ? "Trial" : "Block") +
          figures(traceFigures(evaluation, pieces));
  if (const std::vector<Figure> paths = pathFigures(evaluation, pieces);
      !paths.empty())
    html += "<h2>Paths</h2>\n<p>Velocity summed up from the dot on; the same "
            "scale in each.</p>\n" +
            figures(paths, "grid small");
  std::vector<Figure> more = errorFigures(evaluation);
  for (Figure &figure : unitFigures(evaluation))
    more.push_back(std::move(figure));
  if (!more.empty())
    html += "<h2>Where it errs, and with fewer units</h2>\n" + figures(more);
  if (evaluation.nlb)
    html += nlbSection(*evaluation.nlb);
  html += protocolSection(evaluation, facts);
  return html + "</main>\n</body>\n</html>\n";
}

Status writeReport(const Evaluation &evaluation, const ReportFacts &facts,
                   const Json &json, const std::filesystem::path &folder) {
  BETZ_RETURN_IF_ERROR(writeJsonReport(json, folder / "report.json"));
  return writeFileAtomically(folder / "report.html", toHtml(evaluation, facts));
}

} // namespace betz::train
