//===- Gru.h - A recurrent decoder as a betz module -----------------------===//
//
// The baseline that trained decoders are held to: a gated recurrent unit (Cho
// et al., 2014) over binned counts, unrolled, as torch.nn.GRU computes it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Module.h"

namespace betz {

struct GruConfig {
  int64_t units = 0; // inputs a bin
  int64_t bins = 0;
  int64_t hidden = 128;
  int64_t layers = 2;
  int64_t outputs = 2;
  /// Chances that a number is silent, of each layer's input and of the last
  /// hidden state. Above zero `@main` takes `dropout_seed`, i32[2].
  double inputDropout = 0, outputDropout = 0;
};

/// Builds a module in the model phase: `counts` f32[B, bins, units] to
/// `behavior` f32[B, outputs], a linear map of the last bin's hidden state.
/// Weights have PyTorch's names ("rnn.weight_ih_l0", "head.weight").
mlir::OwningOpRef<mlir::ModuleOp> buildGru(mlir::MLIRContext &context,
                                           const GruConfig &config);

} // namespace betz
