//===- Batch.h - Samples as a step takes them -----------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace betz::train {

/// Reused from step to step to keep its memory.
struct Batch {
  /// i32[E], by sample, then bin, then neuron.
  std::vector<int32_t> neuronId;
  std::vector<int32_t> timeBin;
  std::vector<int32_t> value;
  /// i32[B + 1].
  std::vector<int32_t> rowSplits;
  /// i32[B].
  std::vector<int32_t> session;
  /// f32[B, outputs], z-scored; empty without behaviour.
  std::vector<float> target;
  /// Which sample of the split each row is.
  std::vector<int64_t> sample;
  /// i32[B, Q]: the places asked for, and the value there; -1 where the row
  /// has no more of them. Empty without masking.
  std::vector<int32_t> queryNeuron;
  std::vector<int32_t> queryTime;
  std::vector<int32_t> queryValue;

  int64_t rows() const { return int64_t(sample.size()); }
};

} // namespace betz::train
