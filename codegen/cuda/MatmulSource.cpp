#include "codegen/cuda/SourceWriter.h"
#include "runtime/program/KernelAbi.h"

#include <fmt/format.h>

namespace betz::cuda {

namespace {

/// Columns of a sum of squares between matmuls; the kernels' lanes fix it.
constexpr int64_t kSquareGroup = 32;

/// A block for each multiprocessor, which keeps two tiles under way.
bool isPersistent(const TileConfig &tile) {
  return tile.rows == 128 && tile.columns == 128;
}

} // namespace

Status SourceWriter::writeCore(const MatmulCore &core) {
  if (core.panel != 0)
    return invalidArgument("a weight in CPU panels; compile from the model "
                           "phase");
  rowsFunction("rows", spec.result().rows);
  constant("depth", core.depth);
  constant("columns", core.columns);
  field("x", core.x);
  field("weight", core.weight);
  BETZ_RETURN_IF_ERROR(writeSquares());
  if (path == Path::MatmulSimt) {
    header = "matmul_simt.cuh";
    loader("loadX", "x", core.x);
    loader("loadWeight", "weight", core.weight);
    body = "  matmulSimt(spec, epilogue, extents);\n";
    threads = 256;
    return Status::ok();
  }
  writeMatmulTile(core);
  return Status::ok();
}

Status SourceWriter::writeSquares() {
  auto fits = [&](int32_t number, int64_t columns) {
    const OperandSpec &sums = operand(number);
    return sums.dtype == DType::F32 && sums.isContiguous() &&
           sums.columns * kSquareGroup == columns;
  };
  const int32_t read = spec.rowScale ? spec.rowScale->squares : -1;
  flag("readsSquares", read >= 0);
  flag("writesSquares", spec.squareGroup > 0);
  if (read >= 0) {
    if (!fits(read, std::get<MatmulCore>(spec.core).depth))
      return invalidArgument("sums of squares that are not of 32 columns");
    constant("squareGroups", operand(read).columns);
    real("eps", spec.rowScale->eps);
    field("squares", read);
  }
  if (spec.squareGroup > 0) {
    if (!fits(spec.squaresIndex(), spec.result().columns))
      return invalidArgument("sums of squares that are not of 32 columns");
    resultField("ownSquares", spec.squaresIndex());
  }
  return Status::ok();
}

void SourceWriter::writeMatmulTile(const MatmulCore &core) {
  const TileConfig &tile = spec.tile;
  constant("xStride", operand(core.x).rowStride);
  constant("tileRows", tile.rows);
  constant("tileColumns", tile.columns);
  constant("tileDepth", tile.depth);
  constant("stages", tile.stages);
  useShared((tile.rows + tile.columns) * 128 * tile.stages);
  if (path == Path::MatmulTma) {
    writeMatmulTma(core);
    return;
  }
  header = "matmul_mma.cuh";
  threads = 2 * tile.rows;
  constant("threads", threads);
  constant("warpRows", 2);
  constant("warpColumns", threads / 64);
  body = "  MatmulMma<Spec>(spec, extents, shared).run(epilogue);\n";
}

void SourceWriter::writeMatmulTma(const MatmulCore &core) {
  const TileConfig &tile = spec.tile;
  const bool persistent = isPersistent(tile);
  sharedBytes += tile.stages * 16; // barriers
  flag("weightIsConstant", operand(core.weight).constant);
  waitsItself = true;
  auto map = [&](int32_t number, int64_t boxRows, bool interleaved) {
    const OperandSpec &matrix = operand(number);
    return fmt::format("{{{}, {}, {}, {}, {}, {}}}", number, matrix.offset * 2,
                       core.depth, matrix.rowStride * 2, boxRows,
                       int(interleaved));
  };
  globals += fmt::format(
      "extern \"C\" __constant__ MapDescription {}_maps[2] = {{\n    {},\n"
      "    {}}};\n\n",
      name, map(core.x, tile.rows, false),
      map(core.weight, persistent ? tile.columns / 2 : tile.columns, true));
  flags |= kCudaTensorMaps;
  mapParameters = ",\n    const __grid_constant__ TensorMap xMap,\n"
                  "    const __grid_constant__ TensorMap weightMap";
  if (persistent) {
    header = "matmul_persistent.cuh";
    threads = 384;
    bounds = ", 1";
    persistentBlocks = 1;
    flags |= kCudaPairedBlocks;
    attributes = "__cluster_dims__(2, 1, 1) ";
    body = "  MatmulPersistent<Spec>(spec, extents, shared)\n"
           "      .run(epilogue, xMap, weightMap);\n";
    return;
  }
  header = "matmul_tma.cuh";
  const int64_t warpgroups = tile.rows / 64;
  constant("warpgroups", warpgroups);
  threads = warpgroups * 128 + 32; // a warp copies
  if (tile.columns == 128)
    bounds = ", 2";
  body = "  MatmulTma<Spec>(spec, extents, shared)\n"
         "      .run(epilogue, xMap, weightMap);\n";
}

} // namespace betz::cuda
