#include "codegen/cuda/Source.h"
#include "runtime/program/KernelAbi.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace betz::cuda {

namespace {

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

/// "extents[0] * 256 + 0"
std::string dimText(const Dim &dim) {
  return dim.symbol < 0 ? fmt::format("{}", dim.plus)
                        : fmt::format("extents[{}] * {} + {}", dim.symbol,
                                      dim.factor, dim.plus);
}

/// Columns of a sum of squares between matmuls; the kernels' lanes fix it.
constexpr int64_t kSquareGroup = 32;

/// A block for each multiprocessor, which keeps two tiles under way.
bool isPersistent(const TileConfig &tile) {
  return tile.rows == 128 && tile.columns == 128;
}

std::string floatText(double value) {
  return fmt::format("{:.9g}f", value).find_first_of(".e") == std::string::npos
             ? fmt::format("{:.9g}.0f", value)
             : fmt::format("{:.9g}f", value);
}

/// Writes one translation unit.
class SourceWriter {
public:
  SourceWriter(const std::string &name, const KernelSpec &spec, Path path,
               bool followsEarly)
      : name(name), spec(spec), path(path),
        flags(followsEarly ? kCudaDependentLaunch : 0) {}

  Result<std::string> write() {
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
    for (const EpilogueStep &step : spec.epilogue)
      if (!hasStep(step.kind))
        return invalidArgument(fmt::format("betz.{}, which has no CUDA code",
                                           describe(step.kind).mnemonic));
    BETZ_RETURN_IF_ERROR(std::visit(
        [&](const auto &core) { return writeCore(core); }, spec.core));
    return assemble();
  }

private:
  const OperandSpec &operand(int32_t number) const {
    return spec.operands[size_t(number)];
  }
  std::string type(int32_t number) const {
    return std::string(typeName(operand(number).dtype));
  }
  static std::string boolText(bool value) { return value ? "true" : "false"; }

  /// A typed pointer to an operand's first element.
  std::string pointer(int32_t number) const {
    return fmt::format("static_cast<const {} *>(operands.pointers[{}]) + {}",
                       type(number), number, operand(number).offset);
  }

  void constant(std::string_view what, int64_t value) {
    members += fmt::format("  static constexpr int {} = {};\n", what, value);
  }
  void flag(std::string_view what, bool value) {
    members += fmt::format("  static constexpr bool {} = {};\n", what,
                           boolText(value));
  }
  void real(std::string_view what, double value) {
    members += fmt::format("  static constexpr float {} = {};\n", what,
                           floatText(value));
  }
  /// A member that points at an operand; set in the kernel's body.
  void field(std::string_view what, int32_t number) {
    members += fmt::format("  const {} *{};\n", type(number), what);
    setup += fmt::format("  spec.{} = {};\n", what, pointer(number));
  }
  /// The same for what the kernel writes.
  void resultField(std::string_view what, int32_t number) {
    members += fmt::format("  {} *{};\n", type(number), what);
    setup += fmt::format("  spec.{} = static_cast<{} *>(operands.pointers[{}]) "
                         "+ {};\n",
                         what, type(number), number, operand(number).offset);
  }
  void rowsFunction(std::string_view what, const Dim &dim) {
    members += fmt::format("  static __device__ __forceinline__ int64 "
                           "{}(const int64 *extents) {{\n"
                           "    return {};\n  }}\n",
                           what, dimText(dim));
  }
  /// `what(values, row, column, valid)`: columns of an operand's row.
  void loader(std::string_view what, std::string_view from, int32_t number) {
    members += fmt::format(
        "  template <int V> __device__ __forceinline__ void\n"
        "  {}(float (&values)[V], int64 row, int column, int valid) const {{\n"
        "    loadColumns<V, {}>(values, {} + row * {} + column, valid);\n"
        "  }}\n",
        what, boolText(isAligned(operand(number))), from,
        operand(number).rowStride);
  }
  /// What every kernel of rows.cuh has.
  void beginRows(int64_t blockThreads) {
    header = "rows.cuh";
    rowsFunction("rows", spec.result().rows);
    constant("rowsPerBlock", spec.tile.rows);
    constant("warps", blockThreads / 32);
    threads = blockThreads;
    bounds = ", 4"; // ptxas aims at more, and spills for it
  }

  //===--------------------------------------------------------------------===//
  // Families
  //===--------------------------------------------------------------------===//

