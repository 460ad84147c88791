//===- attention_key_grad.cuh - Gradients of keys and values --------------===//
//
// A block takes a head of keys and 64 of their rows, which may lie in several
// batch elements, a warp 16 rows. It goes through the elements, the query heads
// that read the key head and their queries in order, and computes the weights
// anew from attention_lse (Dao, "FlashAttention-2", 2023). Queries that see none
// of the keys are left out, which changes no bits: they would add zeros.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "attention_mma.cuh"

namespace betz {

/// Spec: as AttentionTile with queryGrad, and rows(extents) of the keys. Shared
/// memory holds the keys, the values, and for each of two stages some queries,
/// their gradients, and their lse and delta.
template <typename Spec> class AttentionKeyGrad {
  static constexpr int D = Spec::headSize, BK = 64;
  static constexpr int BQ = D <= 64 ? 64 : 32; // as many as registers take
  using Products = AttentionMma<D, BQ>;
  static constexpr int pitch = Products::pitch, chunks = D / 8, threads = 128;
  static constexpr int keyBytes = BK * pitch, queryBytes = BQ * pitch;
  static constexpr int stageBytes = 2 * queryBytes + 2 * BQ * 4;
  static constexpr int group = Spec::heads / Spec::kvHeads;

public:
  __device__ __forceinline__ AttentionKeyGrad(const Spec &spec,
                                              unsigned char *shared)
      : spec(spec), memory(shared), keyTile(sharedAddress(shared)),
        warp(warpOf(threadIdx.x)), lane(laneOf(threadIdx.x)) {}

  template <typename Epilogue>
  __device__ __forceinline__ void run(const Epilogue &epilogue,
                                      const int64 *extents) {
    kvHead = int(blockIdx.x % Spec::kvHeads);
    const int64 first = int64(blockIdx.x / Spec::kvHeads) * BK;
    const int64 rows = Spec::rows(extents);
    if (first >= rows)
      return;
    firstKey = int(first);
    endKey = int(min(first + BK, rows));
    loadTile(keyTile, spec.k, Spec::kStride, kvHead, firstKey, endKey, BK);
    loadTile(keyTile + keyBytes, spec.v, Spec::vStride, kvHead, firstKey,
             endKey, BK);
    lastBatch = int(batchOf(spec, endKey - 1, extents));
    at = {int(batchOf(spec, firstKey, extents)), 0, 0};
    enterBatch();
    Step step = nextSeen();
    loadStep(step, 0);
    for (int slot = 0; step.batch <= lastBatch; slot ^= 1) {
      waitCopies<0>();
      __syncthreads(); // copies are there; the other stage is used up
      const Step next = nextSeen();
      loadStep(next, slot ^ 1);
      takeStep(step, slot);
      step = next;
    }
    waitCopies<0>();
    __syncthreads();
    finishRows(epilogue, keySums, Spec::scale, 0);
    __syncwarp();
    finishRows(epilogue, valueSums, 1.0f, Spec::kvHeads * D);
  }

private:
  /// Queries from `query` on of a head (of those that read the key head) of a
  /// batch element.
  struct Step {
    int batch, head, query;
  };

  /// The next queries that may see some of the block's keys; behind the last
  /// batch element if there are none. The same in every thread.
  __device__ __forceinline__ Step nextSeen() {
    while (at.batch <= lastBatch) {
      const Step step = at;
      const bool seen = isSeen();
      advance();
      if (seen)
        return step;
    }
    return at;
  }

  __device__ __forceinline__ void advance() {
    at.query += BQ;
    if (at.query < Spec::queries)
      return;
    at.query = 0;
    if (++at.head < group)
      return;
    at.head = 0;
    ++at.batch;
    enterBatch();
  }

  /// Sets what depends on the batch element alone.
  __device__ __forceinline__ void enterBatch() {
    if (at.batch > lastBatch)
      return;
    const KeyRange keys = keyRange(spec, at.batch);
    pieceFirst = max(keys.first, firstKey);
    pieceEnd = min(keys.end, endKey);
    if constexpr (Spec::skipsByTime) {
      earliest = 0x7fffffff, latest = -0x7fffffff - 1;
#pragma unroll 1 // here and below registers are short
      for (int key = pieceFirst + lane; key < pieceEnd; key += 32) {
        earliest = min(earliest, spec.keyTime[key]);
        latest = max(latest, spec.keyTime[key]);
      }
      earliest = __reduce_min_sync(0xffffffffu, earliest);
      latest = __reduce_max_sync(0xffffffffu, latest);
    }
  }

  __device__ __forceinline__ bool isSeen() const {
    if (pieceFirst >= pieceEnd)
      return false;
    const int last = min(at.query + BQ, Spec::queries) - 1;
    if constexpr (Spec::skipsCausal)
      if (pieceFirst > keyRange(spec, at.batch).end - Spec::queries + last)
        return false;
    if constexpr (Spec::skipsByTime) {
      bool seen = false;
#pragma unroll 1
      for (int q = at.query + lane; q <= last; q += 32)
        seen = seen || (spec.bounds[2 * q] <= latest &&
                        earliest <= spec.bounds[2 * q + 1]);
      if (!__any_sync(0xffffffffu, seen))
        return false;
    }
    if constexpr (Spec::skipsByMap)
      return mapShows(at.query / Spec::mapBlock, last / Spec::mapBlock);
    return true;
  }

  /// Whether one of the map's rows shows one of the piece's columns.
  __device__ __forceinline__ bool mapShows(int firstRow, int lastRow) const {
    const int start = keyRange(spec, at.batch).first;
    const int first = (pieceFirst - start) / Spec::mapBlock;
    const int last =
        min((pieceEnd - 1 - start) / Spec::mapBlock, Spec::mapColumns - 1);
    for (int row = firstRow; row <= lastRow; ++row)
      for (int column = first; column <= last; ++column)
        if (spec.blockMap[row * Spec::mapColumns + column] != 0)
          return true;
    return false;
  }

  /// Copies `count` rows of a head from `first` on; zeros from `end` on.
  __device__ __forceinline__ void loadTile(uint32 to, const bf16 *matrix,
                                           int64 stride, int head, int64 first,
                                           int64 end, int count) const {
#pragma unroll 1 // the addresses of several copies would not fit in registers
    for (int i = threadIdx.x; i < count * chunks; i += threads) {
      const int row = i / chunks, chunk = i % chunks;
      const bool valid = first + row < end;
      copyAsync(to + Products::place(row, chunk),
                matrix + (valid ? (first + row) * stride + head * D + chunk * 8
                                : 0),
                valid ? 16 : 0);
    }
  }

  __device__ __forceinline__ uint32 stageAt(int slot) const {
    return keyTile + 2 * keyBytes + slot * stageBytes;
  }
  /// lse of a stage's queries, then their deltas.
  __device__ __forceinline__ float *numbers(int slot) const {
    return reinterpret_cast<float *>(memory + 2 * keyBytes + slot * stageBytes +
                                     2 * queryBytes);
  }

  /// Starts the copies of a step, if there is one.
  __device__ __forceinline__ void loadStep(const Step &step, int slot) const {
    if (step.batch <= lastBatch) {
      const int head = kvHead * group + step.head;
      const int64 first = int64(step.batch) * Spec::queries;
      const int64 shared = Spec::sharedQuery ? 0 : first;
      loadTile(stageAt(slot), spec.q, Spec::qStride, head, shared + step.query,
               shared + Spec::queries, BQ);
      loadTile(stageAt(slot) + queryBytes, spec.gradient, Spec::gradientStride,
               head, first + step.query, first + Spec::queries, BQ);
      const int q = int(threadIdx.x);
      if (q < BQ && step.query + q < Spec::queries) {
        const int64 from = (first + step.query + q) * Spec::heads + head;
        const uint32 to = sharedAddress(numbers(slot) + q);
        copyWordAsync(to, spec.lse + from);
        copyWordAsync(to + BQ * 4, spec.delta + from);
      }
    }
    commitCopies();
  }

  __device__ __forceinline__ void takeStep(const Step &step, int slot) {
    const uint32 queryTile = stageAt(slot);
    float weights[BQ / 8][4] = {}, slopes[BQ / 8][4] = {};
    Products::score(weights, keyTile, queryTile);
    Products::score(slopes, keyTile + keyBytes, queryTile + queryBytes);
    weigh(weights, slopes, step, numbers(slot));
    Products::add(valueSums, weights, queryTile + queryBytes);
    Products::add(keySums, slopes, queryTile);
  }

  /// From scores, and what their weights are multiplied by, to weights and what
  /// the scores change; zeros where the query does not see the key.
  __device__ __forceinline__ void weigh(float (&weights)[BQ / 8][4],
                                        float (&slopes)[BQ / 8][4],
                                        const Step &step,
                                        const float *lse) const {
    constexpr float log2e = 1.4426950408889634f;
    constexpr float factor = float(Spec::scale * 1.4426950408889634);
    const KeyRange range = keyRange(spec, step.batch);
    int keys[2], times[2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      keys[half] = firstKey + warp * 16 + lane / 4 + half * 8;
      if constexpr (Spec::timed)
        times[half] = spec.keyTime[min(keys[half], endKey - 1)];
    }
#pragma unroll
    for (int n = 0; n < BQ / 8; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int local = n * 8 + lane % 4 * 2 + j, q = step.query + local;
        const QueryView view = viewOf(spec, min(q, Spec::queries - 1), range);
        const float shift = lse[local] * log2e, delta = lse[BQ + local];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int key = keys[half];
          const bool seen = q < Spec::queries && key >= range.first &&
                            key < range.end &&
                            sees(spec, view, range, key, times[half]);
          float &weight = weights[n][half * 2 + j];
          float &slope = slopes[n][half * 2 + j];
          weight = seen ? exp2Fast(fmaf(weight, factor, -shift)) : 0.0f;
          slope = seen ? weight * (slope - delta) : 0.0f;
        }
      }
  }

