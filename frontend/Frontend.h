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
Result<mlir::OwningOpRef<mlir::ModuleOp>>
buildDecoder(mlir::MLIRContext &context, const ModelDescription &model,
             const std::vector<std::string> &outputs);

/// Weights that files carry although inference does not use them
/// (`masked_spike_head`), so that they are no reason for a warning.
std::vector<WeightShape> carriedWeights(const ModelConfig &config);

/// Parameters of the model's weights file, carried ones included.
int64_t countParameters(mlir::ModuleOp module, const ModelConfig &config);

} // namespace betz
