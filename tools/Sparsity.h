//===- Sparsity.h - Which blocks of an attention are computed -------------===//
//
// Follows codegen/cpu/LowerAttention.cpp: a task is a block of queries; keys
// are taken in blocks counted from a window's first event; a block is skipped
// where its earliest and latest time lie outside all bounds of the task's
// queries.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/Module.h"
#include "runtime/base/Json.h"

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace betz {

/// A decoder's attention to the events of a window.
struct AttentionBlocks {
  std::string kernel;
  int64_t queries = 0, queryBlock = 0, keyBlock = 0;
  /// First and last time that each query sees; empty where all see all.
  std::vector<std::pair<int32_t, int32_t>> bounds;
  /// Whether blocks that no query sees are skipped, or computed and masked.
  bool skips = false;
};

/// Elements are pairs of a query and a key.
struct BlockCount {
  int64_t elements = 0, seen = 0;
  bool isComputed = true;
  bool isWhole() const { return isComputed && seen == elements; }
};

struct WindowBlocks {
  int64_t window = 0;
  double start = 0; // seconds of the recording's clock
  std::vector<int32_t> times;
  int64_t rows = 0, columns = 0;  // blocks of queries, of keys
  std::vector<BlockCount> blocks; // rows × columns

  /// Sums over all blocks.
  int64_t elements() const;
  int64_t computed() const;
  int64_t seen() const;
};

struct SparsityReport {
  std::string model, recording;
  AttentionBlocks attention;
  std::vector<WindowBlocks> windows;
};

/// The grid for keys at `times`, one for each event.
WindowBlocks countBlocks(const AttentionBlocks &attention,
                         std::span<const int32_t> times);

/// Reads `windows` of a recording, cut as the metadata of `module` says, or
/// without any the first that has events. `module` is in the kernels phase.
Result<SparsityReport> measureSparsity(mlir::ModuleOp module,
                                       const std::filesystem::path &recording,
                                       std::vector<int64_t> windows);

Json toJson(const SparsityReport &report);
std::string toText(const SparsityReport &report);
/// A grid for each window.
std::string toSvg(const SparsityReport &report);

} // namespace betz
