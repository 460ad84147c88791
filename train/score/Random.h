//===- Random.h - Random numbers that depend on their place only ----------===//
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace betz::train {

/// A generator for one place of a run, such as (seed, step, row): the same key
/// gives the same numbers on any machine, whatever was drawn elsewhere.
class Random {
public:
  explicit Random(uint64_t seed, uint64_t a = 0, uint64_t b = 0)
      : state(mix(mix(mix(seed) ^ a) ^ b)) {}

  uint64_t next() { return mix(state += kStep); }
  /// In [0, 1).
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  /// In [0, bound). The bias is below bound / 2^64.
  uint64_t below(uint64_t bound) {
    return uint64_t((unsigned __int128)(next())*bound >> 64);
  }

private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  /// The finaliser of SplitMix64, after a step.
  static uint64_t mix(uint64_t z) {
    z += kStep;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state;
};

template <typename T> void shuffle(std::span<T> items, Random random) {
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[random.below(i)]);
}

} // namespace betz::train
