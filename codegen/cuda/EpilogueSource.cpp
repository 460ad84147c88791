#include "codegen/cuda/SourceWriter.h"

#include <cmath>
#include <fmt/format.h>

namespace betz::cuda {

namespace {

/// What a step makes of its first and its second operand.
fmt::string_view binaryText(EpilogueStep::Kind kind, bool isShort) {
  switch (kind) {
  case EpilogueStep::Kind::Add:
    return "{} + {}";
  case EpilogueStep::Kind::Sub:
    return "{} - {}";
  case EpilogueStep::Kind::GeluGrad:
    return isShort ? "geluSlopeShort({}) * {}" : "geluSlope({}) * {}";
  case EpilogueStep::Kind::SiluGrad:
    return "siluSlope({}) * {}";
  default: // Mul
    return "{} * {}";
  }
}

} // namespace

std::string SourceWriter::operandRow(const OperandSpec &other) const {
  if (other.rows == spec.result().rows)
    return "row";
  return other.rows.plus == 1 ? "0" : fmt::format("row % {}", other.rows.plus);
}

std::string SourceWriter::each(std::string_view what) {
  return fmt::format("#pragma unroll\n    for (int i = 0; i < V; ++i)\n"
                     "      values[i] = {};\n",
                     what);
}

/// Both operands at the same place.
SourceWriter::StepText SourceWriter::binaryStep(size_t number) const {
  const EpilogueStep &step = spec.epilogue[number];
  const OperandSpec &other = operand(step.operand);
  const std::string read = fmt::format("step{}", number);
  const std::string_view first = step.swapped ? "other[i]" : "values[i]";
  const std::string_view second = step.swapped ? "values[i]" : "other[i]";
  return {fmt::format("    Fetched<{}, V, {}> {};\n", type(step.operand),
                      boolText(isAligned(other)), read),
          fmt::format("    reads.{}.fetch({} + ({}) * {} + column, "
                      "valid);\n",
                      read, pointer(step.operand), operandRow(other),
                      other.rowStride),
          fmt::format(
              "    reads.{}.expand(other);\n{}", read,
              each(fmt::format(fmt::runtime(binaryText(step.kind, isShort())),
                               first, second)))};
}

/// The mask follows from the element's row-major index.
SourceWriter::StepText SourceWriter::dropoutStep(size_t number) const {
  const EpilogueStep &step = spec.epilogue[number];
  const std::string read = fmt::format("step{}", number);
  return {fmt::format("    uint32 {};\n", read),
          fmt::format("    reads.{} = valid > 0 ? dropoutKey({}, {}u) : 0u;\n",
                      read, pointer(step.operand), uint32_t(step.site)),
          each(fmt::format("dropout(values[i], reads.{}, uint32(row) * {}u + "
                           "uint32(column + i), {}u, {:.9e}f)",
                           read, spec.result().columns,
                           uint32_t(std::floor(step.rate * 0x1p32)),
                           1 / (1 - step.rate)))};
}

SourceWriter::StepText SourceWriter::stepText(size_t number) const {
  const EpilogueStep &step = spec.epilogue[number];
  const std::string read = fmt::format("step{}", number);
  switch (step.kind) {
  case EpilogueStep::Kind::Gelu:
    return {"", "",
            each(isShort() ? "geluShort(values[i])" : "gelu(values[i])")};
  case EpilogueStep::Kind::Silu:
    return {"", "", each("silu(values[i])")};
  case EpilogueStep::Kind::Sigmoid:
    return {"", "", each("sigmoid(values[i])")};
  case EpilogueStep::Kind::Tanh:
    return {"", "", each("tanhf(values[i])")};
  case EpilogueStep::Kind::ScaleRows:
    if (step.operand < 0)
      return {"", "", each("values[i] * ownScale")};
    return {fmt::format("    float {};\n", read),
            fmt::format("    reads.{} = valid > 0 ? toFloat(({})[row * {}]) : "
                        "0.0f;\n",
                        read, pointer(step.operand),
                        operand(step.operand).rowStride),
            each(fmt::format("values[i] * reads.{}", read))};
  case EpilogueStep::Kind::Dropout:
    return dropoutStep(number);
  case EpilogueStep::Kind::Add:
  case EpilogueStep::Kind::Mul:
  case EpilogueStep::Kind::Sub:
  case EpilogueStep::Kind::GeluGrad:
  case EpilogueStep::Kind::SiluGrad:
    return binaryStep(number);
  }
  return {};
}

std::string SourceWriter::epilogueText() const {
  StepText all;
  for (size_t i = 0; i < spec.epilogue.size(); ++i) {
    StepText step = stepText(i);
    all.member += step.member;
    all.read += step.read;
    all.apply += step.apply;
  }
  const OperandSpec &result = spec.result();
  return fmt::format(
      "struct Epilogue {{\n"
      "  const Operands<{}> &operands;\n"
      "  template <int V> struct Reads {{\n{}  }};\n"
      "  template <int V> __device__ __forceinline__ Reads<V>\n"
      "  read(int64 row, int column, int valid) const {{\n"
      "    Reads<V> reads;\n{}    return reads;\n  }}\n"
      "  template <int V> __device__ __forceinline__ void\n"
      "  finish(float (&values)[V], const Reads<V> &reads, int64 row,\n"
      "         int column, int valid, float ownScale) const {{\n"
      "    float other[V];\n{}"
      "    storeColumns<V, {}, {}>(values, static_cast<{} "
      "*>(operands.pointers[{}]) + {} + row * {} + column, valid);\n"
      "  }}\n"
      "  template <int V> __device__ __forceinline__ void\n"
      "  finish(float (&values)[V], int64 row, int column, int valid,\n"
      "         float ownScale = 1.0f) const {{\n"
      "    finish(values, read<V>(row, column, valid), row, column, valid,\n"
      "           ownScale);\n"
      "  }}\n}};\n",
      spec.operands.size(), all.member, all.read, all.apply,
      boolText(isAligned(result)),
      boolText(std::holds_alternative<GatherCore>(spec.core)),
      typeName(result.dtype), spec.resultIndex(), result.offset,
      result.rowStride);
}

} // namespace betz::cuda
