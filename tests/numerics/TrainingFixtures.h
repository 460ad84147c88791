//===- TrainingFixtures.h - Fixtures as training steps --------------------===//
#pragma once

#include "frontend/Frontend.h"
#include "ir/reference/Tensor.h"
#include "passes/TrainingStep.h"

namespace betz {

/// A fixture's model, weights and batch. The spike head's queries are dense
/// rows, longer than the longest window needs: the rest have no label.
struct Fixture {
  ModelDescription model;
  reference::TensorMap weights, cases;
  /// Of the spike head, a window; 0 if the fixture has none.
  int64_t queries;
};

Result<Fixture> readFixture(const std::string &weightsPath,
                            const std::string &casesPath);

/// A step against the input `target`, and `query_value` of the spike head.
Result<passes::TrainingModule> makeStep(mlir::MLIRContext &context,
                                        const Fixture &fixture,
                                        passes::TrainingOptions options);

reference::Tensor zeros(int64_t size);

/// The named weights in their places, trained or frozen.
reference::Tensor flatten(const passes::TrainingModule &step,
                          const reference::TensorMap &weights, bool frozen);

/// The trained parameters in a flat tensor, by name.
reference::TensorMap unflatten(const passes::TrainingModule &step,
                               const reference::Tensor &flat,
                               const std::string &prefix);

} // namespace betz
