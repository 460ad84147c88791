#include "train/report/EvaluationParts.h"

#include <algorithm>
#include <fmt/format.h>

namespace betz::train {
namespace {

double r2Of(const Evaluation &evaluation, std::string_view name) {
  return evaluation.find(name)->scores[0].score.meanR2();
}

void noteSplits(const Dataset &dataset, Evaluation &out) {
  for (const SessionReport &session : out.protocol.sessions)
    if (session.splitSource != "file")
      out.notes.push_back(fmt::format(
          "The split is {} (seed {}): a decoder trained under another seed has "
          "seen some of these {}s.",
          session.splitSource, dataset.spec().seed,
          session.piecesAreTrials ? "trial" : "block"));
}

void noteClock(Evaluation &out) {
  const double clock = r2Of(out, "clock only");
  const std::string piece = out.piecesAreTrials ? "trial" : "block";
  if (out.paddedShare > 0)
    out.notes.push_back(fmt::format(
        "{:.0f} % of the windows begin before their {}; the empty bins there "
        "tell the time since its start. That alone scores {:.3f} (clock "
        "only){}",
        100 * out.paddedShare, piece, clock,
        clock > 0.1 ? ": subtract it in thought, or read \"whole windows\"."
                    : "."));
}

void noteRotated(Evaluation &out) {
  constexpr double kSuspicious = 0.05;
  const double rotated = r2Of(out, kRotated);
  out.notes.push_back(
      rotated > kSuspicious
          ? fmt::format("Spikes turned against the behaviour score {:.3f}: "
                        "something but the spikes of the moment tells the "
                        "movement. Find it before the score is believed.",
                        rotated)
          : fmt::format("Spikes turned against the behaviour score {:.3f}, "
                        "about zero or below as they should.",
                        rotated));
}

void noteTrials(Evaluation &out) {
  constexpr int64_t kFew = 20;
  const int64_t pieces = out.group.back() + 1;
  out.notes.push_back(fmt::format(
      "Intervals come from resampling {} {}s{}. They say how much these "
      "matter, not what another day would give.",
      pieces, out.piecesAreTrials ? "trial" : "block",
      pieces < kFew ? ", which are few" : ""));
}

} // namespace

void addNotes(const Dataset &dataset, Evaluation &out) {
  noteRotated(out);
  noteClock(out);
  noteSplits(dataset, out);
  noteTrials(out);
  out.notes.push_back(
      "R² divides by how much these bins move: in a phase of little movement "
      "it is low where the error is small. Compare the error there.");
  if (out.nlb)
    out.notes.push_back(fmt::format(
        "The NLB'21 window is taken on bins of {:g} ms, with behaviour "
        "averaged in the bin; the benchmark has bins of 5 ms and filters. Its "
        "published numbers are of other recordings.",
        out.binMs));
  if (!out.byUnits.empty())
    out.notes.push_back("With units silent the decoder is not trained anew: "
                        "one trained on few units would do better.");
  if (dataset.sessions() > 1)
    out.notes.push_back("Several recordings are scored together in deviations "
                        "of each one's train bins; each alone is in the table "
                        "by session.");
  for (const std::string &warning : out.protocol.warnings)
    out.notes.push_back(warning);
}

} // namespace betz::train
