//===- Evaluation.h - A decoder's scores, and what to hold them against ---===//
#pragma once

#include "runtime/base/Json.h"
#include "train/data/Decoder.h"
#include "train/protocol/Report.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace betz::train {

/// A trained decoder with the samples that it reads: those of the dataset that
/// is evaluated, perhaps with other value buckets. Both must outlive the
/// evaluation.
struct Contestant {
  std::string name;
  const Decoder *decoder = nullptr;
  const Dataset *dataset = nullptr;
};

struct EvaluationOptions {
  Split split = Split::Test;
  /// Of resamples, rotations and silenced units.
  uint64_t seed = 0;
  /// Draws of units for each number of them; 0 leaves this out.
  int64_t unitDraws = 3;
  /// Whose velocity window to take (nlbWindow); "" for "mc_maze" where trials
  /// have a move_onset_time, else "mc_rtt".
  std::string nlb;
};

/// Rows that are scored together.
struct Scope {
  std::string name;
  /// For people: which bins these are.
  std::string meaning;
  RowMask rows;
};

/// A predictor in one scope.
struct ScopeScore {
  Score score;
  /// Of the mean R², 95 % by bootstrap over trials or blocks.
  Confidence interval;
};

enum class PredictorKind : uint8_t { Decoder, Baseline, Control };

struct Predictor {
  std::string name;
  PredictorKind kind = PredictorKind::Baseline;
  /// What val chose; empty for most.
  std::string setting;
  /// A row a sample.
  Table predictions;
  /// One for each scope, in order.
  std::vector<ScopeScore> scores;
};

/// R² of the decoder with some units silent, not trained anew.
struct UnitCount {
  int64_t units = 0;
  /// One a draw; one in all when no unit is silent.
  std::vector<double> r2;
};

/// The velocity score of NLB'21 in the benchmark's window, on our bins.
struct NlbScore {
  /// Whose window.
  std::string dataset;
  std::string align;
  double startMs = 0, stopMs = 0;
  /// Rounded to whole bins.
  double lagMs = 0;
  int64_t trainBins = 0, bins = 0;
  /// The benchmark's regressor on spikes smoothed by a Gaussian of
  /// `smoothingMs`, which sees later spikes too.
  double smoothingMs = 0;
  double smoothedR2 = 0;
  /// The judged decoder's and ridge's own predictions for the same behaviour;
  /// these see no later spike.
  double decoderR2 = 0, ridgeR2 = 0;
};

struct Evaluation {
  Split split = Split::Test;
  uint64_t seed = 0;
  ProtocolReport protocol;
  /// The first is all bins, the second moving ones; others have ten bins or
  /// more.
  std::vector<Scope> scopes;
  /// The judged decoder first, other decoders, baselines, controls.
  std::vector<Predictor> predictors;
  /// How many of `scopes` at the end are phases of the trial.
  size_t phases = 0;
  std::vector<UnitCount> byUnits;
  std::optional<NlbScore> nlb;
  /// Mean R² of each predictor by session, in its order.
  std::vector<std::vector<double>> bySession;

  /// Rows of the split: what was predicted, which trial or block each belongs
  /// to (from 0), seconds since its start, and milliseconds from `alignedTo`.
  Table targets;
  /// Of targets and predictions: the behaviour's, or "deviations" where several
  /// sessions are scored together (z-scores by each one's train bins).
  std::string unit;
  std::vector<int64_t> group;
  std::vector<double> seconds;
  std::string alignedTo;
  std::vector<double> alignedMs;
  bool piecesAreTrials = true;
  /// Share of rows whose window begins before its trial or block.
  double paddedShare = 0;
  double binMs = 0;

  /// What a reader must know before the scores are believed.
  std::vector<std::string> notes;

  const Predictor &judged() const { return predictors.front(); }
  /// Null where there is none of that name.
  const Predictor *find(std::string_view name) const;
};

inline constexpr std::string_view kAllBins = "all bins";
inline constexpr std::string_view kMovingBins = "moving";
inline constexpr std::string_view kRotated = "spikes rotated";

/// Scores `contestants`, the first of which is judged, with baselines and
/// controls on one split. Predicts several times: spikes rotated, units silent.
/// `protocol` is that of `dataset`. Fails without behaviour, where a decoder
/// fails, or for an unknown `nlb`.
Result<Evaluation> evaluate(const Dataset &dataset, const Baselines &baselines,
                            ProtocolReport protocol,
                            const std::vector<Contestant> &contestants,
                            const EvaluationOptions &options);

/// Keys as `betz train` has always written them (`test_r2`, `baselines`, ...;
/// of another split that split's name comes first), then everything else.
Json toJson(const Evaluation &evaluation);

/// Scores for the terminal.
std::string toText(const Evaluation &evaluation);

} // namespace betz::train
