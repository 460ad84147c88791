//===- TrainingOps.cpp - Verifiers of gradients, losses, optimizer --------===//
#include "ir/Constraints.h"

using namespace mlir;
using namespace betz::ir;

/// Of the shapes of `a` and `b` only the last dimensions differ.
static bool sameRowsAndElement(Tensor a, Tensor b) {
  return a.getRank() == b.getRank() && a.getRank() > 0 &&
         withColumns(a, 1) == withColumns(b, 1);
}

static bool isScalarF32(Value value) {
  return isVector(value, 1, Float32Type::get(value.getContext()));
}

LogicalResult ContractRowsOp::verify() {
  Tensor a = typeOf(getA()), b = typeOf(getB());
  if (a.getRank() < 2 || !sameRowsAndElement(a, b))
    return emitOpError("(C1) a and b must be of rank two or more and differ in "
                       "their last dimension only");
  Tensor wanted = Tensor::get({columnsOf(a), columnsOf(b)}, a.getElementType());
  if (!isTypeOrF32(getResult().getType(), wanted))
    return emitOpError("(C2) the result must be ") << wanted << " or f32";
  return success();
}

LogicalResult ColumnSumOp::verify() {
  Tensor x = typeOf(getX());
  if (x.getRank() < 2 ||
      !isTypeOrF32(getResult().getType(),
                   Tensor::get({columnsOf(x)}, x.getElementType())))
    return emitOpError("(C1) x must be [..., C], the result [C] of its element "
                       "type or f32");
  return success();
}

LogicalResult ScatterSumOp::verify() {
  Tensor index = typeOf(getIndex()), x = typeOf(getX());
  if (!isIndex(index) || x.getRank() == 0 ||
      x != pickedRows(index, columnsOf(x), x.getElementType()))
    return emitOpError("(C1) index must be i32[E] or i32[B, Q], x of its shape "
                       "and D columns");
  Tensor result = typeOf(getResult());
  if (!result.hasStaticShape() || result.getRank() != 2 ||
      !isTypeOrF32(result, Tensor::get({result.getDimSize(0), columnsOf(x)},
                                       x.getElementType())))
    return emitOpError("(C2) the result must be a constant [R, ")
           << columnsOf(x) << "] of x's element type or f32";
  return success();
}

LogicalResult SquareSumOp::verify() {
  if (!isScalarF32(getResult()))
    return emitOpError("(C1) the result must be f32[1]");
  return success();
}

LogicalResult JoinColumnsOp::verify() {
  if (getParts().empty() || getOffsets().size() != getParts().size())
    return emitOpError("(C1) needs at least one part and an offset for each");
  Tensor result = typeOf(getResult());
  int64_t end = 0;
  for (auto [part, offset] : llvm::zip(getParts(), getOffsets())) {
    Tensor type = typeOf(part);
    if (!sameRowsAndElement(type, result))
      return emitOpError("(C2) ")
             << type << " must differ from the result in its columns only";
    if (offset < end || columnsOf(type) > columnsOf(result) - offset)
      return emitOpError("(C3) parts must lie inside the result, one after the "
                         "other");
    end = offset + columnsOf(type);
  }
  return success();
}

LogicalResult DropoutOp::verify() {
  if (!isVector(getSeed(), 2, IntegerType::get(getContext(), 32)))
    return emitOpError("(C1) seed must be i32[2]");
  if (failed(verifySameType(*this, getX(), getResult(), "C2")))
    return failure();
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1) || int64_t(getSite()) < 0)
    return emitOpError("(C3) rate must be at least 0 and below 1, site not "
                       "negative");
  return success();
}

LogicalResult NormGradOp::verify() {
  Tensor x = typeOf(getX());
  if (x.getRank() == 0 ||
      !isVector(getGain(), columnsOf(x), x.getElementType()))
    return emitOpError("(C1) gain must be [D] for x: [..., D]");
  if (getDy().getType() != x || getResult().getType() != x)
    return emitOpError("(C2) dy and the result must have the type of x");
  if (!(getEps().convertToDouble() > 0))
    return emitOpError("(C3) eps must be positive");
  return success();
}

LogicalResult HeadDotsOp::verify() {
  Tensor a = typeOf(getA());
  int64_t heads = int64_t(getHeads());
  if (a != typeOf(getB()) || a.getRank() < 2 || heads <= 0 ||
      columnsOf(a) % heads != 0)
    return emitOpError("(C1) a and b must be of one type of rank two or more, "
                       "heads divide their columns");
  if (getResult().getType() != headsType(a, heads))
    return emitOpError("(C2) the result must be ") << headsType(a, heads);
  return success();
}

LogicalResult MseLossOp::verify() {
  if (getX().getType() != getTarget().getType())
    return emitOpError("(C1) target must have the type of x");
  if (!isScalarF32(getResult()))
    return emitOpError("(C2) the result must be f32[1]");
  return success();
}

LogicalResult MseGradOp::verify() {
  if (getX().getType() != getTarget().getType())
    return emitOpError("(C1) target must have the type of x");
  if (failed(verifySameType(*this, getX(), getResult(), "C2")))
    return failure();
  if (!isScalarF32(getDloss()))
    return emitOpError("(C3) dloss must be f32[1]");
  return success();
}

static LogicalResult verifyLabel(Operation *op, Value logits, Value label) {
  Tensor rows = typeOf(logits);
  if (rows.getRank() < 2 ||
      typeOf(label) != Tensor::get(rows.getShape().drop_back(),
                                   typeOf(label).getElementType(),
                                   rows.getEncoding()))
    return op->emitOpError("(C1) label must be i32[...] for logits: [..., C]");
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  if (failed(verifyLabel(*this, getLogits(), getLabel())))
    return failure();
  if (!isScalarF32(getResult()))
    return emitOpError("(C2) the result must be f32[1]");
  return success();
}

LogicalResult CrossEntropyGradOp::verify() {
  if (failed(verifyLabel(*this, getLogits(), getLabel())) ||
      failed(verifySameType(*this, getLogits(), getResult(), "C2")))
    return failure();
  if (!isScalarF32(getDloss()))
    return emitOpError("(C3) dloss must be f32[1]");
  return success();
}

LogicalResult AdamwOp::verify() {
  Tensor flat = typeOf(getWeights());
  for (Value value : {getMoment1(), getMoment2(), getGrad(), getNewWeights(),
                      getNewMoment1(), getNewMoment2()})
    if (flat.getRank() != 1 || !flat.hasStaticShape() ||
        value.getType() != flat)
      return emitOpError("(C1) weights, moments, grad and results must be of "
                         "one type f32[P]");
  if (!isScalarF32(getGradSquares()) ||
      !isVector(getSchedule(), 4, flat.getElementType()))
    return emitOpError("(C2) grad_squares must be f32[1], schedule f32[4]");
  auto isDecay = [](APFloat beta) {
    return beta.convertToDouble() >= 0 && beta.convertToDouble() < 1;
  };
  if (!isDecay(getBeta1()) || !isDecay(getBeta2()) ||
      !(getEps().convertToDouble() > 0) ||
      !(getWeightDecay().convertToDouble() >= 0) ||
      !(getClip().convertToDouble() >= 0))
    return emitOpError("(C3) betas must be at least 0 and below 1, eps "
                       "positive, weight_decay and clip not negative");
  return success();
}
