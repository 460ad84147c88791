//===- attention_mma.cuh - Attention on mma.sync --------------------------===//
//
// A block takes one batch element, one head and some queries, a warp 16 of
// them; keys come in blocks of 64 counted from the window's first, the next
// block's copy under this one's products. Online softmax after Dao,
// "FlashAttention-2" (2023). A block that no query of the tile sees is skipped,
// which changes no bits: it would add zeros.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma.cuh"
#include "visibility.cuh"

namespace betz {

/// Spec: as visibility.cuh, and heads, kvHeads, headSize (a multiple of 16 up
/// to 128), scale, q, k, v (16-byte aligned bf16), qStride, kStride, vStride,
/// queryTile (64 or 128), skipsByTime, skipsCausal, skipsByMap. Beside shared memory
/// given to it, it has times of key blocks.
template <typename Spec> class AttentionMma {
  static constexpr int D = Spec::headSize, BQ = Spec::queryTile, BK = 64;
  static constexpr int threads = 2 * BQ;
  static constexpr int pitch = D * 2 + 16; // bytes of a row
  static constexpr int tileBytes = BK * pitch;
  static constexpr int chunks = D / 8;
  static constexpr int measured = 64; // blocks
  static constexpr bool masks = Spec::causal || Spec::timed || Spec::mapped;

public:
  __device__ __forceinline__ AttentionMma(const Spec &spec,
                                          unsigned char *shared)
      : spec(spec), memory(shared), queries(sharedAddress(shared)),
        buffers(queries + BQ * pitch), warp(warpOf(threadIdx.x)),
        lane(laneOf(threadIdx.x)) {}

  template <typename Epilogue>
  __device__ __forceinline__ void run(const Epilogue &epilogue,
                                      const int64 *extents) {
    constexpr int tiles = (Spec::queries + BQ - 1) / BQ;
    firstQuery = int(blockIdx.x % tiles) * BQ;
    const uint32 rest = blockIdx.x / tiles;
    head = int(rest % Spec::heads);
    batch = rest / Spec::heads;
    if (batch >= Spec::batches(extents))
      return;
    keys = keyRange(spec, batch);
    if constexpr (Spec::skipsByTime) {
      tileTimes = timesOf(firstQuery, BQ);
      warpTimes = timesOf(firstQuery + warp * 16, 16);
    }
    loadQueries();
    Block block = nextSeen(keys.first);
    if (block.at < keys.end)
      loadKeys(block.at, 0);
    commitCopies();
    waitCopies<0>();
    __syncthreads();
    for (int slot = 0; block.at < keys.end; slot ^= 1) {
      const Block next = nextSeen(block.at + BK);
      if (next.at < keys.end)
        loadKeys(next.at, slot ^ 1);
      commitCopies();
      if (block.seen)
        takeBlock(block, slot);
      waitCopies<0>();
      __syncthreads();
      block = next;
    }
    stageResults();
    __syncwarp();
    finishRows(epilogue);
  }

private:
  /// Keys from `at` on, and what the warp's queries see of them: something, and
  /// all.
  struct Block {
    int at;
    bool seen, whole;
  };

  /// Times that some, and that every query of a range sees.
  struct Times {
    int earliest, latest, first, last;
  };

  __device__ __forceinline__ Times timesOf(int query, int count) const {
    const int lowest = -0x7fffffff - 1, highest = 0x7fffffff;
    Times times = {highest, lowest, lowest, highest};
    for (int q = query + lane; q < query + count && q < Spec::queries;
         q += 32) {
      const int from = spec.bounds[2 * q], to = spec.bounds[2 * q + 1];
      times.earliest = min(times.earliest, from);
      times.latest = max(times.latest, to);
      times.first = max(times.first, from);
      times.last = min(times.last, to);
    }
    times.earliest = __reduce_min_sync(0xffffffffu, times.earliest);
    times.latest = __reduce_max_sync(0xffffffffu, times.latest);
    times.first = __reduce_max_sync(0xffffffffu, times.first);
    times.last = __reduce_min_sync(0xffffffffu, times.last);
    return times;
  }

  /// Times of the keys of the blocks from `block` on, for nextSeen. All threads
  /// of the block of threads.
  __device__ __forceinline__ void measureBlocks(int block) const {
    __syncthreads();
    for (int i = warp; i < measured && block + i * BK < keys.end;
         i += threads / 32) {
      const int first = block + i * BK, end = min(first + BK, keys.end);
      int low = 0x7fffffff, high = -0x7fffffff - 1;
#pragma unroll
      for (int key = first + lane; key < first + BK; key += 32) {
        const int time = spec.keyTime[min(key, end - 1)];
        low = min(low, time), high = max(high, time);
      }
      low = __reduce_min_sync(0xffffffffu, low);
      high = __reduce_max_sync(0xffffffffu, high);
      if (lane == 0)
        ranges()[i] = make_int2(low, high);
    }
    __syncthreads();
  }
  __device__ __forceinline__ static int2 *ranges() {
    __shared__ int2 ranges[Spec::skipsByTime ? measured : 1];
    return ranges;
  }

  /// The first key block from `at` on that some query of the tile may see; the
  /// same in every warp.
  __device__ __forceinline__ Block nextSeen(int at) const {
    Block block = {at, true, !masks};
    if constexpr (Spec::skipsByTime) {
      for (; block.at < keys.end; block.at += BK) {
        const int i = (block.at - keys.first) / BK;
        if (i % measured == 0)
          measureBlocks(block.at);
        const int2 range = ranges()[i % measured];
        if (range.x <= tileTimes.latest && range.y >= tileTimes.earliest) {
          block.seen =
              range.x <= warpTimes.latest && range.y >= warpTimes.earliest;
          block.whole = !Spec::mapped && range.x >= warpTimes.first &&
                        range.y <= warpTimes.last;
          break;
        }
      }
    }
    if constexpr (Spec::skipsCausal)
      if (block.at > keys.end - Spec::queries + firstQuery + BQ - 1)
        block.at = keys.end;
    if constexpr (Spec::skipsByMap && !Spec::skipsByTime) {
      for (; block.at < keys.end; block.at += BK)
        if (mapShows((block.at - keys.first) / Spec::mapBlock))
          break;
      // A map block holds whole key blocks, and a tile lies in one of its rows.
      block.whole = Spec::mapBlock % BK == 0 && Spec::mapBlock % BQ == 0;
    }
    if (Spec::causal || block.at + BK > keys.end)
      block.whole = false;
    return block;
  }

  /// Whether some query of the tile sees the map's `column`.
  __device__ __forceinline__ bool mapShows(int column) const {
    if (column >= Spec::mapColumns)
      return false;
    const int last = min(firstQuery + BQ, Spec::queries) - 1;
    for (int row = firstQuery / Spec::mapBlock; row <= last / Spec::mapBlock;
         ++row)
      if (spec.blockMap[row * Spec::mapColumns + column] != 0)
        return true;
    return false;
  }

  __device__ __forceinline__ void loadQueries() {
    const int64 firstRow = Spec::sharedQuery ? 0 : batch * Spec::queries;
    for (int i = threadIdx.x; i < BQ * chunks; i += threads) {
      const int row = i / chunks, chunk = i % chunks;
      const bool valid = firstQuery + row < Spec::queries;
      const bf16 *from =
          spec.q + (valid ? (firstRow + firstQuery + row) * Spec::qStride +
                                head * D + chunk * 8
                          : 0);
      copyAsync(queries + row * pitch + chunk * 16, from, valid ? 16 : 0);
    }
  }

  __device__ __forceinline__ void loadKeys(int block, int slot) {
    const uint32 to = buffers + slot * 2 * tileBytes;
    const int column = head / (Spec::heads / Spec::kvHeads) * D;
#pragma unroll 1 // the addresses of several copies would not fit in registers
    for (int i = threadIdx.x; i < BK * chunks; i += threads) {
      const int row = i / chunks, chunk = i % chunks;
      const bool valid = block + row < keys.end;
      const int64 key = valid ? block + row : keys.first;
      const uint32 at = to + row * pitch + chunk * 16;
      copyAsync(at, spec.k + key * Spec::kStride + column + chunk * 8,
                valid ? 16 : 0);
      copyAsync(at + tileBytes,
                spec.v + key * Spec::vStride + column + chunk * 8,
                valid ? 16 : 0);
    }
  }

  __device__ __forceinline__ void takeBlock(const Block &block, int slot) {
    const uint32 keyTile = buffers + slot * 2 * tileBytes;
    float scores[BK / 8][4] = {};
#pragma unroll
    for (int k = 0; k < D / 16; ++k) {
      // Again for each block: kept, they would not fit in registers.
      uint32 query[4];
      loadMatrices(query, queries + (warp * 16 + lane % 16) * pitch +
                              (k * 2 + lane / 16) * 16);
#pragma unroll
      for (int n = 0; n < BK / 16; ++n) {
        uint32 b[4];
        loadMatrices(b, keyTile + (n * 16 + lane % 8 + lane / 16 * 8) * pitch +
                            (k * 2 + lane / 8 % 2) * 16);
        multiplyAdd(scores[2 * n], query, b[0], b[1]);
        multiplyAdd(scores[2 * n + 1], query, b[2], b[3]);
      }
    }
    if (!block.whole)
      mask(scores, block.at);
    softmax(scores);
    addValues(scores, keyTile + tileBytes);
  }

  /// Scores of keys that are not seen become -infinity.
  __device__ __forceinline__ void mask(float (&scores)[BK / 8][4],
                                       int block) {
    const int q = firstQuery + warp * 16 + lane / 4;
    const QueryView views[] = {viewOf(spec, min(q, Spec::queries - 1), keys),
                               viewOf(spec, min(q + 8, Spec::queries - 1),
                                      keys)};
#pragma unroll
    for (int n = 0; n < BK / 8; ++n)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int key = block + n * 8 + lane % 4 * 2 + j;
        const int there = min(key, keys.end - 1); // reads without a branch
#pragma unroll
        for (int half = 0; half < 2; ++half)
          if (!sees(spec, views[half], keys, there) || key >= keys.end)
            scores[n][half * 2 + j] = -kInfinity;
      }
  }

