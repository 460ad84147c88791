//===- Epilogue.cpp - The steps on each element of a result ---------------===//
#include "codegen/cpu/LowerKernel.h"
#include "codegen/cpu/VectorMath.h"

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
  default:
    llvm_unreachable("not a binary step");
  }
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
    const OperandSpec &operand = e.spec().operands[size_t(step.operand)];
    Value index =
        e.add(e.mul(operandRow(e, operand, row), operand.rowStride), column);
    value = computeBinary(e, step.kind, value,
                          e.loadMasked(pointer, index, mask, type));
  }
  return value;
}

void Epilogue::finish(Value value, Value row, Value column, Value mask) {
  value = apply(value, row, column, mask);
  Value index = e.add(e.mul(row, e.spec().result().rowStride), column);
  e.storeMasked(value, result, index, mask);
}

} // namespace betz::cpu