  /// A warp's 16 rows, through shared memory that nobody reads any more.
  template <typename Epilogue>
  __device__ __forceinline__ void finishRows(const Epilogue &epilogue,
                                             const float (&sums)[D / 8][4],
                                             float factor, int column) {
    constexpr int width = D + 4;
    float *rows = reinterpret_cast<float *>(memory) + warp * 16 * width;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float *row = rows + (lane / 4 + half * 8) * width + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        row[n * 8] = sums[n][half * 2] * factor;
        row[n * 8 + 1] = sums[n][half * 2 + 1] * factor;
      }
    }
    __syncwarp();
    for (int i = lane; i < 16 * chunks; i += 32) {
      const int row = i / chunks, at = i % chunks * 8;
      const int key = firstKey + warp * 16 + row;
      if (key >= endKey)
        continue;
      float values[8];
#pragma unroll
      for (int j = 0; j < 8; ++j)
        values[j] = rows[row * width + at + j];
      epilogue.finish(values, key, column + kvHead * D + at, 8);
    }
  }

  const Spec &spec;
  unsigned char *memory;
  uint32 keyTile;
  int warp, lane;
  int kvHead, firstKey, endKey;
  int lastBatch;
  Step at; // what comes after the steps so far
  int pieceFirst, pieceEnd, earliest, latest; // of at's keys in the block
  float keySums[D / 8][4] = {}, valueSums[D / 8][4] = {};
};

} // namespace betz
