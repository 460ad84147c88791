#include "codegen/cpu/Emitter.h"

namespace betz::cpu {

namespace LLVM = mlir::LLVM;
namespace arith = mlir::arith;
namespace scf = mlir::scf;

std::span<const IsaLevel> isaLevels() {
  static constexpr IsaLevel levels[] = {
      // The register block and what follows it element by element alone are
      // wider than eight lanes: each sum still takes the same products in the
      // same order, so its bits are avx2's. 24 of 32 registers hold sums; a
      // broadcast serves two panels.
      {"avx512", "x86-64-v4", /*fma=*/true, /*microRows=*/12, /*tailRows=*/4,
       /*microLanes=*/16, /*microPanels=*/2},
      {"avx2", "x86-64-v3", /*fma=*/true, /*microRows=*/6, /*tailRows=*/2,
       /*microLanes=*/8, /*microPanels=*/1},
      // Baseline x86-64: the eight lanes are two SSE registers each.
      {"scalar", "x86-64", /*fma=*/false, /*microRows=*/2, /*tailRows=*/2,
       /*microLanes=*/8, /*microPanels=*/1},
  };
  return levels;
}

bool runsHere(const IsaLevel &level) {
  const std::string_view cpu = level.llvmCpu;
  return cpu == "x86-64-v4"   ? bool(__builtin_cpu_supports("x86-64-v4"))
         : cpu == "x86-64-v3" ? bool(__builtin_cpu_supports("x86-64-v3"))
                              : true;
}

Emitter::Emitter(mlir::ModuleOp module, const IsaLevel &isa)
    : builder(module.getContext()), where(builder.getUnknownLoc()),
      module(module), isa(isa) {}

void Emitter::beginKernel(llvm::StringRef name, const KernelSpec &spec) {
  kernel = &spec;
  builder.setInsertionPointToEnd(module.getBody());
  mlir::Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  mlir::Type i64 = builder.getI64Type();
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  {pointer, pointer, i64, i64});
  function = builder.create<LLVM::LLVMFuncOp>(where, name, type);
  // Keeps LLVM from turning loops into calls of memset and memcpy, which the
  // executable would then have to find.
  function.setPassthroughAttr(
      builder.getArrayAttr({builder.getStringAttr("no-builtins"),
                            builder.getStringAttr("nounwind")}));
  mlir::Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToEnd(entry);
  operands = entry->getArgument(0);
  extents = entry->getArgument(1);
  taskBegin = entry->getArgument(2);
  taskEnd = entry->getArgument(3);
}

