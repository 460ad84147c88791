//===- visibility.cuh - Which keys a query of an attention sees -----------===//
#pragma once

#include "base.cuh"

namespace betz {

/// Rows of K and V that belong to a batch element; row splits are i32.
struct KeyRange {
  int first, end;
};

/// What a query sees of them.
struct QueryView {
  int lastKey;          // causal: the last row
  int earliest, latest; // times
  int mapRow;
};

/// Spec: ragged, keys, causal, queries, timed, mapped, mapBlock, mapColumns;
/// splits, keyTime, bounds, blockMap pointers where these are set.
template <typename Spec>
__device__ __forceinline__ KeyRange keyRange(const Spec &spec, int64 batch) {
  if constexpr (Spec::ragged)
    return {spec.splits[batch], spec.splits[batch + 1]};
  else
    return {int(batch * Spec::keys), int((batch + 1) * Spec::keys)};
}

/// The batch element that a row of K and V belongs to. Spec: batches(extents).
template <typename Spec>
__device__ __forceinline__ int64 batchOf(const Spec &spec, int row,
                                         const int64 *extents) {
  if constexpr (Spec::ragged) {
    int64 low = 0, high = Spec::batches(extents) - 1;
    while (low < high) {
      const int64 middle = (low + high) / 2;
      if (spec.splits[middle + 1] <= row)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  } else {
    return row / Spec::keys;
  }
}

template <typename Spec>
__device__ __forceinline__ QueryView viewOf(const Spec &spec, int query,
                                            const KeyRange &keys) {
  QueryView view = {};
  if constexpr (Spec::causal)
    view.lastKey = keys.end - Spec::queries + query;
  if constexpr (Spec::timed) {
    view.earliest = spec.bounds[2 * query];
    view.latest = spec.bounds[2 * query + 1];
  }
  if constexpr (Spec::mapped)
    view.mapRow = query / Spec::mapBlock * Spec::mapColumns;
  return view;
}

/// `time` is that of `key`, where keys have times.
template <typename Spec>
__device__ __forceinline__ bool sees(const Spec &spec, const QueryView &view,
                                     const KeyRange &keys, int key, int time) {
  bool seen = true;
  if constexpr (Spec::causal)
    seen = key <= view.lastKey;
  if constexpr (Spec::timed)
    seen = seen && view.earliest <= time && time <= view.latest;
  if constexpr (Spec::mapped) {
    const int column = (key - keys.first) / Spec::mapBlock;
    seen = seen && column < Spec::mapColumns &&
           spec.blockMap[view.mapRow + column] != 0;
  }
  return seen;
}

} // namespace betz
