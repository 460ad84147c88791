//===- Epilogue.cpp - The steps on each element of a result ---------------===//
#include "codegen/cpu/LowerKernel.h"
#include "codegen/cpu/VectorMath.h"

#include <cmath>

namespace betz::cpu {

Epilogue::Epilogue(Emitter &e) : e(e) {
  for (const EpilogueStep &step : e.spec().epilogue)
    pointers.push_back(step.operand < 0 ? Value() : e.pointer(step.operand));
  result = e.pointer(e.spec().resultIndex());
}

/// An operand with fewer rows than the result is repeated.
static Value operandRow(Emitter &e, const OperandSpec &operand, Value row) {
  if (operand.rows == e.spec().result().rows)
    return row;
  return operand.rows.plus == 1 ? e.integer(0)
                                : e.remainder(row, operand.rows.plus);
}

static Value computeUnary(Emitter &e, EpilogueStep::Kind kind, Value x) {
  switch (kind) {
  case EpilogueStep::Kind::Gelu:
    return emitGelu(e, x);
  case EpilogueStep::Kind::Silu:
    return emitSilu(e, x);
  case EpilogueStep::Kind::Sigmoid:
    return emitSigmoid(e, x);
  case EpilogueStep::Kind::Tanh:
    return emitTanh(e, x);
  default:
    llvm_unreachable("not a unary step");
  }
}

static Value computeBinary(Emitter &e, EpilogueStep::Kind kind, Value a,
                           Value b) {
  switch (kind) {
  case EpilogueStep::Kind::Add:
    return e.fadd(a, b);
  case EpilogueStep::Kind::Mul:
    return e.fmul(a, b);
  case EpilogueStep::Kind::Sub:
    return e.fsub(a, b);
  case EpilogueStep::Kind::GeluGrad:
    return e.fmul(b, emitGeluSlope(e, a));
  case EpilogueStep::Kind::SiluGrad:
    return e.fmul(b, emitSiluSlope(e, a));
  default:
    llvm_unreachable("not a binary step");
  }
}

namespace {

/// The hash of betz.dropout on i32 scalars and vectors.
class DropoutHash {
public:
  explicit DropoutHash(Emitter &e) : e(e) {}

  Value constant(Value like, int64_t value) {
    auto attribute = e.builder.getI32IntegerAttr(int32_t(uint32_t(value)));
    if (auto type = llvm::dyn_cast<mlir::VectorType>(like.getType()))
      return e.builder.create<mlir::arith::ConstantOp>(
          e.where, mlir::DenseElementsAttr::get(type, attribute.getValue()));
    return e.builder.create<mlir::arith::ConstantOp>(e.where, attribute);
  }

  Value mix(Value u) {
    auto fold = [&](int64_t bits) {
      u = e.bitXor(u, e.shiftRight(u, constant(u, bits)));
    };
    u = e.add(u, constant(u, 0x9e3779b9));
    fold(16);
    u = e.mul(u, constant(u, 0x85ebca6b));
    fold(13);
    u = e.mul(u, constant(u, 0xc2b2ae35));
    fold(16);
    return u;
  }

  Value key(Value seed, int64_t site) {
    mlir::Type i32 = e.builder.getI32Type();
    Value first = e.loadScalar(seed, e.integer(0), i32);
    Value second = e.loadScalar(seed, e.integer(1), i32);
    Value inner = e.add(second, mix(constant(second, site)));
    return mix(e.add(first, mix(inner)));
  }

private:
  Emitter &e;
};

} // namespace

/// `value` scaled up where the mask keeps its elements, `index` being that of
/// the first; else zero.
static Value dropOut(Emitter &e, const EpilogueStep &step, Value seed,
                     Value value, Value index) {
  int64_t lanes = Emitter::lanesOf(value);
  DropoutHash hash(e);
  Value place = e.add(e.broadcastInteger(index, lanes), e.laneNumbers(lanes));
  Value key = e.broadcast(hash.key(seed, step.site), lanes);
  Value random = hash.mix(e.bitXor(key, hash.mix(place)));
  Value limit = hash.constant(random, int64_t(std::ldexp(step.rate, 32)));
  Value kept = e.builder.create<mlir::arith::CmpIOp>(
      e.where, mlir::arith::CmpIPredicate::uge, random, limit);
  Value scaled = e.fmul(value, e.splat(1 / (1 - step.rate), lanes));
  return e.select(kept, scaled, e.splat(0, lanes));
}

Value Epilogue::apply(Value value, Value row, Value column, Value mask) {
  auto type = llvm::cast<mlir::VectorType>(value.getType());
  for (auto [step, pointer] : llvm::zip_equal(e.spec().epilogue, pointers)) {
    if (step.kind == EpilogueStep::Kind::ScaleRows) {
      Value scale =
          pointer ? e.loadScalar(pointer, row, e.f32()) : ownScale(row);
      value = e.fmul(value, e.broadcast(scale, Emitter::lanesOf(value)));
      continue;
    }
    if (!pointer) {
      value = computeUnary(e, step.kind, value);
      continue;
    }
    if (step.kind == EpilogueStep::Kind::Dropout) {
      Value first = e.add(e.mul(row, e.spec().result().columns), column);
      value = dropOut(e, step, pointer, value, first);
      continue;
    }
    const OperandSpec &operand = e.spec().operands[size_t(step.operand)];
    Value index =
        e.add(e.mul(operandRow(e, operand, row), operand.rowStride), column);
    Value other = e.loadMasked(pointer, index, mask, type);
    value = step.swapped ? computeBinary(e, step.kind, other, value)
                         : computeBinary(e, step.kind, value, other);
  }
  return value;
}

void Epilogue::finish(Value value, Value row, Value column, Value mask) {
  value = apply(value, row, column, mask);
  Value index = e.add(e.mul(row, e.spec().result().rowStride), column);
  e.storeMasked(value, result, index, mask);
}

} // namespace betz::cpu
