//===- DecoderCases.h - Random decoders, weights and batches --------------===//
#pragma once

#include "frontend/Frontend.h"
#include "ir/reference/Tensor.h"

#include <random>

namespace betz {

using Random = std::mt19937_64;

/// A small decoder of odd sizes: any norm, time and reach, head sizes from 1.
ModelConfig randomConfig(Random &random);

/// "dim 24 heads 3 ...": what a failure needs to say.
std::string describe(const ModelConfig &config);

/// The decoder with both of its outputs.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
buildDecoder(mlir::MLIRContext &context, const ModelConfig &config);

/// f32 numbers for every `betz.weight`; gains and shifts are off their
/// defaults, embeddings of a size that lets no norm's eps vanish.
reference::TensorMap randomWeights(mlir::ModuleOp module, Random &random);

/// A batch with `lengths` events a window, from any origin of time.
reference::TensorMap randomBatch(const ModelConfig &config,
                                 const std::vector<int32_t> &lengths,
                                 Random &random);

/// The batch that consists of `windows` of `batch`, in that order.
reference::TensorMap pickWindows(const reference::TensorMap &batch,
                                 const std::vector<size_t> &windows);

/// Row `window` of an output.
reference::Tensor pickRow(const reference::Tensor &output, size_t window);

} // namespace betz
