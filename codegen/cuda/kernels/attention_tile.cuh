//===- attention_tile.cuh - Attention on tensor cores ---------------------===//
//
// A block takes one batch element, one head and some queries, a warp 16 of
// them; keys come in blocks of 64 counted from the window's first, the next
// block's copy under this one's products. Online softmax after Dao,
// "FlashAttention-2" (2023). A block of keys that no query of a group of warps
// sees is left out, which changes no bits: it would add zeros. The same walk
// over keys gives attention_lse, and the gradient of the queries.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma.cuh"
#include "visibility.cuh"

namespace betz {

/// Spec: as visibility.cuh, and heads, kvHeads, headSize (a multiple of 16 up
/// to 128), scale, q, k, v (16-byte aligned bf16), qStride, kStride, vStride,
/// queryTile (64 or 128), skipsByTime, skipsCausal, skipsByMap; logSum or
/// queryGrad for these, which has gradient (as q, of the result), gradientStride,
/// lse and delta. Shared memory holds the queries (with queryGrad their
/// gradients too), a key and a value tile a stage, times of 64 key blocks and of
/// each stage's keys.
///
/// Products multiplies tiles that lie in shared memory as it wants: `pitch`
/// bytes a row, of which it says where the 16-byte chunks are (`place`);
/// `together` queries, a warp's or a warpgroup's, leave out blocks together;
/// `show` comes between a copy's end and a barrier; `score` and `add` make 16 x 8
/// fragments of a warp's 16 rows.
template <typename Spec, typename Products> class AttentionTile {
  static constexpr int D = Spec::headSize, BQ = Spec::queryTile, BK = 64;
  static constexpr int threads = 2 * BQ;
  static constexpr int pitch = Products::pitch;
  static constexpr int together = Products::together;
  static constexpr int tileBytes = BK * pitch, stages = 2;
  static constexpr int chunks = D / 8;
  static constexpr int queryBytes = (Spec::queryGrad ? 2 : 1) * BQ * pitch;
  static constexpr float log2e = 1.4426950408889634f;
  static constexpr int measured = 64; // blocks
  static constexpr bool masks = Spec::causal || Spec::timed || Spec::mapped;

public:
  __device__ __forceinline__ AttentionTile(const Spec &spec,
                                           unsigned char *shared)
      : spec(spec), memory(shared), queries(sharedAddress(shared)),
        buffers(queries + queryBytes), warp(warpOf(threadIdx.x)),
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
      groupTimes =
          timesOf(firstQuery + warp * 16 / together * together, together);
      warpTimes = timesOf(firstQuery + warp * 16, 16);
    }
    loadQueries();
    Block blocks[stages - 1]; // this one and those on their way
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) {
      blocks[s] = nextSeen(s == 0 ? keys.first : blocks[s - 1].at + BK);
      loadKeys(blocks[s].at, s);
    }
    for (int slot = 0; blocks[0].at < keys.end; slot = (slot + 1) % stages) {
      awaitCopies<stages - 2>();
      const Block next = nextSeen(blocks[stages - 2].at + BK);
      loadKeys(next.at, (slot + stages - 1) % stages);
      if (blocks[0].seen)
        takeBlock(blocks[0], slot);
#pragma unroll
      for (int s = 0; s + 2 < stages; ++s)
        blocks[s] = blocks[s + 1];
      blocks[stages - 2] = next;
    }
    awaitCopies<0>();
    if constexpr (Spec::logSum) {
      finishLogSums(epilogue);
    } else {
      stageResults();
      __syncwarp();
      finishRows(epilogue);
    }
  }

