//===- Program.h - What the compiler hands to the runtime -----------------===//
//
// A Program is a compiled model: typed inputs and outputs, and for each target
// (cpu, cuda:sm_90a, ...) its derived weights, kernels, launch lists and
// executables. It knows no compiler and no device; a Session runs it. The file
// format is described in docs/program.md and implemented in ProgramIO.cpp.
//
// Changing a structure here changes the file: raise kProgramVersion.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/File.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace betz {

inline constexpr uint32_t kProgramVersion = 4;
/// Sections and derived tensors start at multiples of these in the file.
inline constexpr size_t kSectionAlignment = 4096;
inline constexpr size_t kTensorAlignment = 64;

/// A dimension: `factor * symbol + plus`, or the constant `plus` when `symbol`
/// is negative. Symbols index Program::symbols.
struct Dim {
  int32_t symbol = -1;
  int64_t factor = 0;
  int64_t plus = 0;

  static Dim constant(int64_t value) { return {-1, 0, value}; }
  int64_t evaluate(std::span<const int64_t> extents) const {
    return symbol < 0 ? plus : factor * extents[size_t(symbol)] + plus;
  }
  bool operator==(const Dim &) const = default;
};

/// Dense, row-major.
struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Dim> shape;

  int64_t elements(std::span<const int64_t> extents) const;
  int64_t bytes(std::span<const int64_t> extents) const;
};

/// An input of a step. Its symbolic dimensions (factor 1) define the extents.
struct InputSpec {
  TensorSpec tensor;
  /// Another name that files and clients may use for it.
  std::string alias;
  /// When set, the input may be left out and is filled with this value.
  std::optional<int32_t> defaultValue;
};

/// Host-side check before a step: every element of integer input `input`, less
/// the element of `baseInput` for its segment where that is set, lies in
/// [0, below). Without it a kernel could read outside a table.
struct IndexCheck {
  uint32_t input = 0;
  int64_t below = 0;
  std::optional<uint32_t> baseInput;
  std::optional<uint32_t> splitsInput;
};

/// Host-side check: input `input` starts at 0, never falls, ends at the extent
/// `rowsSymbol`, and no segment is longer than `maxRows`.
struct SplitsCheck {
  uint32_t input = 0;
  int32_t rowsSymbol = -1;
  int64_t maxRows = 0;
};

/// How many independent tasks a kernel splits into: the product of
/// ceil(dim / tile) over its terms.
struct TaskSpace {
  struct Term {
    Dim dim;
    int64_t tile = 1;
  };
  std::vector<Term> terms;

  int64_t count(std::span<const int64_t> extents) const;
};

/// A kernel of the launch list. Kernels with equal specs share their code.
struct KernelSpecEntry {
  std::string name;
  /// The function in the executables; on a CPU of type CpuKernelFn
  /// (KernelAbi.h).
  std::string code;
  /// The model section it came from, e.g. "blocks.0.mlp".
  std::string section;
  TaskSpace tasks;
  /// The serialised KernelSpec (codegen/common/KernelSpec.h), JSON.
  std::string spec;
};

/// Where a kernel operand lives. For Arena, `offset` is in bytes from the
/// arena's start and `index` is unused; for the others `index` picks the input,
/// output, derived tensor or state, and `offset` is in bytes from its start.
enum class BufferKind : uint8_t { Input, Output, Derived, Arena, State };
struct BufferRef {
  BufferKind kind = BufferKind::Arena;
  uint32_t index = 0;
  int64_t offset = 0;

  bool operator==(const BufferRef &) const = default;
};

struct Launch {
  uint32_t kernel = 0;
  std::vector<BufferRef> operands;
};

/// One shape bucket: a step whose every extent is at most `capacity` runs these
/// launches in order, with an arena of `arenaBytes`.
struct LaunchPlan {
  /// One for each of Program::symbols.
  std::vector<int64_t> capacity;
  int64_t arenaBytes = 0;
  std::vector<Launch> launches;
};

/// Bytes of a program: owned by the program, or inside its mapped file.
struct Section {
  std::string name;
  std::span<const std::byte> bytes;
};

struct DerivedTensor {
  TensorSpec tensor; // constant dimensions only
  /// Bytes from the start of the target's derived section.
  int64_t offset = 0;
};

/// Machine code of all kernels of a target for one instruction-set level:
/// "avx2", "scalar"; "sm_90a".
struct ExecutableEntry {
  std::string isa;
  Section code;
};

/// Everything one kind of device needs.
struct TargetVariant {
  std::string target; // "cpu", "cuda:sm_90a"
  /// The program-phase IR; `betz dump` derives the other phases from it.
  std::string irText;
  std::vector<DerivedTensor> derived;
  /// Targets of one precision share it: the same bytes, once in the file.
  Section derivedData;
  std::vector<KernelSpecEntry> kernels;
  /// Ascending capacity.
  std::vector<LaunchPlan> plans;
  /// Best level first.
  std::vector<ExecutableEntry> executables;
  /// How its tiles were measured, JSON (docs/program.md); empty where they were
  /// not.
  std::string tuning;
};

/// Constant after construction; safe to share among threads.
struct Program {
  std::vector<std::string> symbols; // "batch", "events"
  std::vector<InputSpec> inputs;
  std::vector<TensorSpec> outputs;
  /// Tensors of constant shape that a session keeps from step to step; a step
  /// reads and updates them in place.
  std::vector<TensorSpec> states;
  std::vector<IndexCheck> indexChecks;
  std::vector<SplitsCheck> splitsChecks;
  /// Model metadata (DESIGN section 5): configuration, bin, window, units,
  /// output names and scales. Values are JSON text.
  std::map<std::string, std::string> metadata;
  std::vector<TargetVariant> targets;

  /// Bytes that sections point into.
  std::vector<std::shared_ptr<const std::vector<std::byte>>> ownedBytes;
  std::shared_ptr<const MappedFile> file;

  const TargetVariant *findTarget(std::string_view name) const;
};

/// Maps and checks a program file. Any damage, any other kind of file and any
/// other version is a DataLoss or InvalidArgument with the path and a remedy.
/// Every index, offset and reference inside is checked here, so that nothing
/// later needs to.
Result<std::shared_ptr<const Program>>
readProgram(const std::filesystem::path &path);

/// The same from memory; `origin` names it in errors. The bytes are shared.
Result<std::shared_ptr<const Program>>
parseProgram(std::shared_ptr<const std::vector<std::byte>> bytes,
             std::string_view origin);

/// The file's bytes: a function of the program alone, the same every time.
std::vector<std::byte> serializeProgram(const Program &program);

/// Writes serializeProgram(program) by rename.
Status writeProgram(const Program &program, const std::filesystem::path &path);

/// Hash of a program's content, as its file carries it (16 hex digits).
std::string programHash(const Program &program);

} // namespace betz
