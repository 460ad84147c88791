#include "codegen/cuda/SourceWriter.h"
#include "runtime/program/KernelAbi.h"

#include <fmt/format.h>

namespace betz::cuda {

void SourceWriter::useClusters(int64_t blocks) {
  constant("blocks", blocks);
  if (blocks == 1)
    return;
  flags |= kCudaEightBlocks;
  attributes = "__cluster_dims__(8, 1, 1) ";
}

void SourceWriter::beginReduction(int32_t x, int64_t warps) {
  header = "reductions.cuh";
  rowsFunction("inputRows", operand(x).rows);
  constant("warps", warps);
  threads = warps * 32;
  bounds = ", 1";
  field("x", x);
  loader("loadX", "x", x);
}

/// A sum of all elements, by one task.
void SourceWriter::beginTotal(int32_t x, int64_t blocks) {
  beginReduction(x, 32);
  constant("columns", operand(x).columns);
  flag("oneRow", operand(x).rows == Dim::constant(1));
  useClusters(blocks);
}

Status SourceWriter::writeCore(const SquareSumCore &core) {
  beginTotal(core.x, clusterBlocks());
  body = "  squareSum(spec, epilogue, extents);\n";
  return Status::ok();
}

Status SourceWriter::writeCore(const ColumnSumCore &core) {
  const int64_t lanes = spec.plan.statisticLanes;
  beginReduction(core.x, lanes * spec.tile.columns / 8 / 32);
  constant("columns", spec.result().columns);
  constant("tileColumns", spec.tile.columns);
  constant("rowLanes", lanes);
  useClusters(clusterBlocks());
  body = "  columnSum(spec, epilogue, extents);\n";
  return Status::ok();
}

Status SourceWriter::writeCore(const ScatterSumCore &core) {
  BETZ_RETURN_IF_ERROR(checkDense(core.index, "the index of a scatter_sum"));
  const int64_t lanes = spec.plan.statisticLanes;
  beginReduction(core.x, lanes * spec.tile.columns / 8 / 32);
  constant("columns", spec.result().columns);
  constant("tileColumns", spec.tile.columns);
  constant("rowLanes", lanes);
  field("index", core.index);
  body = "  scatterSum(spec, epilogue, extents);\n";
  return Status::ok();
}

Status SourceWriter::writeCore(const LossCore &core) {
  const bool isMse = core.kind == LossKind::Mse;
  if (!isMse)
    BETZ_RETURN_IF_ERROR(checkDense(core.target, "labels"));
  if (core.dloss < 0) {
    beginTotal(core.x, 1);
    body = fmt::format("  {}(spec, epilogue, extents);\n",
                       isMse ? "mseLoss" : "crossEntropy");
  } else {
    beginRows(256);
    header = "gradient_rows.cuh";
    constant("columns", operand(core.x).columns);
    field("x", core.x);
    loader("loadX", "x", core.x);
    field("dloss", core.dloss);
    body = fmt::format("  {}(spec, epilogue, extents);\n",
                       isMse ? "mseGradRows" : "crossEntropyGradRows");
  }
  field(isMse ? "target" : "label", core.target);
  if (isMse)
    loader("loadTarget", "target", core.target);
  return Status::ok();
}

Status SourceWriter::writeCore(const ContractRowsCore &core) {
  rowsFunction("inputRows", operand(core.a).rows);
  constant("resultRows", operand(core.a).columns);
  constant("columns", operand(core.b).columns);
  constant("tileRows", spec.tile.rows);
  constant("tileColumns", spec.tile.columns);
  field("a", core.a);
  field("b", core.b);
  useClusters(clusterBlocks());
  if (path == Path::ContractMma) {
    writeContractMma(core);
    return Status::ok();
  }
  header = "contract_simt.cuh";
  loader("loadA", "a", core.a);
  loader("loadB", "b", core.b);
  threads = 256;
  constant("threads", threads);
  body = "  contractSimt(spec, epilogue, extents);\n";
  return Status::ok();
}

void SourceWriter::writeContractMma(const ContractRowsCore &core) {
  const TileConfig &tile = spec.tile;
  constant("aStride", operand(core.a).rowStride);
  constant("bStride", operand(core.b).rowStride);
  constant("stages", tile.stages);
  threads = 2 * tile.rows;
  constant("threads", threads);
  constant("warpRows", 2);
  constant("warpColumns", threads / 64);
  useShared(std::max((tile.rows + tile.columns) * 128 * tile.stages,
                     tile.rows * (tile.columns + 8) * 4));
  header = "contract_mma.cuh";
  body = "  ContractMma<Spec>(spec, extents, shared).run(epilogue);\n";
}

} // namespace betz::cuda
