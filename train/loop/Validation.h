//===- Validation.h - Which weights are best ------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "train/data/Dataset.h"

#include <span>

namespace betz::train {

/// Scores weights on the val split. For one thread at a time.
class Validation {
public:
  virtual ~Validation() = default;

  /// What the score is, for the log: "val_r2".
  virtual const char *name() const = 0;
  /// The flat vectors that train/loop/Parameters.h describes; `frozen` may be
  /// empty.
  virtual Status setWeights(std::span<const float> trained,
                            std::span<const float> frozen) = 0;
  /// The higher the better.
  virtual Result<double> scoreVal(const Dataset &dataset) const = 0;
};

} // namespace betz::train
