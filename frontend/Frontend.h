//===- Frontend.h - From a model description to a model-phase module ------===//
#pragma once

#include "frontend/ModelConfig.h"
#include "ir/Module.h"

namespace betz {

/// A weight that the model's files carry: its PyTorch name and shape.
struct WeightShape {
  std::string name;
  std::vector<int64_t> shape;
};

/// All outputs that a decoder can give, in order.
inline constexpr const char *kDecoderOutputs[] = {"behavior", "latents_out"};

/// What a decoder has in training only.
struct TrainingParts {
  /// Above zero (Q): the spike head of masked-spike training. Inputs
  /// `query_neuron` and, with a time table, `query_time` (i32[B, Q], in bins
  /// from the window's start); behind the other outputs `spike_logits`
  /// (f32[B, Q, value_buckets]). A window with fewer queries fills up with any
  /// valid ones.
  int64_t spikeQueries = 0;
  /// Above zero: that share of what each attention and MLP adds to the latents
  /// is silent; input `dropout_seed` (i32[2]) decides which.
  double dropout = 0;
  /// Above zero: the weight `session_emb.weight` (f32[sessions, dim]), of which
  /// a row is added to each token and query. Inputs `session` (i32[E]) and
  /// `query_session` (i32[B, Q]) say which. A unit is of one session, so to
  /// decode, its session's row is added to the unit's row of `neuron_emb`.
  int64_t sessions = 0;
};

/// Builds the decoder's module in the model phase. `outputs` picks from
/// kDecoderOutputs; the error names an unknown one. With spike queries it may
/// be empty.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
buildDecoder(mlir::MLIRContext &context, const ModelDescription &model,
             const std::vector<std::string> &outputs,
             const TrainingParts &parts = {});

/// Weights that files carry although inference does not use them
/// (`masked_spike_head`), so that they are no reason for a warning.
std::vector<WeightShape> carriedWeights(const ModelConfig &config);

/// Parameters of the model's weights file, carried ones included.
int64_t countParameters(mlir::ModuleOp module, const ModelConfig &config);

} // namespace betz