  __device__ __forceinline__ void softmax(float (&scores)[BK / 8][4]) {
    constexpr float factor = float(Spec::scale * 1.4426950408889634);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float highest = maxima[half];
#pragma unroll
      for (int n = 0; n < BK / 8; ++n)
        highest =
            fmaxf(highest, fmaxf(scores[n][half * 2], scores[n][half * 2 + 1]));
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2));
      // A row that has seen nothing yet keeps zeros.
      const float shift = highest == -kInfinity ? 0.0f : highest * factor;
      const float rescale = exp2Fast(maxima[half] * factor - shift);
      maxima[half] = highest;
      totals[half] *= rescale;
#pragma unroll
      for (int n = 0; n < D / 8; ++n)
        sums[n][half * 2] *= rescale, sums[n][half * 2 + 1] *= rescale;
#pragma unroll
      for (int n = 0; n < BK / 8; ++n)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float &score = scores[n][half * 2 + j];
          score = exp2Fast(fmaf(score, factor, -shift));
          totals[half] += score;
        }
    }
  }

  __device__ __forceinline__ void addValues(const float (&weights)[BK / 8][4],
                                            uint32 valueTile) {
#pragma unroll
    for (int k = 0; k < BK / 16; ++k) {
      const float(&w0)[4] = weights[2 * k], (&w1)[4] = weights[2 * k + 1];
      const uint32 a[4] = {packBf16(w0[0], w0[1]), packBf16(w0[2], w0[3]),
                           packBf16(w1[0], w1[1]), packBf16(w1[2], w1[3])};
#pragma unroll
      for (int n = 0; n < D / 16; ++n) {
        uint32 b[4];
        loadTransposed(b, valueTile + (k * 16 + lane % 16) * pitch +
                              (n * 2 + lane / 16) * 16);
        multiplyAdd(sums[2 * n], a, b[0], b[1]);
        multiplyAdd(sums[2 * n + 1], a, b[2], b[3]);
      }
    }
  }

  /// A warp's 16 rows over the key buffers, which nobody reads any more.
  __device__ __forceinline__ float *resultRow(int row) {
    return reinterpret_cast<float *>(memory + BQ * pitch) +
           (warp * 16 + row) * (D + 4);
  }

  __device__ __forceinline__ void stageResults() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float total = totals[half];
      total += __shfl_xor_sync(0xffffffffu, total, 1);
      total += __shfl_xor_sync(0xffffffffu, total, 2);
      const float factor = total > 0 ? 1.0f / total : 0.0f;
      float *row = resultRow(lane / 4 + half * 8);
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        row[n * 8 + lane % 4 * 2] = sums[n][half * 2] * factor;
        row[n * 8 + lane % 4 * 2 + 1] = sums[n][half * 2 + 1] * factor;
      }
    }
  }

  template <typename Epilogue>
  __device__ __forceinline__ void finishRows(const Epilogue &epilogue) {
    for (int i = lane; i < 16 * chunks; i += 32) {
      const int row = i / chunks, column = i % chunks * 8;
      const int q = firstQuery + warp * 16 + row;
      if (q >= Spec::queries)
        continue;
      float values[8];
#pragma unroll
      for (int j = 0; j < 8; ++j)
        values[j] = resultRow(row)[column + j];
      epilogue.finish(values, batch * Spec::queries + q, head * D + column, 8);
    }
  }

  const Spec &spec;
  unsigned char *memory;
  uint32 queries, buffers;
  int warp, lane;
  int firstQuery, head;
  int64 batch;
  KeyRange keys;
  Times tileTimes, warpTimes;
  float sums[D / 8][4] = {};
  float maxima[2] = {-kInfinity, -kInfinity};
  float totals[2] = {};
};

} // namespace betz
