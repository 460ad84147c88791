#include "codegen/cuda/Source.h"
#include "codegen/cuda/SourceWriter.h"
#include "runtime/program/KernelAbi.h"

#include <fmt/format.h>

namespace betz::cuda {

namespace {

/// "extents[0] * 256 + 0"
std::string dimText(const Dim &dim) {
  return dim.symbol < 0 ? fmt::format("{}", dim.plus)
                        : fmt::format("extents[{}] * {} + {}", dim.symbol,
                                      dim.factor, dim.plus);
}

std::string floatText(double value) {
  return fmt::format("{:.9g}f", value).find_first_of(".e") == std::string::npos
             ? fmt::format("{:.9g}.0f", value)
             : fmt::format("{:.9g}f", value);
}

} // namespace

std::string_view typeName(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "float";
  case DType::BF16:
    return "bf16";
  case DType::I32:
    return "int32";
  default:
    return "";
  }
}

SourceWriter::SourceWriter(const std::string &name, const KernelSpec &spec,
                           Path path, bool isHopper)
    : name(name), spec(spec), path(path), isHopper(isHopper),
      flags(isHopper ? kCudaDependentLaunch : 0) {}

Result<std::string> SourceWriter::write() {
  if (spec.prologue)
    return invalidArgument("a norm in front of a matmul: on CUDA it is a "
                           "kernel of its own; compile from the model phase");
  if (spec.rowScale && spec.rowScale->squares < 0)
    return invalidArgument("a matmul that measures its rows' factor: on CUDA "
                           "it comes from sums of squares; compile from the "
                           "model phase");
  for (const OperandSpec &operand : spec.operands)
    if (typeName(operand.dtype).empty())
      return invalidArgument(fmt::format("elements of type {}: CUDA kernels "
                                         "take f32, bf16 and i32",
                                         toString(operand.dtype)));
  BETZ_RETURN_IF_ERROR(
      std::visit([&](const auto &core) { return writeCore(core); }, spec.core));
  return assemble();
}

std::string SourceWriter::type(int32_t number) const {
  return std::string(typeName(operand(number).dtype));
}

std::string SourceWriter::boolText(bool value) {
  return value ? "true" : "false";
}

std::string SourceWriter::pointer(int32_t number) const {
  return fmt::format("static_cast<const {} *>(operands.pointers[{}]) + {}",
                     type(number), number, operand(number).offset);
}

void SourceWriter::constant(std::string_view what, int64_t value) {
  members += fmt::format("  static constexpr int {} = {};\n", what, value);
}

void SourceWriter::flag(std::string_view what, bool value) {
  members +=
      fmt::format("  static constexpr bool {} = {};\n", what, boolText(value));
}

void SourceWriter::real(std::string_view what, double value) {
  members += fmt::format("  static constexpr float {} = {};\n", what,
                         floatText(value));
}

void SourceWriter::field(std::string_view what, int32_t number) {
  members += fmt::format("  const {} *{};\n", type(number), what);
  setup += fmt::format("  spec.{} = {};\n", what, pointer(number));
}

void SourceWriter::resultField(std::string_view what, int32_t number) {
  members += fmt::format("  {} *{};\n", type(number), what);
  setup += fmt::format("  spec.{} = static_cast<{} *>(operands.pointers[{}]) "
                       "+ {};\n",
                       what, type(number), number, operand(number).offset);
}

void SourceWriter::rowsFunction(std::string_view what, const Dim &dim) {
  members += fmt::format("  static __device__ __forceinline__ int64 "
                         "{}(const int64 *extents) {{\n"
                         "    return {};\n  }}\n",
                         what, dimText(dim));
}

void SourceWriter::loader(std::string_view what, std::string_view from,
                          int32_t number) {
  members += fmt::format(
      "  template <int V> __device__ __forceinline__ void\n"
      "  {}(float (&values)[V], int64 row, int column, int valid) const {{\n"
      "    loadColumns<V, {}>(values, {} + row * {} + column, valid);\n"
      "  }}\n",
      what, boolText(isAligned(operand(number))), from,
      operand(number).rowStride);
}

void SourceWriter::useShared(int64_t bytes) {
  sharedBytes = bytes;
  globals += "extern __shared__ __align__(1024) unsigned char shared[];\n";
}

Status SourceWriter::checkDense(int32_t number, std::string_view what) const {
  if (operand(number).rowStride == operand(number).columns)
    return Status::ok();
  return invalidArgument(fmt::format("{} with gaps between rows", what));
}

std::string SourceWriter::assemble() const {
  return fmt::format(
      "#include \"{}\"\n\nusing namespace betz;\n\n{}"
      "struct Spec {{\n{}}};\n\n{}"
      "extern \"C\" __constant__ Launch {}_launch = {{{}, {}, {}, {}}};\n\n"
      "extern \"C\" __global__ void {}__launch_bounds__({}{})\n"
      "{}(const __grid_constant__ Operands<{}> operands,\n"
      "    const int64 *extents{}) {{\n{}"
      "  Spec spec;\n{}{}{}}}\n",
      header, globals, members,
      usesEpilogue ? epilogueText() + "\n" : std::string(), name, threads,
      sharedBytes, persistentBlocks, flags, attributes, threads, bounds, name,
      spec.operands.size(), mapParameters,
      waitsItself ? "" : "  followPrevious();\n", setup,
      usesEpilogue ? "  const Epilogue epilogue{operands};\n" : "", body);
}

Result<std::string> kernelSource(const std::string &name,
                                 const KernelSpec &spec,
                                 const Architecture &architecture) {
  return SourceWriter(name, spec, choosePath(spec, architecture),
                      isHopper(architecture))
      .write();
}

} // namespace betz::cuda