void Emitter::endKernel() {
  builder.create<LLVM::ReturnOp>(where, mlir::ValueRange());
  kernel = nullptr;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

int64_t Emitter::lanesOf(Value vector) {
  return llvm::cast<mlir::VectorType>(vector.getType()).getDimSize(0);
}
mlir::VectorType Emitter::vectorType(mlir::Type element, int64_t lanes) {
  return mlir::VectorType::get({lanes}, element);
}

Value Emitter::integer(int64_t value) {
  return make<arith::ConstantOp>(builder.getI64IntegerAttr(value));
}
Value Emitter::real(double value) {
  return make<arith::ConstantOp>(builder.getF32FloatAttr(float(value)));
}
Value Emitter::splat(double value, int64_t lanes) {
  return make<arith::ConstantOp>(mlir::DenseElementsAttr::get(
      vectorType(builder.getF32Type(), lanes), float(value)));
}
Value Emitter::splatLike(Value vector, double value) {
  return splat(value, lanesOf(vector));
}
Value Emitter::splatInteger(int64_t value, int64_t lanes) {
  return make<arith::ConstantOp>(mlir::DenseElementsAttr::get(
      vectorType(builder.getI32Type(), lanes), int32_t(value)));
}
Value Emitter::splatDouble(double value) {
  return make<arith::ConstantOp>(
      mlir::DenseElementsAttr::get(vectorType(builder.getF64Type()), value));
}
Value Emitter::laneMask(int64_t count, int64_t lanes) {
  llvm::SmallVector<bool> bits;
  for (int64_t i = 0; i < lanes; ++i)
    bits.push_back(i < count);
  return make<arith::ConstantOp>(mlir::DenseElementsAttr::get(
      vectorType(builder.getI1Type(), lanes), llvm::ArrayRef<bool>(bits)));
}

Value Emitter::laneMask(Value count, int64_t lanes) {
  return make<arith::CmpIOp>(arith::CmpIPredicate::slt, laneNumbers(lanes),
                             broadcastInteger(count, lanes));
}
Value Emitter::laneNumbers(int64_t lanes) {
  llvm::SmallVector<int32_t> numbers;
  for (int64_t i = 0; i < lanes; ++i)
    numbers.push_back(int32_t(i));
  return make<arith::ConstantOp>(
      mlir::DenseElementsAttr::get(vectorType(builder.getI32Type(), lanes),
                                   llvm::ArrayRef<int32_t>(numbers)));
}
Value Emitter::real64(double value) {
  return make<arith::ConstantOp>(builder.getF64FloatAttr(value));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Emitter::add(Value a, Value b) { return make<arith::AddIOp>(a, b); }
Value Emitter::sub(Value a, Value b) { return make<arith::SubIOp>(a, b); }
Value Emitter::mul(Value a, Value b) { return make<arith::MulIOp>(a, b); }
Value Emitter::divide(Value a, Value b) { return make<arith::DivUIOp>(a, b); }
Value Emitter::remainder(Value a, Value b) {
  return make<arith::RemUIOp>(a, b);
}
Value Emitter::minimum(Value a, Value b) { return make<arith::MinSIOp>(a, b); }
Value Emitter::maximum(Value a, Value b) { return make<arith::MaxSIOp>(a, b); }
Value Emitter::less(Value a, Value b) {
  return make<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}
Value Emitter::lessEqual(Value a, Value b) {
  return make<arith::CmpIOp>(arith::CmpIPredicate::sle, a, b);
}

Value Emitter::fadd(Value a, Value b) { return make<arith::AddFOp>(a, b); }
Value Emitter::fsub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
Value Emitter::fmul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
Value Emitter::fdiv(Value a, Value b) { return make<arith::DivFOp>(a, b); }
Value Emitter::fma(Value a, Value b, Value c) {
  if (!isa.fma)
    return fadd(fmul(a, b), c);
  return make<LLVM::FMAOp>(a.getType(), a, b, c);
}
// The ordered comparison lets the second operand through when one is NaN: one
// instruction on x86, and sums carry the NaN on.
Value Emitter::fmax(Value a, Value b) {
  Value greater = make<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
  return select(greater, a, b);
}
Value Emitter::fmin(Value a, Value b) {
  Value smaller = make<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, b);
  return select(smaller, a, b);
}
Value Emitter::select(Value condition, Value a, Value b) {
  return make<arith::SelectOp>(condition, a, b);
}
Value Emitter::sqrt(Value x) { return make<LLVM::SqrtOp>(x.getType(), x); }
Value Emitter::round(Value x) {
  // Adding and taking away 1.5 * 2^(mantissa bits) rounds to nearest even in
  // every instruction set, where a rounding instruction may be a library call.
  mlir::Type element = mlir::getElementTypeOrSelf(x.getType());
  double magic = element.isF64() ? 6755399441055744.0 : 12582912.0;
  Value shift = element.isF64() ? splatDouble(magic) : splatLike(x, magic);
  return fsub(fadd(x, shift), shift);
}
Value Emitter::broadcast(Value scalar, int64_t lanes) {
  mlir::VectorType type = vectorType(scalar.getType(), lanes);
  Value undefined = make<LLVM::UndefOp>(type);
  Value zero = make<LLVM::ConstantOp>(builder.getI32Type(),
                                      builder.getI32IntegerAttr(0));
  Value first = make<LLVM::InsertElementOp>(undefined, scalar, zero);
  llvm::SmallVector<int32_t> zeros(size_t(lanes), 0);
  return make<LLVM::ShuffleVectorOp>(first, undefined, zeros);
}
Values Emitter::split(Value wide) {
  int64_t lanes = lanesOf(wide);
  if (lanes == kLanes)
    return {wide};
  Values parts;
  for (int64_t first = 0; first < lanes; first += kLanes) {
    llvm::SmallVector<int32_t> part;
    for (int64_t i = 0; i < kLanes; ++i)
      part.push_back(int32_t(first + i));
    parts.push_back(make<LLVM::ShuffleVectorOp>(wide, wide, part));
  }
  return parts;
}
Value Emitter::broadcastInteger(Value i64, int64_t lanes) {
  return broadcast(make<arith::TruncIOp>(builder.getI32Type(), i64), lanes);
}

/// The upper `half` lanes moved to the bottom.
static Value upperHalf(Emitter &e, Value vector, int64_t half) {
  llvm::SmallVector<int32_t> lanes;
  for (int64_t i = 0; i < kLanes; ++i)
    lanes.push_back(int32_t((i + half) % kLanes));
  return e.builder.create<LLVM::ShuffleVectorOp>(e.where, vector, vector,
                                                 lanes);
}
Value Emitter::firstLane(Value vector) {
  Value zero = make<LLVM::ConstantOp>(builder.getI32Type(),
                                      builder.getI32IntegerAttr(0));
  return make<LLVM::ExtractElementOp>(vector, zero);
}
Value Emitter::sumLanes(Value vector) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    vector = fadd(vector, upperHalf(*this, vector, half));
  return firstLane(vector);
}
Value Emitter::maxLanes(Value vector) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    vector = fmax(vector, upperHalf(*this, vector, half));
  return firstLane(vector);
}
Value Emitter::bitAnd(Value a, Value b) { return make<arith::AndIOp>(a, b); }
Value Emitter::bitOr(Value a, Value b) { return make<arith::OrIOp>(a, b); }
Value Emitter::bitXor(Value a, Value b) { return make<arith::XOrIOp>(a, b); }
Value Emitter::shiftRight(Value a, Value b) {
  return make<arith::ShRUIOp>(a, b);
}
Value Emitter::widen(Value f32) {
  return make<arith::ExtFOp>(builder.getF64Type(), f32);
}
Value Emitter::narrow(Value f64) {
  return make<arith::TruncFOp>(builder.getF32Type(), f64);
}
Value Emitter::toReal(Value i64) {
  return make<arith::SIToFPOp>(builder.getF32Type(), i64);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Emitter::at(Value pointer, Value index, mlir::Type element) {
  return make<LLVM::GEPOp>(pointer.getType(), element, pointer,
                           llvm::ArrayRef<LLVM::GEPArg>{index});
}

Value Emitter::pointer(int32_t operand) {
  Value base = basePointer(integer(operand));
  const OperandSpec &layout = kernel->operands[size_t(operand)];
  return at(base, integer(layout.offset), builder.getF32Type());
}

Value Emitter::basePointer(Value operand) {
  mlir::Type pointerType = LLVM::LLVMPointerType::get(builder.getContext());
  return make<LLVM::LoadOp>(pointerType, at(operands, operand, pointerType));
}

Value Emitter::extent(int32_t symbol) {
  return make<LLVM::LoadOp>(builder.getI64Type(),
                            at(extents, integer(symbol), builder.getI64Type()));
}

Value Emitter::evaluate(const Dim &dim) {
  if (dim.symbol < 0)
    return integer(dim.plus);
  return add(mul(extent(dim.symbol), dim.factor), dim.plus);
}

Value Emitter::loadScalar(Value pointer, Value index, mlir::Type type) {
  return make<LLVM::LoadOp>(type, at(pointer, index, type));
}
Value Emitter::loadI32(Value pointer, Value index) {
  return make<arith::ExtSIOp>(builder.getI64Type(),
                              loadScalar(pointer, index, builder.getI32Type()));
}
Value Emitter::load(Value pointer, Value index) {
  return load(pointer, index, vectorF32());
}
Value Emitter::load(Value pointer, Value index, mlir::VectorType type) {
  mlir::Type element = type.getElementType();
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  return make<LLVM::LoadOp>(type, at(pointer, index, element), alignment);
}
Value Emitter::loadMasked(Value pointer, Value index, Value mask,
                          mlir::VectorType type) {
  if (!mask)
    return load(pointer, index, type);
  mlir::Type element = type.getElementType();
  Value zero = make<arith::ConstantOp>(builder.getZeroAttr(type));
  return make<LLVM::MaskedLoadOp>(
      type, at(pointer, index, element), mask, mlir::ValueRange(zero),
      builder.getI32IntegerAttr(element.getIntOrFloatBitWidth() / 8));
}
void Emitter::store(Value value, Value pointer, Value index) {
  mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
  unsigned alignment = element.getIntOrFloatBitWidth() / 8;
  builder.create<LLVM::StoreOp>(where, value, at(pointer, index, element),
                                alignment);
}
void Emitter::storeMasked(Value value, Value pointer, Value index, Value mask) {
  if (!mask)
    return store(value, pointer, index);
  mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
  builder.create<LLVM::MaskedStoreOp>(
      where, value, at(pointer, index, element), mask,
      builder.getI32IntegerAttr(element.getIntOrFloatBitWidth() / 8));
}

void Emitter::prefetch(Value pointer, Value index) {
  builder.create<LLVM::Prefetch>(
      where, at(pointer, index, builder.getF32Type()), /*rw=*/0,
      /*hint=*/2, /*cache=*/1);
}

void Emitter::fenceLoads() {
  // Among the instructions of one thread: no code.
  builder.create<LLVM::FenceOp>(where, LLVM::AtomicOrdering::seq_cst,
                                "singlethread");
}

Value Emitter::scratch(int64_t elements) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  return builder.create<LLVM::AllocaOp>(
      where, LLVM::LLVMPointerType::get(builder.getContext()),
      builder.getF32Type(), integer(elements), /*alignment=*/64);
}

