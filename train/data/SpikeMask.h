//===- SpikeMask.h - Events to be guessed ---------------------------------===//
#pragma once

#include "train/data/Batch.h"
#include "train/data/Dataset.h"
#include "train/score/Random.h"

#include <vector>

namespace betz::train {

/// Masked-spike training: a share of a row's events is taken out, and their
/// places are asked for together with as many places (of the session's units
/// and of bins that were recorded) where the row has no event, value 0.
struct Masking {
  double share = 0;
  /// Q; maskQueries gives what any row needs.
  int64_t queries = 0;
};

int64_t maskQueries(const Dataset &dataset, double share);

/// Draws which events of a sample are out and which places are asked for;
/// reused from row to row to keep its memory.
class SpikeMask {
public:
  /// For `sample`: adds its queries to `batch`, and marks its masked events.
  void draw(const Dataset &dataset, const Sample &sample,
            const Masking &masking, Random random, Batch &batch);
  /// Whether event i of the sample drawn last is out.
  bool hides(size_t event) const { return hidden[event]; }

private:
  void hideEvents(size_t events, size_t count, Random &random);
  void addQuery(int32_t neuron, int64_t bin, int32_t value, Batch &batch);

  std::vector<bool> hidden;
  /// By place (bin, then unit): whether it has an event or a query.
  std::vector<bool> taken;
  std::vector<uint32_t> order;
};

} // namespace betz::train
