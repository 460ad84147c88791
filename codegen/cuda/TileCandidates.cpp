#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/Paths.h"

namespace betz::cuda {

namespace {

/// Matmul tiles of one size.
struct TileSize {
  int64_t rows, columns;
  std::vector<int64_t> stageCounts;
};

std::vector<TileConfig> matmulTiles(const std::vector<TileSize> &sizes) {
  std::vector<TileConfig> tiles;
  for (const TileSize &size : sizes)
    for (int64_t stages : size.stageCounts)
      tiles.push_back({size.rows, size.columns, 64, stages});
  return tiles;
}

std::vector<TileConfig> rowTiles(std::initializer_list<int64_t> rowCounts) {
  std::vector<TileConfig> tiles;
  for (int64_t rows : rowCounts)
    tiles.push_back({.rows = rows});
  return tiles;
}

} // namespace

std::vector<TileConfig> tileCandidates(const KernelSpec &spec,
                                       const Architecture &architecture) {
  switch (choosePath(spec, architecture)) {
  case Path::MatmulSimt:
    return {{64, 64, 0, 0}};
  case Path::MatmulMma:
    return matmulTiles(
        {{64, 64, {3, 4}}, {64, 128, {3, 4}}, {128, 128, {3, 4}}});
  case Path::MatmulTma:
    return matmulTiles(
        {{64, 64, {3, 4, 6, 8}}, {64, 128, {3, 4}}, {128, 128, {4, 5, 6}}});
  case Path::AttentionMma:
  case Path::AttentionWgmma:
    return attentionOf(spec)->queries > 64 ? rowTiles({64, 128})
                                           : rowTiles({64});
  case Path::AttentionSimt:
    return rowTiles({4, 8, 16, 32});
  case Path::AttentionKeysSimt:
    return rowTiles({8, 16, 32});
  case Path::ContractMma:
    return {{64, 64, 64, 3}, {64, 64, 64, 4}, {128, 128, 64, 3}};
  case Path::Rows:
    return rowTiles({8, 16, 32});
  case Path::SegmentSub:
    return rowTiles({128, 256, 512});
  case Path::AttentionKeysMma:
  case Path::ContractSimt:
  case Path::Transpose:
  case Path::Columns:
  case Path::Scatter:
  case Path::Total:
  case Path::Elements:
    return {spec.tile};
  }
  return {};
}

} // namespace betz::cuda