Value Emitter::table(llvm::StringRef name, llvm::ArrayRef<double> values) {
  return table(name, mlir::DenseElementsAttr::get(
                         mlir::RankedTensorType::get({int64_t(values.size())},
                                                     builder.getF64Type()),
                         values));
}

Value Emitter::table(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
  return table(name, mlir::DenseElementsAttr::get(
                         mlir::RankedTensorType::get({int64_t(values.size())},
                                                     builder.getI64Type()),
                         values));
}

Value Emitter::table(llvm::StringRef name, mlir::DenseElementsAttr values) {
  if (!module.lookupSymbol(name)) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    builder.create<LLVM::GlobalOp>(
        where, LLVM::LLVMArrayType::get(values.getElementType(), values.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name, values,
        /*alignment=*/64);
  }
  return make<LLVM::AddressOfOp>(
      LLVM::LLVMPointerType::get(builder.getContext()), name);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void Emitter::loop(Value from, Value to, int64_t step,
                   llvm::function_ref<void(Value)> body) {
  loop(from, to, step, {}, [&](Value i, Values) {
    body(i);
    return Values();
  });
}

Values Emitter::loop(Value from, Value to, int64_t step, Values initial,
                     llvm::function_ref<Values(Value, Values)> body) {
  auto op = builder.create<scf::ForOp>(where, from, to, integer(step), initial);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.getBody());
  Values carried = llvm::to_vector_of<Value>(op.getRegionIterArgs());
  Values next = body(op.getInductionVar(), carried);
  // An empty yield is already there when nothing is carried.
  if (!initial.empty())
    builder.create<scf::YieldOp>(where, next);
  return llvm::to_vector_of<Value>(op.getResults());
}