  Status writeCore(const MatmulCore &core) {
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

  /// Sums of squares that a matmul reads or leaves.
  Status writeSquares() {
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

  void writeMatmulTile(const MatmulCore &core) {
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

  void writeMatmulTma(const MatmulCore &core) {
    const TileConfig &tile = spec.tile;
    const bool persistent = isPersistent(tile);
    sharedBytes += tile.stages * 16; // barriers
    flag("weightIsConstant", operand(core.weight).constant);
    waitsItself = true;
    auto map = [&](int32_t number, int64_t boxRows, bool interleaved) {
      const OperandSpec &matrix = operand(number);
      return fmt::format("{{{}, {}, {}, {}, {}, {}}}", number,
                         matrix.offset * 2, core.depth, matrix.rowStride * 2,
                         boxRows, int(interleaved));
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

  Status writeCore(const AttentionCore &core) {
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
    if (path == Path::AttentionMma || path == Path::AttentionWgmma)
      writeAttentionTile(core);
    else
      writeAttentionSimt(core);
    return Status::ok();
  }

  void writeAttentionTile(const AttentionCore &core) {
    constant("qStride", operand(core.q).rowStride);
    constant("kStride", operand(core.k).rowStride);
    constant("vStride", operand(core.v).rowStride);
    flag("skipsByTime",
         core.keyTime >= 0 && core.sparsity >= SparsityRule::TimeBounds);
    flag("skipsCausal", core.causal && core.sparsity >= SparsityRule::Causal);
    flag("skipsByMap",
         core.blockMap >= 0 && core.sparsity >= SparsityRule::BlockMap);
    constant("queryTile", spec.tile.rows);
    threads = 2 * spec.tile.rows;
    const bool narrow = core.headSize <= 64;
    const int small = core.keyTime >= 0 ? 3 : 4; // times take registers
    bounds = fmt::format(", {}", spec.tile.rows == 64 ? (narrow ? small : 2)
                                                      : (narrow ? 2 : 1));
    const bool wgmma = path == Path::AttentionWgmma;
    header = wgmma ? "attention_wgmma.cuh" : "attention_mma.cuh";
    // Queries, two blocks of keys and values, times of 64 key blocks and of the
    // keys of two.
    const int64_t pitch = core.headSize * 2 + (wgmma ? 0 : 16);
    useShared((spec.tile.rows + 4 * 64) * pitch + 64 * 8 + 2 * 64 * 4);
    body =
        fmt::format("  AttentionTile<Spec, {}>(spec, shared)\n"
                    "      .run(epilogue, extents);\n",
                    wgmma ? "AttentionWgmma" : "AttentionMma<Spec::headSize>");
  }

  void writeAttentionSimt(const AttentionCore &core) {
    header = "attention_simt.cuh";
    constant("queryTile", spec.tile.rows);
    constant("warps", 4);
    for (auto [what, from, number] :
         {std::tuple{"loadQ", "q", core.q}, std::tuple{"loadK", "k", core.k},
          std::tuple{"loadV", "v", core.v}})
      members += fmt::format("  __device__ __forceinline__ float {}(int64 row, "
                             "int column) const {{\n    return toFloat({}[row "
                             "* {} + column]);\n  }}\n",
                             what, from, operand(number).rowStride);
    threads = 128;
    bounds = ", 8"; // as in beginRows
    body = "  attentionSimt(spec, epilogue, extents);\n";
  }

  Status writeCore(const NormCore &core) {
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

  void writeNorm(NormForm form, double eps) {
    flag("layer", form == NormForm::Layer);
    real("eps", eps);
  }

  /// A vector that every row shares; zeros for an absent one.
  void writeVector(std::string_view what, std::string_view from,
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

  Status writeCore(const NormScaleCore &core) {
    writeScale(core.scale, operand(core.x).columns);
    field("x", core.x);
    writeRowSource({core.x}, {});
    return Status::ok();
  }

  Status writeCore(const GatherCore &core) {
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

  Status writeCore(const IdentityCore &core) {
    writeCopy(spec.result().columns);
    field("x", core.x);
    writeRowSource({core.x}, {});
    return Status::ok();
  }

  void writeCopy(int64_t columns) {
    beginRows(256);
    constant("columns", columns);
    body = "  copyRows(spec, epilogue, extents);\n";
  }

  void writeScale(const RowScaleSpec &scale, int64_t depth) {
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

  /// `row(r)`: an object whose `load` sums one row of each table, or reads the
  /// row itself when there are no indices.
  void writeRowSource(const std::vector<int32_t> &tables,
                      const std::vector<int32_t> &indices) {
    std::string fields, first, loads;
    for (size_t i = 0; i < tables.size(); ++i) {
      const OperandSpec &table = operand(tables[i]);
      const std::string from =
          indices.empty() ? "x" : fmt::format("table{}", i);
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
        fields, tables.size() > 1 ? "      float next[V];\n" : "", loads,
        first);
  }

  Status writeCore(const RotaryCore &core) {
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
    globals =
        fmt::format("__constant__ double frequencies[{}] = {{{:.17g}}};\n",
                    half, fmt::join(rotaryFrequencies(core, half), ", "));
    body = "  rotateRows(spec, epilogue, extents);\n";
    return Status::ok();
  }

  template <typename OtherCore> Status writeCore(const OtherCore &) {
    return invalidArgument(
        fmt::format("a {} kernel of a training step, which has no CUDA code",
                    familyName(spec)));
  }

  Status writeCore(const SegmentSubCore &core) {
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

  //===--------------------------------------------------------------------===//
  // Epilogue and unit
  //===--------------------------------------------------------------------===//

  void useShared(int64_t bytes) {
    sharedBytes = bytes;
    globals += "extern __shared__ __align__(1024) unsigned char shared[];\n";
  }

  std::string operandRow(const OperandSpec &other) const {
    if (other.rows == spec.result().rows)
      return "row";
    return other.rows.plus == 1 ? "0"
                                : fmt::format("row % {}", other.rows.plus);
  }

  /// A step in three places: a member of Reads, how it is read, what is done.
  struct StepText {
    std::string member, read, apply;
  };

  static std::string each(std::string_view what) {
    return fmt::format("#pragma unroll\n    for (int i = 0; i < V; ++i)\n"
                       "      values[i] = {};\n",
                       what);
  }

  static bool hasStep(EpilogueStep::Kind kind) {
    using Kind = EpilogueStep::Kind;
    return kind == Kind::Gelu || kind == Kind::Silu ||
           kind == Kind::ScaleRows || kind == Kind::Add || kind == Kind::Mul;
  }

  StepText stepText(size_t number) const {
    const EpilogueStep &step = spec.epilogue[number];
    const bool isShort = spec.result().dtype == DType::BF16;
    const std::string read = fmt::format("step{}", number);
    switch (step.kind) {
    case EpilogueStep::Kind::Gelu:
      return {"", "",
              each(isShort ? "geluShort(values[i])" : "gelu(values[i])")};
    case EpilogueStep::Kind::Silu:
      return {"", "", each("silu(values[i])")};
    case EpilogueStep::Kind::ScaleRows: {
      if (step.operand < 0)
        return {"", "", each("values[i] * ownScale")};
      return {fmt::format("    float {};\n", read),
              fmt::format(
                  "    reads.{} = valid > 0 ? toFloat(({})[row * {}]) : "
                  "0.0f;\n",
                  read, pointer(step.operand), operand(step.operand).rowStride),
              each(fmt::format("values[i] * reads.{}", read))};
    }
    case EpilogueStep::Kind::Add:
    case EpilogueStep::Kind::Mul: {
      const OperandSpec &other = operand(step.operand);
      const char sign = step.kind == EpilogueStep::Kind::Add ? '+' : '*';
      return {fmt::format("    Fetched<{}, V, {}> {};\n", type(step.operand),
                          boolText(isAligned(other)), read),
              fmt::format("    reads.{}.fetch({} + ({}) * {} + column, "
                          "valid);\n",
                          read, pointer(step.operand), operandRow(other),
                          other.rowStride),
              fmt::format("    reads.{}.expand(other);\n{}", read,
                          each(fmt::format("values[i] {} other[i]", sign)))};
    }
    default: // hasStep
      return {};
    }
  }

  std::string epilogueText() const {
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

  std::string assemble() const {
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

  const std::string &name;
  const KernelSpec &spec;
  const Path path;
  uint32_t flags;
  std::string header, globals, members, setup, body;
  std::string mapParameters, attributes, bounds;
  int64_t threads = 0, sharedBytes = 0;
  uint32_t persistentBlocks = 0;
  bool usesEpilogue = true;
  bool waitsItself = false;
};

} // namespace

Result<std::string> kernelSource(const std::string &name,
                                 const KernelSpec &spec,
                                 const Architecture &architecture) {
  return SourceWriter(name, spec, choosePath(spec, architecture),
                      isHopper(architecture))
      .write();
}

} // namespace betz::cuda
