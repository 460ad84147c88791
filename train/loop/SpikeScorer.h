//===- SpikeScorer.h - How well masked spikes are guessed -----------------===//
#pragma once

#include "runtime/session/Session.h"
#include "train/data/Batches.h"
#include "train/loop/Validation.h"

#include <memory>

namespace betz::train {

/// Scores a forward program with a spike head: the mean log-likelihood, in nats
/// a place, of what the masked and silent places of val hold. For one thread at
/// a time.
class SpikeScorer : public Validation {
public:
  /// `rows`: samples a step, at most what the program takes. `seed` decides
  /// what is masked.
  static Result<std::shared_ptr<SpikeScorer>>
  create(std::shared_ptr<const Program> program, std::shared_ptr<Device> device,
         int32_t rows, const Masking &masking, uint64_t seed);

  const char *name() const override { return "val_log_likelihood"; }
  Status setWeights(std::span<const float> trained,
                    std::span<const float> frozen) override;
  Result<double> scoreVal(const Dataset &dataset) const override;

private:
  SpikeScorer() = default;
  /// f32[rows, queries, buckets].
  Result<std::vector<float>> logits(const Batch &batch) const;

  std::unique_ptr<betz::Session> session;
  int32_t rows = 0;
  uint32_t output = 0;
  Masking masking;
  uint64_t seed = 0;
};

/// Sum over the queries with a label of the log-probability that softmax of
/// `logits` (a row of `buckets` a query) gives it.
double sumLogLikelihood(std::span<const float> logits, int64_t buckets,
                        std::span<const int32_t> labels);

} // namespace betz::train
