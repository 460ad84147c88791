//===- TrainingStep.h - From a model to one step of its training ----------===//
#pragma once

#include "ir/Module.h"

#include <string>
#include <vector>

namespace betz::passes {

/// How an output of the model is scored. The total loss is the sum of
/// `weight` times each.
struct TrainingLoss {
  enum class Kind {
    /// Against an input of the output's type.
    MeanSquaredError,
    /// Of logits `[..., C]`, against an i32 input `[...]`; -1 is left out.
    CrossEntropy,
  };
  /// The model's output, and the input that holds what it should be.
  std::string output, target;
  Kind kind = Kind::MeanSquaredError;
  double weight = 1;
};

struct TrainingOptions {
  std::vector<TrainingLoss> losses = {};
  /// Weights, by name or by a prefix that ends in a dot, that stay as they are.
  std::vector<std::string> frozen = {};
  /// Whether the model computes in bf16. Weights, moments and losses are f32
  /// all the same.
  bool narrow = false;
  /// Whether the step gives the flat gradient and leaves the update out.
  bool gradientsOnly = false;
  /// Whether the gradient of earlier batches, input `accumulated`, is added.
  bool accumulate = false;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weightDecay = 0.01;
  /// Largest norm of the whole gradient; 0 for no limit.
  double clip = 1;
};

/// Where a weight lies in the flat tensor of its kind, trained or frozen.
struct ParameterPlace {
  std::string name;
  std::vector<int64_t> shape;
  /// In elements, a multiple of kParameterAlignment.
  int64_t offset;
  bool frozen;
};

inline constexpr int64_t kParameterAlignment = 64;

struct TrainingModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// In the order of the model's weights.
  std::vector<ParameterPlace> parameters;
  /// Elements of the flat tensors; `frozenSize` is 0 if nothing is frozen.
  int64_t size = 0, frozenSize = 0;
};

/// Makes a model-phase module whose `@main` is one step of the training of
/// `model`, a module of that phase, which it leaves as it is.
///
/// Inputs: `weights`, `moment1`, `moment2` (f32[P], the trained weights one
/// after the other, and what AdamW remembers of each; zeros between them stay
/// zeros), `frozen` (f32[F], if any are), `schedule` (f32[4], of
/// `betz.adamw`), `accumulated` (f32[P], if asked for), the model's inputs and
/// each loss's target. Outputs: `weights`, `moment1`, `moment2` after the step,
/// or `gradient` (f32[P]) with gradientsOnly; `grad_squares`, `loss` and, of
/// several losses, `loss.OUTPUT` (f32[1]), which are of the weights before it;
/// the model's outputs. The entry "parameters" of the module's metadata is the
/// table of places as JSON.
///
/// An unknown output or weight, a loss that does not suit its output, a name
/// that is taken, and an op without a gradient rule are errors.
Result<TrainingModule> makeTrainingModule(mlir::ModuleOp model,
                                          const TrainingOptions &options);

} // namespace betz::passes