void Emitter::when(Value condition, llvm::function_ref<void()> then,
                   llvm::function_ref<void()> otherwise) {
  auto op = builder.create<scf::IfOp>(where, condition, bool(otherwise));
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  then();
  if (otherwise) {
    builder.setInsertionPointToStart(op.elseBlock());
    otherwise();
  }
}

Value Emitter::loopWhile(Value initial,
                         llvm::function_ref<Value(Value)> condition,
                         llvm::function_ref<Value(Value)> next) {
  auto op = builder.create<scf::WhileOp>(
      where, mlir::TypeRange(initial.getType()), mlir::ValueRange(initial));
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *before =
      builder.createBlock(&op.getBefore(), {}, {initial.getType()}, {where});
  builder.setInsertionPointToEnd(before);
  Value holds = condition(before->getArgument(0));
  builder.create<scf::ConditionOp>(where, holds, before->getArguments());
  mlir::Block *after =
      builder.createBlock(&op.getAfter(), {}, {initial.getType()}, {where});
  builder.setInsertionPointToEnd(after);
  Value value = next(after->getArgument(0));
  builder.create<scf::YieldOp>(where, mlir::ValueRange(value));
  return op.getResult(0);
}

void Emitter::forColumns(int64_t columns,
                         llvm::function_ref<void(Value, Value)> body) {
  forColumns(columns, {}, [&](Value column, Value mask, Values) {
    body(column, mask);
    return Values();
  });
}

void Emitter::forColumns(Value from, Value to,
                         llvm::function_ref<void(Value, Value)> body) {
  Value count = maximum(sub(to, from), integer(0));
  Value whole = add(from, mul(divide(count, kLanes), kLanes));
  loop(from, whole, kLanes, [&](Value column) { body(column, {}); });
  when(less(whole, to), [&] { body(whole, laneMask(sub(to, whole))); });
}

Values
Emitter::forColumns(int64_t columns, Values initial,
                    llvm::function_ref<Values(Value, Value, Values)> body) {
  int64_t whole = columns / kLanes * kLanes;
  Values carried = loop(
      integer(0), integer(whole), kLanes, initial,
      [&](Value column, Values values) { return body(column, {}, values); });
  if (whole < columns)
    carried = body(integer(whole), laneMask(columns - whole), carried);
  return carried;
}

} // namespace betz::cpu