private:
  /// What was copied, but for the last `pending` blocks, is there for all, and
  /// all have done with the block before.
  template <int pending> __device__ __forceinline__ static void awaitCopies() {
    waitCopies<pending>();
    Products::show();
    __syncthreads();
  }

  /// Keys from `at` on, whether the group's queries see some of them, and
  /// whether the warp's see some and all.
  struct Block {
    int at;
    bool seen, seenByWarp, whole;
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
#pragma unroll 4
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
  __device__ __forceinline__ int2 *ranges() const {
    return reinterpret_cast<int2 *>(memory + queryBytes +
                                    2 * stages * tileBytes);
  }
  __device__ __forceinline__ int *times(int slot) const {
    return reinterpret_cast<int *>(ranges() + measured) + slot * BK;
  }

  /// The first key block from `at` on that some query of the tile may see; the
  /// same in every warp.
  __device__ __forceinline__ Block nextSeen(int at) const {
    Block block = {at, true, true, !masks};
    if constexpr (Spec::skipsByTime) {
      for (; block.at < keys.end; block.at += BK) {
        const int i = (block.at - keys.first) / BK;
        if (i % measured == 0)
          measureBlocks(block.at);
        const int2 range = ranges()[i % measured];
        if (range.x <= tileTimes.latest && range.y >= tileTimes.earliest) {
          block.seenByWarp =
              range.x <= warpTimes.latest && range.y >= warpTimes.earliest;
          block.seen = together == 16 ? block.seenByWarp
                                      : range.x <= groupTimes.latest &&
                                            range.y >= groupTimes.earliest;
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
        if (mapShows(columnOf(block.at), firstQuery, BQ))
          break;
      // A map block holds whole key blocks, and rows of whole warps.
      if constexpr (Spec::mapBlock % BK == 0 && Spec::mapBlock % 16 == 0) {
        const int column = columnOf(block.at), first = firstQuery + warp * 16;
        block.seen = mapShows(column, first / together * together, together);
        block.seenByWarp = mapShows(column, first, 16);
        block.whole = true;
      }
    }
    if (Spec::causal || block.at + BK > keys.end)
      block.whole = false;
    return block;
  }

  __device__ __forceinline__ int columnOf(int key) const {
    return (key - keys.first) / Spec::mapBlock;
  }

  /// Whether one of `count` queries sees the map's `column`.
  __device__ __forceinline__ bool mapShows(int column, int query,
                                           int count) const {
    const int last = min(query + count, Spec::queries) - 1;
    if (column >= Spec::mapColumns || last < query)
      return false;
    for (int row = query / Spec::mapBlock; row <= last / Spec::mapBlock; ++row)
      if (spec.blockMap[row * Spec::mapColumns + column] != 0)
        return true;
    return false;
  }

  __device__ __forceinline__ void loadQueries() {
    loadRows(queries, spec.q, Spec::qStride,
             Spec::sharedQuery ? 0 : batch * Spec::queries);
    if constexpr (Spec::queryGrad) {
      loadRows(queries + BQ * pitch, spec.gradient, Spec::gradientStride,
               batch * Spec::queries);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int q = ownQuery(half);
        const int64 at = (batch * Spec::queries + q) * Spec::heads + head;
        const bool isThere = q < Spec::queries;
        shifts[half] = isThere ? spec.lse[at] * log2e : kInfinity;
        deltas[half] = isThere ? spec.delta[at] : 0.0f;
      }
    }
  }

  /// The query of this lane's rows of fragments.
  __device__ __forceinline__ int ownQuery(int half) const {
    return firstQuery + warp * 16 + lane / 4 + half * 8;
  }

  /// The tile's rows of a matrix whose query 0 is in `firstRow`.
  __device__ __forceinline__ void loadRows(uint32 to, const bf16 *matrix,
                                           int64 stride, int64 firstRow) {
    for (int i = threadIdx.x; i < BQ * chunks; i += threads) {
      const int row = i / chunks, chunk = i % chunks;
      const bool valid = firstQuery + row < Spec::queries;
      const bf16 *from =
          matrix + (valid ? (firstRow + firstQuery + row) * stride + head * D +
                                chunk * 8
                          : 0);
      copyAsync(to + Products::place(row, chunk), from, valid ? 16 : 0);
    }
  }

  /// Starts the copies of a block, and ends their group whether there is one.
  __device__ __forceinline__ void loadKeys(int block, int slot) {
    const uint32 to = buffers + slot * 2 * tileBytes;
    if constexpr (Spec::timed)
      if (const int i = int(threadIdx.x); i < BK && block + i < keys.end)
        copyWordAsync(sharedAddress(times(slot) + i), spec.keyTime + block + i);
    const int column = head / (Spec::heads / Spec::kvHeads) * D;
    if (block < keys.end)
#pragma unroll 1 // the addresses of several copies would not fit in registers
    for (int i = threadIdx.x; i < BK * chunks; i += threads) {
      const int row = i / chunks, chunk = i % chunks;
      const bool valid = block + row < keys.end;
      const int64 key = valid ? block + row : keys.first;
      const uint32 at = to + Products::place(row, chunk);
      copyAsync(at, spec.k + key * Spec::kStride + column + chunk * 8,
                valid ? 16 : 0);
      if constexpr (!Spec::logSum)
        copyAsync(at + tileBytes,
                  spec.v + key * Spec::vStride + column + chunk * 8,
                  valid ? 16 : 0);
    }
    commitCopies();
  }

  __device__ __forceinline__ void takeBlock(const Block &block, int slot) {
    const uint32 keyTile = buffers + slot * 2 * tileBytes;
    float scores[BK / 8][4] = {};
    Products::score(scores, queries, keyTile);
    if constexpr (Spec::queryGrad) {
      float slopes[BK / 8][4] = {};
      Products::score(slopes, queries + BQ * pitch, keyTile + tileBytes);
      if (!block.whole)
        mask(scores, block.at, slot);
      weigh(slopes, scores, block.seenByWarp);
      Products::add(sums, slopes, keyTile);
      return;
    }
    if (block.seenByWarp) {
      if (!block.whole)
        mask(scores, block.at, slot);
      softmax(scores);
    } else {
      // As softmax would leave them: nothing to add.
#pragma unroll
      for (int i = 0; i < BK / 2; ++i)
        scores[i / 4][i % 4] = 0;
    }
    if constexpr (!Spec::logSum)
      Products::add(sums, scores, keyTile + tileBytes);
  }

  /// From what a score's weight is multiplied by to what the score changes.
  __device__ __forceinline__ void weigh(float (&slopes)[BK / 8][4],
                                        const float (&scores)[BK / 8][4],
                                        bool seen) {
    constexpr float factor = float(Spec::scale * 1.4426950408889634);
#pragma unroll
    for (int n = 0; n < BK / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float weight =
            exp2Fast(fmaf(scores[n][i], factor, -shifts[i / 2]));
        slopes[n][i] = seen ? weight * (slopes[n][i] - deltas[i / 2]) : 0.0f;
      }
  }

  /// Scores of keys that are not seen become -infinity.
  __device__ __forceinline__ void mask(float (&scores)[BK / 8][4], int block,
                                       int slot) {
    const int q = firstQuery + warp * 16 + lane / 4;
    const QueryView views[] = {viewOf(spec, min(q, Spec::queries - 1), keys),
                               viewOf(spec, min(q + 8, Spec::queries - 1),
                                      keys)};
    const int2 *pairs = reinterpret_cast<const int2 *>(times(slot)) + lane % 4;
#pragma unroll
    for (int n = 0; n < BK / 8; ++n) {
      int2 pair = {};
      if constexpr (Spec::timed)
        pair = pairs[n * 4];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int key = block + n * 8 + lane % 4 * 2 + j;
#pragma unroll
        for (int half = 0; half < 2; ++half)
          if (key >= keys.end ||
              !sees(spec, views[half], keys, key, j == 0 ? pair.x : pair.y))
            scores[n][half * 2 + j] = -kInfinity;
      }
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

  /// A warp's 16 rows, over tiles that nobody reads any more.
  __device__ __forceinline__ float *resultRow(int row) {
    return reinterpret_cast<float *>(memory) + (warp * 16 + row) * (D + 4);
  }

  /// The total of a row of fragments, in its four lanes.
  __device__ __forceinline__ float totalOf(int half) const {
    float total = totals[half];
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    total += __shfl_xor_sync(0xffffffffu, total, 2);
    return total;
  }

  __device__ __forceinline__ void stageResults() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float factor = Spec::scale;
      if constexpr (!Spec::queryGrad) {
        const float total = totalOf(half);
        factor = total > 0 ? 1.0f / total : 0.0f;
      }
      float *row = resultRow(lane / 4 + half * 8);
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        row[n * 8 + lane % 4 * 2] = sums[n][half * 2] * factor;
        row[n * 8 + lane % 4 * 2 + 1] = sums[n][half * 2 + 1] * factor;
      }
    }
  }

  template <typename Epilogue>
  __device__ __forceinline__ void finishLogSums(const Epilogue &epilogue) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float total = totalOf(half);
      float value[1] = {
          total > 0 ? fmaf(maxima[half], Spec::scale, logf(total)) : kInfinity};
      if (const int q = ownQuery(half); lane % 4 == 0 && q < Spec::queries)
        epilogue.finish(value, batch * Spec::queries + q, head, 1);
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
  Times tileTimes, groupTimes, warpTimes;
  float sums[D / 8][4] = {};
  float maxima[2] = {-kInfinity, -kInfinity};
  float totals[2] = {};
  /// Of queryGrad: attention_lse times log2(e), and the results' dot products.
  float shifts[2], deltas[2];
};

} // namespace betz
