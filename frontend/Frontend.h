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

/// Builds the decoder's module in the model phase. `outputs` picks from
/// kDecoderOutputs; the error names an unknown one.
///
/// With `spikeQueries` (Q) above zero the model has the spike head of
/// masked-spike training too: inputs `query_neuron` and, with a time table,
/// `query_time` (i32[B, Q], in bins from the window's start), and behind the
/// other outputs `spike_logits` (f32[B, Q, value_buckets]). A window with fewer
/// queries fills up with any valid ones. `outputs` may then be empty.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
buildDecoder(mlir::MLIRContext &context, const ModelDescription &model,
             const std::vector<std::string> &outputs, int64_t spikeQueries = 0);

/// Weights that files carry although inference does not use them
/// (`masked_spike_head`), so that they are no reason for a warning.
std::vector<WeightShape> carriedWeights(const ModelConfig &config);

/// Parameters of the model's weights file, carried ones included.
int64_t countParameters(mlir::ModuleOp module, const ModelConfig &config);

} // namespace betz
