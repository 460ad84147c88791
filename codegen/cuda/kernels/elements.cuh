//===- elements.cuh - Kernels that take elements in any order -------------===//
//
// A block takes `tileRows` rows and `tileColumns` columns of the result, a
// thread eight columns of a row at a time, so that one long row is cut too.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "base.cuh"

namespace betz {

/// Calls `body(row, column, valid)`. Spec: rows(extents), columns, tileRows,
/// tileColumns (a multiple of 8), threads.
template <typename Spec, typename Body>
__device__ __forceinline__ void forTile(const int64 *extents, Body body) {
  constexpr int groups = Spec::tileColumns / 8;
  constexpr int tiles =
      (Spec::columns + Spec::tileColumns - 1) / Spec::tileColumns;
  const int64 rows = Spec::rows(extents);
  const int64 firstRow = int64(blockIdx.x / tiles) * Spec::tileRows;
  const int firstColumn = int(blockIdx.x % tiles) * Spec::tileColumns;
  for (int i = threadIdx.x; i < Spec::tileRows * groups; i += Spec::threads) {
    const int64 row = firstRow + i / groups;
    const int column = firstColumn + i % groups * 8;
    if (row < rows && column < Spec::columns)
      body(row, column, min(Spec::columns - column, 8));
  }
}

/// FillCore.
template <typename Spec, typename Epilogue>
__device__ __forceinline__ void fill(const Epilogue &epilogue,
                                     const int64 *extents) {
  forTile<Spec>(extents, [&](int64 row, int column, int valid) {
    float values[8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
      values[i] = Spec::value;
    epilogue.finish(values, row, column, valid);
  });
}

/// A part of a JoinCore: columns [begin, end) of the result.
struct JoinPart {
  int begin, end, operand;
  /// Sixteen bytes of it are a group of the result's columns.
  bool aligned;
  int64 stride, offset;
};

/// JoinCore: Spec has Element, partCount; `parts` are in order of columns.
template <typename Spec, typename Pointers, typename Epilogue>
__device__ __forceinline__ void
joinParts(const JoinPart *parts, const Pointers &operands,
          const Epilogue &epilogue, const int64 *extents) {
  using Element = typename Spec::Element;
  auto at = [&](const JoinPart &part, int64 row, int column) {
    return static_cast<const Element *>(operands.pointers[part.operand]) +
           part.offset + row * part.stride + (column - part.begin);
  };
  forTile<Spec>(extents, [&](int64 row, int column, int valid) {
    int number = 0, end = Spec::partCount; // the first part that ends later
    while (number < end) {
      const int middle = (number + end) / 2;
      if (parts[middle].end <= column)
        number = middle + 1;
      else
        end = middle;
    }
    float values[8] = {};
    if (number < Spec::partCount && parts[number].aligned &&
        parts[number].begin <= column && column + 8 <= parts[number].end) {
      loadColumns<8, true>(values, at(parts[number], row, column), 8);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        while (number < Spec::partCount && parts[number].end <= column + i)
          ++number;
        if (i < valid && number < Spec::partCount &&
            parts[number].begin <= column + i)
          values[i] = toFloat(*at(parts[number], row, column + i));
      }
    }
    epilogue.finish(values, row, column, valid);
  });
}

/// Columns that the same thread writes later.
template <bool aligned>
__device__ __forceinline__ void loadOwn(float (&values)[8], const float *from,
                                        int valid) {
  if constexpr (aligned) {
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      const float4 four = *reinterpret_cast<const float4 *>(from + i);
      values[i] = four.x, values[i + 1] = four.y;
      values[i + 2] = four.z, values[i + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      values[i] = i < valid ? from[i] : 0.0f;
  }
}

/// AdamwCore: Spec has beta1, rest1 (1 - beta1), beta2, rest2, eps, decay, clip
/// (0 for none), aligned (all vectors); weights, moment1, moment2, gradient,
/// squares, schedule; newWeights, newMoment1, newMoment2, which may be the
/// memory of the first three.
template <typename Spec>
__device__ __forceinline__ void adamw(const Spec &spec, const int64 *extents) {
  const float rate = spec.schedule[0];
  const float scale1 = spec.schedule[1], scale2 = spec.schedule[2];
  float factor = spec.schedule[3];
  if constexpr (Spec::clip > 0.0f) {
    const float norm = factor * sqrtf(spec.squares[0]);
    factor *= fminf(1.0f, Spec::clip / (norm + 1e-6f));
  }
  const float kept = 1.0f - rate * Spec::decay;
  forTile<Spec>(extents, [&](int64, int column, int valid) {
    float weights[8], first[8], second[8], gradient[8];
    loadOwn<Spec::aligned>(weights, spec.weights + column, valid);
    loadOwn<Spec::aligned>(first, spec.moment1 + column, valid);
    loadOwn<Spec::aligned>(second, spec.moment2 + column, valid);
    loadColumns<8, Spec::aligned>(gradient, spec.gradient + column, valid);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float g = gradient[i] * factor;
      first[i] = fmaf(Spec::beta1, first[i], Spec::rest1 * g);
      second[i] = fmaf(Spec::beta2, second[i], Spec::rest2 * g * g);
      const float size = sqrtf(second[i] * scale2) + Spec::eps;
      weights[i] = weights[i] * kept - rate * (first[i] * scale1) / size;
    }
    storeColumns<8, Spec::aligned, false>(weights, spec.newWeights + column,
                                          valid);
    storeColumns<8, Spec::aligned, false>(first, spec.newMoment1 + column,
                                          valid);
    storeColumns<8, Spec::aligned, false>(second, spec.newMoment2 + column,
                                          valid);
  });
}

} // namespace betz
