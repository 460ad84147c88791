#include "codegen/cuda/SourceWriter.h"

#include <fmt/format.h>

namespace betz::cuda {

Status SourceWriter::writeCore(const NormGradCore &core) {
  beginRows(256);
  header = "gradient_rows.cuh";
  writeNorm(core.scale.form, core.scale.eps);
  constant("columns", spec.result().columns);
  field("x", core.x);
  loader("loadX", "x", core.x);
  field("dy", core.dy);
  loader("loadDy", "dy", core.dy);
  field("gain", core.gain);
  writeVector("loadGain", "gain", core.gain);
  body = "  normGradRows(spec, epilogue, extents);\n";
  return Status::ok();
}

Status SourceWriter::writeCore(const HeadDotsCore &core) {
  beginRows(256);
  header = "gradient_rows.cuh";
  const int64_t size = operand(core.a).columns / core.heads;
  const int64_t vector = size % 8 == 0 ? 8 : 1;
  int64_t lanes = 1;
  while (lanes < 32 && lanes * vector < size)
    lanes *= 2;
  constant("heads", core.heads);
  constant("headSize", size);
  constant("vector", vector);
  constant("lanesOfHead", lanes);
  field("a", core.a);
  loader("loadA", "a", core.a);
  field("b", core.b);
  loader("loadB", "b", core.b);
  body = "  headDots(spec, epilogue, extents);\n";
  return Status::ok();
}

Status SourceWriter::writeCore(const PackCore &core) {
  if (core.panel != 0)
    return invalidArgument("a weight in CPU panels; compile from the model "
                           "phase");
  if (!core.transposed)
    return writeCore(IdentityCore{core.x});
  beginRows(256);
  header = "gradient_rows.cuh";
  constant("columns", spec.result().columns);
  field("x", core.x);
  writeElementLoader("load", "x", core.x);
  body = "  transposeRows(spec, epilogue, extents);\n";
  return Status::ok();
}

/// What every kernel of elements.cuh has.
void SourceWriter::beginElements() {
  header = "elements.cuh";
  rowsFunction("rows", spec.result().rows);
  constant("columns", spec.result().columns);
  constant("tileRows", spec.tile.rows);
  constant("tileColumns", spec.tile.columns);
  threads = 256;
  constant("threads", threads);
  bounds = ", 4"; // as in beginRows
}

Status SourceWriter::writeCore(const FillCore &core) {
  beginElements();
  real("value", core.value);
  body = "  fill<Spec>(epilogue, extents);\n";
  return Status::ok();
}

Status SourceWriter::writeCore(const JoinCore &core) {
  beginElements();
  const DType element = operand(core.parts[0]).dtype;
  const int64_t width = int64_t(sizeOf(element));
  const bool oneRow = spec.result().rows == Dim::constant(1);
  std::string table;
  for (size_t i = 0; i < core.parts.size(); ++i) {
    const OperandSpec &part = operand(core.parts[i]);
    if (part.dtype != element)
      return invalidArgument("joined parts of different types");
    const bool aligned = (oneRow || part.rowStride * width % 16 == 0) &&
                         part.offset * width % 16 == 0 &&
                         core.columns[i] % 8 == 0;
    table += fmt::format("    {{{}, {}, {}, {}, {}, {}}},\n", core.columns[i],
                         core.columns[i] + part.columns, core.parts[i],
                         boolText(aligned), part.rowStride, part.offset);
  }
  globals += fmt::format("__constant__ JoinPart parts[{}] = {{\n{}}};\n\n",
                         core.parts.size(), table);
  members += fmt::format("  using Element = {};\n", typeName(element));
  constant("partCount", int64_t(core.parts.size()));
  body = "  joinParts<Spec>(parts, operands, epilogue, extents);\n";
  return Status::ok();
}

Status SourceWriter::writeCore(const AdamwCore &core) {
  beginElements();
  const int32_t result = spec.resultIndex();
  bool aligned = true;
  for (auto [what, number] :
       {std::pair{"weights", core.weights}, std::pair{"moment1", core.moment1},
        std::pair{"moment2", core.moment2},
        std::pair{"gradient", core.gradient}}) {
    field(what, number);
    aligned = aligned && isAligned(operand(number));
  }
  for (auto [what, number] :
       {std::pair{"newWeights", result}, std::pair{"newMoment1", result + 1},
        std::pair{"newMoment2", result + 2}}) {
    resultField(what, number);
    aligned = aligned && isAligned(operand(number));
  }
  field("squares", core.squares);
  field("schedule", core.schedule);
  flag("aligned", aligned);
  for (auto [what, value] :
       {std::pair{"beta1", core.beta1}, std::pair{"rest1", 1 - core.beta1},
        std::pair{"beta2", core.beta2}, std::pair{"rest2", 1 - core.beta2},
        std::pair{"eps", core.eps}, std::pair{"decay", core.weightDecay},
        std::pair{"clip", core.clip}})
    real(what, value);
  usesEpilogue = false;
  body = "  adamw(spec, extents);\n";
  return Status::ok();
}

} // namespace betz::cuda
