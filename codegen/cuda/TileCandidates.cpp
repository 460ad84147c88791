#include "codegen/cuda/CudaCode.h"
#include "codegen/cuda/Source.h"

namespace betz::cuda {

namespace {

std::vector<TileConfig>
matmulTiles(std::initializer_list<int64_t> stageCounts) {
  std::vector<TileConfig> tiles;
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{64, 64}, {64, 128}, {128, 64}, {128, 128}})
    for (int64_t stages : stageCounts)
      tiles.push_back({rows, columns, 64, stages});
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
    return matmulTiles({3, 4});
  case Path::MatmulTma:
    return matmulTiles({3, 4, 6, 8});
  case Path::AttentionMma:
    return std::get<AttentionCore>(spec.core).queries > 64 ? rowTiles({64, 128})
                                                           : rowTiles({64});
  case Path::AttentionSimt:
    return rowTiles({4, 8, 16, 32});
  case Path::Rows:
    return rowTiles({8, 16, 32});
  case Path::SegmentSub:
    return rowTiles({128, 256, 512});
  }
  return {};
}

} // namespace betz::cuda
