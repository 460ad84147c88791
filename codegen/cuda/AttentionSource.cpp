#include "codegen/cuda/SourceWriter.h"

#include <fmt/format.h>

namespace betz::cuda {

void SourceWriter::writeView(const AttentionCore &core) {
  rowsFunction("batches", {core.batchSymbol, 1, 0});
  constant("heads", core.heads);
  constant("kvHeads", core.kvHeads);
  constant("headSize", core.headSize);
  constant("queries", core.queries);
  constant("keys", core.keys);
  flag("sharedQuery", core.sharedQuery);
  flag("ragged", core.rowSplits >= 0);
  flag("causal", core.causal);
  flag("timed", core.keyTime >= 0);
  flag("mapped", core.blockMap >= 0);
  constant("mapBlock", std::max<int64_t>(core.mapBlock, 1));
  constant("mapColumns", core.mapColumns);
  field("q", core.q);
  field("k", core.k);
  if (core.v >= 0)
    field("v", core.v);
  if (core.rowSplits >= 0)
    field("splits", core.rowSplits);
  if (core.keyTime >= 0) {
    field("keyTime", core.keyTime);
    field("bounds", core.bounds);
  }
  if (core.blockMap >= 0)
    field("blockMap", core.blockMap);
  real("scale", core.scale);
}

bool SourceWriter::isTensorPath() const {
  return path == Path::AttentionMma || path == Path::AttentionWgmma ||
         path == Path::AttentionKeysMma;
}

Status SourceWriter::writeCore(const AttentionCore &core) {
  writeView(core);
  if (isTensorPath()) {
    writeAttentionTile(core, nullptr);
  } else {
    constant("queryTile", spec.tile.rows);
    beginAttentionSimt(core);
    body = "  attentionSimt(spec, epilogue, extents);\n";
  }
  return Status::ok();
}

Status SourceWriter::writeCore(const AttentionGradCore &core) {
  writeView(core.forward);
  const bool ofKeys = core.part == AttentionPart::KeyValueGrad;
  if (core.part != AttentionPart::LogSum) {
    field("gradient", core.dout);
    field("lse", core.lse);
    field("delta", core.delta);
    for (int32_t number : {core.lse, core.delta})
      BETZ_RETURN_IF_ERROR(checkDense(number, "lse or delta"));
  }
  if (ofKeys)
    rowsFunction("rows", spec.result().rows);
  if (!isTensorPath())
    writeAttentionGradSimt(core);
  else if (ofKeys)
    writeAttentionKeyGrad(core);
  else
    writeAttentionTile(core.forward, &core);
  return Status::ok();
}

void SourceWriter::writeTileOperands(const AttentionCore &core,
                                     const AttentionGradCore *grad) {
  constant("qStride", operand(core.q).rowStride);
  constant("kStride", operand(core.k).rowStride);
  if (core.v >= 0)
    constant("vStride", operand(core.v).rowStride);
  if (grad && grad->dout >= 0)
    constant("gradientStride", operand(grad->dout).rowStride);
  flag("skipsByTime",
       core.keyTime >= 0 && core.sparsity >= SparsityRule::TimeBounds);
  flag("skipsCausal", core.causal && core.sparsity >= SparsityRule::Causal);
  flag("skipsByMap",
       core.blockMap >= 0 && core.sparsity >= SparsityRule::BlockMap);
}

void SourceWriter::writeAttentionTile(const AttentionCore &core,
                                      const AttentionGradCore *grad) {
  const bool logSum = grad && grad->part == AttentionPart::LogSum;
  const bool queryGrad = grad && !logSum;
  writeTileOperands(core, grad);
  flag("logSum", logSum);
  flag("queryGrad", queryGrad);
  constant("queryTile", spec.tile.rows);
  threads = 2 * spec.tile.rows;
  const bool narrow = core.headSize <= 64 && !queryGrad;
  const int small = core.keyTime >= 0 ? 3 : 4; // times take registers
  bounds = fmt::format(", {}", spec.tile.rows == 64 ? (narrow ? small : 2)
                                                    : (narrow ? 2 : 1));
  const bool wgmma = path == Path::AttentionWgmma;
  header = wgmma ? "attention_wgmma.cuh" : "attention_mma.cuh";
  // Queries, two blocks of keys and values, times of 64 key blocks and of the
  // keys of two.
  const int64_t pitch = core.headSize * 2 + (wgmma ? 0 : 16);
  const int64_t queryRows = spec.tile.rows * (queryGrad ? 2 : 1);
  useShared((queryRows + 4 * 64) * pitch + 64 * 8 + 2 * 64 * 4);
  body = fmt::format("  AttentionTile<Spec, {}>(spec, shared)\n"
                     "      .run(epilogue, extents);\n",
                     wgmma ? "AttentionWgmma" : "AttentionMma<Spec::headSize>");
}

void SourceWriter::writeAttentionKeyGrad(const AttentionGradCore &core) {
  const AttentionCore &forward = core.forward;
  writeTileOperands(forward, &core);
  header = "attention_key_grad.cuh";
  threads = 128;
  bounds = ", 2";
  // Keys and values; twice queries, their gradients, lse and delta.
  const int64_t pitch = forward.headSize * 2 + 16;
  const int64_t queries = forward.headSize <= 64 ? 64 : 32;
  useShared(2 * 64 * pitch + 2 * queries * (2 * pitch + 8));
  body = "  AttentionKeyGrad<Spec>(spec, shared)\n"
         "      .run(epilogue, extents);\n";
}

void SourceWriter::writeElementLoader(std::string_view what,
                                      std::string_view from, int32_t number) {
  members += fmt::format("  __device__ __forceinline__ float {}(int64 row, "
                         "int column) const {{\n    return toFloat({}[row "
                         "* {} + column]);\n  }}\n",
                         what, from, operand(number).rowStride);
}

void SourceWriter::beginAttentionSimt(const AttentionCore &core) {
  header = "attention_simt.cuh";
  constant("warps", 4);
  writeElementLoader("loadQ", "q", core.q);
  writeElementLoader("loadK", "k", core.k);
  if (core.v >= 0)
    writeElementLoader("loadV", "v", core.v);
  threads = 128;
  bounds = ", 8"; // as in beginRows
}

void SourceWriter::writeAttentionGradSimt(const AttentionGradCore &core) {
  beginAttentionSimt(core.forward);
  header = "attention_grad_simt.cuh";
  bounds = ", 4"; // sums of two rows and more of them
  if (core.dout >= 0)
    writeElementLoader("loadGrad", "gradient", core.dout);
  const bool ofKeys = core.part == AttentionPart::KeyValueGrad;
  constant(ofKeys ? "keyTile" : "queryTile", spec.tile.rows);
  body = fmt::format("  attention{}Simt(spec, epilogue, extents);\n",
                     ofKeys                               ? "KeyGrad"
                     : core.part == AttentionPart::LogSum ? "LogSum"
                                                          : "QueryGrad");
}

} // namespace betz::cuda
