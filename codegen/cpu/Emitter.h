//===- Emitter.h - Writing CPU kernels as scf + arith + llvm --------------===//
//
// A thin layer over OpBuilder so that a kernel reads like the loop nest that it
// is. All integers are i64. Vectors are 8 lanes of f32 (or i32, i1, f64), which
// LLVM splits where the instruction set is narrower, so every level adds the
// same numbers in the same order; what runs across no lanes may be wider.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/common/KernelSpec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace betz::cpu {

/// Lanes of sums across lanes; ReductionPlan::statisticLanes of CPU kernels.
inline constexpr int64_t kLanes = 8;

/// An instruction-set level that code is generated for.
struct IsaLevel {
  const char *name;    // as executables are labelled
  const char *llvmCpu; // LLVM's -mcpu
  bool fma;            // fused multiply-add in hardware
  // The register block of matrix products.
  int64_t microRows;   // rows
  int64_t tailRows;    // of the smaller block for rows that are left over
  int64_t microLanes;  // lanes of its vectors
  int64_t microPanels; // panels side by side, if there are as many
};

/// Levels in the order in which a runtime prefers them.
std::span<const IsaLevel> isaLevels();
/// Whether this machine's processor runs a level's code.
bool runsHere(const IsaLevel &level);

using mlir::Value;
using Values = llvm::SmallVector<Value>;

class Emitter {
public:
  Emitter(mlir::ModuleOp module, const IsaLevel &isa);

  /// Opens `extern "C" void name(operands, extents, begin, end)`; what follows
  /// goes into its body until endKernel.
  void beginKernel(llvm::StringRef name, const KernelSpec &spec);
  void endKernel();

  const KernelSpec &spec() const { return *kernel; }
  const IsaLevel &level() const { return isa; }
  Value beginTask() { return taskBegin; }
  Value endTask() { return taskEnd; }

  // Constants and types.
  Value integer(int64_t value);
  Value real(double value);
  Value splat(double value, int64_t lanes = kLanes);
  Value splatLike(Value vector, double value); // as many lanes as it has
  Value splatInteger(int64_t value, int64_t lanes = kLanes); // of i32
  Value splatDouble(double value);                           // 8 x f64
  /// Lanes below `count`.
  Value laneMask(int64_t count, int64_t lanes = kLanes);
  Value laneMask(Value count, int64_t lanes = kLanes);
  /// 0, 1, 2, ... as i32.
  Value laneNumbers(int64_t lanes = kLanes);
  static int64_t lanesOf(Value vector);
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::VectorType vectorType(mlir::Type element, int64_t lanes = kLanes);
  mlir::VectorType vectorF32() { return vectorType(builder.getF32Type()); }
  mlir::VectorType vectorI32() { return vectorType(builder.getI32Type()); }

  // i64 arithmetic.
  Value add(Value a, Value b);
  Value add(Value a, int64_t b) { return add(a, integer(b)); }
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value mul(Value a, int64_t b) { return mul(a, integer(b)); }
  Value divide(Value a, Value b);
  Value divide(Value a, int64_t b) { return divide(a, integer(b)); }
  Value remainder(Value a, Value b);
  Value remainder(Value a, int64_t b) { return remainder(a, integer(b)); }
  Value minimum(Value a, Value b);
  Value maximum(Value a, Value b);
  Value less(Value a, Value b);
  Value lessEqual(Value a, Value b);

  // f32 arithmetic on scalars and vectors alike.
  Value fadd(Value a, Value b);
  Value fsub(Value a, Value b);
  Value fmul(Value a, Value b);
  Value fdiv(Value a, Value b);
  /// a * b + c: fused where the level has it, two roundings elsewhere.
  Value fma(Value a, Value b, Value c);
  Value fmax(Value a, Value b);
  Value fmin(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value sqrt(Value x);
  Value round(Value x); // to nearest, ties to even
  Value broadcast(Value scalar, int64_t lanes = kLanes);
  /// A wider vector as vectors of kLanes.
  Values split(Value wide);
  Value broadcastInteger(Value i64, int64_t lanes = kLanes);
  /// Sum or maximum of the lanes, always in the same tree order.
  Value sumLanes(Value vector);
  Value maxLanes(Value vector);
  Value firstLane(Value vector);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value bitXor(Value a, Value b);
  /// Of unsigned integers.
  Value shiftRight(Value a, Value b);
  Value widen(Value f32);  // to f64
  Value narrow(Value f64); // to f32
  Value toReal(Value i64); // to f32
  Value real64(double value);

  // Memory. Indices count elements.
  Value pointer(int32_t operand);   // its base plus its constant offset
  Value basePointer(Value operand); // of one that is known at run time
  Value extent(int32_t symbol);
  Value evaluate(const Dim &dim);
  Value at(Value pointer, Value index, mlir::Type element);
  Value loadScalar(Value pointer, Value index, mlir::Type type);
  Value loadI32(Value pointer, Value index); // sign-extended to i64
  Value load(Value pointer, Value index);    // 8 x f32
  Value load(Value pointer, Value index, mlir::VectorType type);
  Value loadMasked(Value pointer, Value index, Value mask,
                   mlir::VectorType type);
  void store(Value value, Value pointer, Value index);
  void storeMasked(Value value, Value pointer, Value index, Value mask);
  /// Asks for an element's line in the second-level cache.
  void prefetch(Value pointer, Value index);
  /// Loads after it stay after those before it. LLVM's scheduler would
  /// otherwise start with all loads of a block and spill what it keeps.
  void fenceLoads();
  /// Stack memory of `elements` f32, 64-byte aligned, for the whole call.
  Value scratch(int64_t elements);
  /// A constant table in the module.
  Value table(llvm::StringRef name, llvm::ArrayRef<double> values);
  Value table(llvm::StringRef name, llvm::ArrayRef<int64_t> values);

  // Control flow.
  void loop(Value from, Value to, int64_t step,
            llvm::function_ref<void(Value)> body);
  Values loop(Value from, Value to, int64_t step, Values initial,
              llvm::function_ref<Values(Value, Values)> body);
  void when(Value condition, llvm::function_ref<void()> then,
            llvm::function_ref<void()> otherwise = nullptr);
  /// Repeats `next` while `condition` holds of the i64 value.
  Value loopWhile(Value initial, llvm::function_ref<Value(Value)> condition,
                  llvm::function_ref<Value(Value)> next);
  /// Runs `body(column, mask)` for columns [0, columns) eight at a time; the
  /// mask is null but for a last, partial group.
  void forColumns(int64_t columns, llvm::function_ref<void(Value, Value)> body);
  /// The same for columns [from, to), which need not be constants.
  void forColumns(Value from, Value to,
                  llvm::function_ref<void(Value, Value)> body);
  /// The same over sums that are carried along.
  Values forColumns(int64_t columns, Values initial,
                    llvm::function_ref<Values(Value, Value, Values)> body);

  mlir::OpBuilder builder;
  mlir::Location where;

private:
  template <typename OpTy, typename... Args> Value make(Args... args) {
    return builder.create<OpTy>(where, args...);
  }

  Value table(llvm::StringRef name, mlir::DenseElementsAttr values);

  mlir::ModuleOp module;
  const IsaLevel &isa;
  const KernelSpec *kernel = nullptr;
  mlir::LLVM::LLVMFuncOp function;
  Value operands, extents, taskBegin, taskEnd;
};

} // namespace betz::cpu
