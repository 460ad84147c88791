//===- Decoder.h - What predicts behaviour --------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "train/data/Dataset.h"
#include "train/score/Score.h"

namespace betz::train {

/// Baselines and trained decoders alike, so that they are scored alike.
class Decoder {
public:
  virtual ~Decoder() = default;

  /// One row a sample of `split`, in its order; the behaviour's columns at the
  /// window's last bin, as recorded (not z-scored). Sees the sample's window
  /// only: spikes up to and with its last bin.
  virtual Result<Table> predict(const Dataset &dataset, Split split) const = 0;
};

/// What `predict` should have said.
Table behaviorOf(const Dataset &dataset, Split split);

/// Of predictions for the samples of `split`, the score of each session's.
std::vector<Score> scoreSessions(const Dataset &dataset, Split split,
                                 const Table &predictions);

/// The mean R² over sessions and outputs: units of behaviour may differ.
double meanR2(const std::vector<Score> &sessions);

} // namespace betz::train
