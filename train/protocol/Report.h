//===- Report.h - The protocol, before anything is trained ----------------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "train/baselines/Kalman.h"
#include "train/baselines/Ridge.h"
#include "train/data/Dataset.h"

#include <array>
#include <string>
#include <vector>

namespace betz::train {

/// R² on test of one predictor, averaged over outputs.
struct BaselineScore {
  std::string name;
  /// What val chose; empty for controls.
  std::string setting;
  double testR2 = 0;
  /// Over the bins that are not at rest.
  double movingR2 = 0;
  /// 95 % by bootstrap over trials.
  Confidence interval;
};

/// One recording under a protocol.
struct SessionReport {
  std::string file;
  int64_t units = 0;
  std::string splitSource;
  /// Trials, or blocks, and samples; by split.
  std::array<int64_t, kSplits.size()> pieces{};
  std::array<int64_t, kSplits.size()> samples{};
  bool piecesAreTrials = true;
  /// Train pieces whose behaviour is used.
  int64_t labelledPieces = 0;
  double secondsLeftOut = 0;
  int64_t samplesWithoutTarget = 0;
  /// The rest is of recordings with behaviour.
  std::string target;
  std::string targetUnit;
  /// Of train samples, by column.
  std::vector<double> targetVariance;
  /// A bin is at rest below this speed, in the target's own unit.
  double restSpeed = 0;
  double restShare = 0;
  std::vector<BaselineScore> scores;
};

struct ProtocolReport {
  DataSpec spec;
  std::vector<SessionReport> sessions;
  std::vector<std::string> warnings;
};

struct Baselines {
  RidgeDecoder ridge;
  KalmanDecoder kalman;
};

/// Fails without behaviour.
Result<Baselines> fitBaselines(const Dataset &dataset);

/// Counts, and scores the baselines; null where there is no behaviour.
Result<ProtocolReport> describeProtocol(const Dataset &dataset,
                                        const Baselines *baselines);
/// Fits them first.
Result<ProtocolReport> describeProtocol(const Dataset &dataset);

std::string toText(const ProtocolReport &report);
Json toJson(const ProtocolReport &report);

} // namespace betz::train
