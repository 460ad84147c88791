#include "codegen/cuda/SourceWriter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz::cuda {

void SourceWriter::beginRows(int64_t blockThreads) {
  header = "rows.cuh";
  rowsFunction("rows", spec.result().rows);
  constant("rowsPerBlock", spec.tile.rows);
  constant("warps", blockThreads / 32);
  threads = blockThreads;
  bounds = ", 4"; // ptxas aims at more, and spills for it
}

Status SourceWriter::writeCore(const NormCore &core) {
  beginRows(256);
  writeNorm(core.norm.form, core.norm.eps);
  constant("columns", spec.result().columns);
  field("x", core.x);
  loader("loadX", "x", core.x);
  field("gain", core.norm.gain);
  writeVector("loadGain", "gain", core.norm.gain);
  if (core.norm.shift >= 0)
    field("shift", core.norm.shift);
  writeVector("loadShift", "shift", core.norm.shift);
  body = "  normRows(spec, epilogue, extents);\n";
  return Status::ok();
}

void SourceWriter::writeNorm(NormForm form, double eps) {
  flag("layer", form == NormForm::Layer);
  real("eps", eps);
}

void SourceWriter::writeVector(std::string_view what, std::string_view from,
                               int32_t number) {
  members += fmt::format(
      "  template <int V> __device__ __forceinline__ void\n"
      "  {}(float (&values)[V], int column, int valid) const {{\n    {}\n"
      "  }}\n",
      what,
      number < 0
          ? "for (int i = 0; i < V; ++i)\n      values[i] = 0.0f;"
          : fmt::format("loadColumns<V, {}>(values, {} + column, valid);",
                        boolText(isAligned(operand(number))), from));
}

Status SourceWriter::writeCore(const NormScaleCore &core) {
  writeScale(core.scale, operand(core.x).columns);
  field("x", core.x);
  writeRowSource({core.x}, {});
  return Status::ok();
}

Status SourceWriter::writeCore(const GatherCore &core) {
  for (size_t i = 0; i < core.tables.size(); ++i) {
    field(fmt::format("index{}", i), core.indices[i]);
    field(fmt::format("table{}", i), core.tables[i]);
  }
  const int64_t columns = operand(core.tables[0]).columns;
  if (core.reduce)
    writeScale(*core.reduce, columns);
  else
    writeCopy(columns);
  writeRowSource(core.tables, core.indices);
  return Status::ok();
}

Status SourceWriter::writeCore(const IdentityCore &core) {
  writeCopy(spec.result().columns);
  field("x", core.x);
  writeRowSource({core.x}, {});
  return Status::ok();
}

void SourceWriter::writeCopy(int64_t columns) {
  beginRows(256);
  constant("columns", columns);
  body = "  copyRows(spec, epilogue, extents);\n";
}

void SourceWriter::writeScale(const RowScaleSpec &scale, int64_t depth) {
  beginRows(256);
  writeNorm(scale.form, scale.eps);
  constant("depth", depth);
  resultField("result", spec.resultIndex());
  members += fmt::format("  __device__ __forceinline__ void store(int64 row, "
                         "float value) const {{\n"
                         "    result[row * {}] = fromFloat<{}>(value);\n"
                         "  }}\n",
                         spec.result().rowStride, type(spec.resultIndex()));
  usesEpilogue = false;
  body = "  scaleOfRows(spec, extents);\n";
}

void SourceWriter::writeRowSource(const std::vector<int32_t> &tables,
                                  const std::vector<int32_t> &indices) {
  std::string fields, first, loads;
  for (size_t i = 0; i < tables.size(); ++i) {
    const OperandSpec &table = operand(tables[i]);
    const std::string from = indices.empty() ? "x" : fmt::format("table{}", i);
    fields += fmt::format("    const {} *from{};\n", type(tables[i]), i);
    first += fmt::format(
        "{}{} + {} * {}", i ? ",\n            " : "", from,
        indices.empty() ? "row" : fmt::format("int64(index{}[row])", i),
        table.rowStride);
    loads +=
        fmt::format("      loadColumns<V, {}>({}, from{} + column, valid);\n",
                    boolText(isAligned(table)), i ? "next" : "values", i);
    if (i)
      loads += "      for (int i = 0; i < V; ++i)\n"
               "        values[i] += next[i];\n";
  }
  members += fmt::format(
      "  struct Row {{\n{}"
      "    template <int V> __device__ __forceinline__ void\n"
      "    load(float (&values)[V], int column, int valid) const {{\n"
      "{}{}    }}\n  }};\n"
      "  __device__ __forceinline__ Row row(int64 row) const {{\n"
      "    return {{{}}};\n  }}\n",
      fields, tables.size() > 1 ? "      float next[V];\n" : "", loads, first);
}

Status SourceWriter::writeCore(const RotaryCore &core) {
  beginRows(256);
  const int64_t headSize = spec.result().columns / core.heads;
  const int64_t half = headSize / 2;
  constant("heads", core.heads);
  constant("headSize", headSize);
  members += fmt::format("  static constexpr double offset = {:.17g};\n"
                         "  static constexpr double step = {:.17g};\n",
                         core.offset, core.step);
  field("x", core.x);
  loader("loadX", "x", core.x);
  std::string place = fmt::format("int32(row % {})", core.rowsPerItem);
  if (core.position >= 0) {
    field("positions", core.position);
    place = "positions[row]";
  }
  members += fmt::format("  __device__ __forceinline__ int32 position(int64 "
                         "row) const {{\n    return {};\n  }}\n"
                         "  __device__ __forceinline__ double frequency(int "
                         "i) const {{\n    return frequencies[i];\n  }}\n",
                         place);
  globals = fmt::format("__constant__ double frequencies[{}] = {{{:.17g}}};\n",
                        half, fmt::join(rotaryFrequencies(core, half), ", "));
  body = "  rotateRows(spec, epilogue, extents);\n";
  return Status::ok();
}

Status SourceWriter::writeCore(const SegmentSubCore &core) {
  beginRows(spec.tile.rows);
  rowsFunction("segments", operand(core.base).rows);
  usesEpilogue = false;
  body = fmt::format("  subtractBase<Spec>({}, {}, {},\n"
                     "      static_cast<int32 *>(operands.pointers[{}]), "
                     "extents);\n",
                     pointer(core.values), pointer(core.base),
                     pointer(core.rowSplits), spec.resultIndex());
  return Status::ok();
}

} // namespace betz::cuda
