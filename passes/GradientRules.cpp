#include "passes/GradientRules.h"

#include "llvm/ADT/TypeSwitch.h"

namespace betz::passes {

using namespace ir;
using mlir::LogicalResult;
using mlir::success;
using mlir::Type;
using mlir::Value;

namespace {

Tensor typeOf(Value value) { return llvm::cast<Tensor>(value.getType()); }

Type f32Of(Value value) { return mlir::Float32Type::get(value.getContext()); }

Tensor f32Type(Value value, llvm::ArrayRef<int64_t> shape) {
  return Tensor::get(shape, f32Of(value));
}

mlir::Builder attributes(mlir::Operation *op) {
  return mlir::Builder(op->getContext());
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

/// The sum of `x` over all dimensions but the last.
Value columnSum(MainMath &math, Value x) {
  if (typeOf(x).getRank() == 1)
    return x;
  return math.emit<ColumnSumOp>(f32Type(x, {columnsOf(typeOf(x))}), x);
}

/// The sum of `x` over the leading dimensions that `shape`, a suffix of its
/// shape, lacks.
Value sumTo(MainMath &math, Value x, llvm::ArrayRef<int64_t> shape) {
  Tensor type = typeOf(x);
  if (type.getRank() == int64_t(shape.size()))
    return x;
  if (shape.size() == 1)
    return columnSum(math, x);
  llvm::SmallVector<int64_t> rows(type.getShape().drop_back(shape.size()));
  rows.push_back(Tensor::get(shape, type.getElementType()).getNumElements());
  Value flat = math.reshape(
      x, Tensor::get(rows, type.getElementType(), type.getEncoding()));
  return math.reshape(columnSum(math, flat), f32Type(x, shape));
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LogicalResult differentiate(AddOp op, GradientScope &s) {
  s.add(op.getLhs(), s.gradient);
  if (s.needs(op.getRhs()))
    s.add(op.getRhs(),
          sumTo(s.math, s.gradient, typeOf(op.getRhs()).getShape()));
  return success();
}

LogicalResult differentiate(SubOp op, GradientScope &s) {
  s.add(op.getLhs(), s.gradient);
  if (!s.needs(op.getRhs()))
    return success();
  Tensor type = typeOf(op.getRhs());
  Value sum = sumTo(s.math, s.gradient, type.getShape());
  Value minusOne = s.math.fill(
      Tensor::get(type.getShape().take_back(1), typeOf(sum).getElementType()),
      -1);
  s.add(op.getRhs(), s.math.mul(sum, minusOne));
  return success();
}

LogicalResult differentiate(MulOp op, GradientScope &s) {
  if (s.needs(op.getLhs()))
    s.add(op.getLhs(), s.math.mul(s.gradient, op.getRhs()));
  if (s.needs(op.getRhs()))
    s.add(op.getRhs(), sumTo(s.math, s.math.mul(s.gradient, op.getLhs()),
                             typeOf(op.getRhs()).getShape()));
  return success();
}

LogicalResult differentiate(SigmoidOp op, GradientScope &s) {
  Value slope = s.math.mul(s.gradient, op.getResult());
  s.add(op.getX(), s.math.sub(slope, s.math.mul(slope, op.getResult())));
  return success();
}

LogicalResult differentiate(TanhOp op, GradientScope &s) {
  Value square = s.math.mul(op.getResult(), op.getResult());
  s.add(op.getX(), s.math.sub(s.gradient, s.math.mul(s.gradient, square)));
  return success();
}

LogicalResult differentiate(GeluOp op, GradientScope &s) {
  s.add(op.getX(),
        s.math.emit<GeluGradOp>(typeOf(op.getX()), op.getX(), s.gradient));
  return success();
}

LogicalResult differentiate(SiluOp op, GradientScope &s) {
  s.add(op.getX(),
        s.math.emit<SiluGradOp>(typeOf(op.getX()), op.getX(), s.gradient));
  return success();
}

LogicalResult differentiate(DropoutOp op, GradientScope &s) {
  s.add(op.getX(),
        s.math.emit<DropoutOp>(typeOf(op.getX()), s.gradient, op.getSeed(),
                               op.getRateAttr(), op.getSiteAttr()));
  return success();
}

LogicalResult differentiate(CastOp op, GradientScope &s) {
  s.add(op.getX(), s.math.cast(s.gradient, f32Of(op.getX())));
  return success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LogicalResult differentiate(NormOp op, GradientScope &s) {
  Tensor type = typeOf(op.getX());
  if (s.needs(op.getX()))
    s.add(op.getX(),
          s.math.emit<NormGradOp>(type, op.getX(), op.getGain(), s.gradient,
                                  op.getKindAttr(), op.getEpsAttr()));
  if (s.needs(op.getGain())) {
    Value ones = s.math.fill(typeOf(op.getGain()), 1);
    Value normalized = s.math.emit<NormOp>(type, op.getX(), ones, Value(),
                                           op.getKindAttr(), op.getEpsAttr());
    s.add(op.getGain(), columnSum(s.math, s.math.mul(s.gradient, normalized)));
  }
  if (op.getShift() && s.needs(op.getShift()))
    s.add(op.getShift(), columnSum(s.math, s.gradient));
  return success();
}

LogicalResult differentiate(ScaleRowsOp op, GradientScope &s) {
  if (s.needs(op.getX()))
    s.add(op.getX(), s.math.scaleRows(s.gradient, op.getScale()));
  if (s.needs(op.getScale()))
    s.add(op.getScale(), s.math.emit<HeadDotsOp>(
                             headsType(typeOf(op.getX()), 1), s.gradient,
                             op.getX(), attributes(op).getI64IntegerAttr(1)));
  return success();
}

LogicalResult differentiate(MatmulOp op, GradientScope &s) {
  if (op.getColumns())
    return op.emitOpError("with a packed weight has no gradient");
  if (s.needs(op.getX()))
    s.add(op.getX(),
          s.math.matmul(s.gradient, s.math.transpose(op.getWeight())));
  if (s.needs(op.getWeight()))
    s.add(op.getWeight(),
          s.math.emit<ContractRowsOp>(
              f32Type(op.getWeight(), typeOf(op.getWeight()).getShape()),
              s.gradient, op.getX()));
  return success();
}

LogicalResult differentiate(GatherSumOp op, GradientScope &s) {
  for (auto [index, table] : llvm::zip(op.getIndices(), op.getTables()))
    if (s.needs(table))
      s.add(table,
            s.math.emit<ScatterSumOp>(f32Type(table, typeOf(table).getShape()),
                                      index, s.gradient));
  return success();
}

/// The turn back.
LogicalResult differentiate(RotaryOp op, GradientScope &s) {
  mlir::FloatAttr step =
      attributes(op).getF64FloatAttr(-op.getStep().convertToDouble());
  s.add(op.getX(),
        s.math.emit<RotaryOp>(typeOf(op.getX()), s.gradient, op.getPosition(),
                              op.getHeadsAttr(), op.getOffsetAttr(), step,
                              op.getPeriodMinAttr(), op.getPeriodMaxAttr()));
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The operands and attributes that all ops of attention take after `tensors`.
template <typename OpTy, typename... Tensors>
Value emitLike(AttentionOp op, MainMath &math, Tensor type,
               Tensors... tensors) {
  return math.emit<OpTy>(type, tensors..., op.getRowSplits(), op.getKeyTime(),
                         op.getBounds(), op.getBlockMap(), op.getHeadsAttr(),
                         op.getKvHeadsAttr(), op.getScaleAttr(),
                         op.getCausalAttr(), op.getMapBlockAttr(),
                         op.getSparsityAttr());
}

LogicalResult differentiate(AttentionOp op, GradientScope &s) {
  Value q = op.getQ(), k = op.getK(), v = op.getV(), out = op.getResult();
  Tensor perHead = headsType(typeOf(out), int64_t(op.getHeads()));
  Value lse = emitLike<AttentionLseOp>(op, s.math, perHead, q, k);
  Value delta =
      s.math.emit<HeadDotsOp>(perHead, s.gradient, out, op.getHeadsAttr());
  if (s.needs(q)) {
    Value copies = emitLike<AttentionGradQOp>(op, s.math, typeOf(out), q, k, v,
                                              s.gradient, lse, delta);
    s.add(q, sumTo(s.math, copies, typeOf(q).getShape()));
  }
  if (!s.needs(k) && !s.needs(v))
    return success();
  const int64_t columns = columnsOf(typeOf(k));
  Value sides = emitLike<AttentionGradKvOp>(op, s.math,
                                            withColumns(typeOf(k), 2 * columns),
                                            q, k, v, s.gradient, lse, delta);
  if (s.needs(k))
    s.add(k, s.math.slice(sides, 0, columns));
  if (s.needs(v))
    s.add(v, s.math.slice(sides, columns, columns));
  return success();
}

//===----------------------------------------------------------------------===//
// Weights and views
//===----------------------------------------------------------------------===//

LogicalResult differentiate(TransposeOp op, GradientScope &s) {
  s.add(op.getX(), s.math.transpose(s.gradient));
  return success();
}

LogicalResult differentiate(SubtractMeanOp op, GradientScope &s) {
  s.add(op.getX(), s.math.emit<SubtractMeanOp>(typeOf(op.getX()), s.gradient,
                                               op.getDimAttr()));
  return success();
}

/// Rows that follow each other are columns of the flat tensor.
LogicalResult differentiate(ConcatOp op, GradientScope &s) {
  Tensor type = typeOf(s.gradient);
  Value flat = s.math.reshape(
      s.gradient, Tensor::get({type.getNumElements()}, type.getElementType()));
  int64_t offset = 0;
  for (Value part : op.getParts()) {
    int64_t size = typeOf(part).getNumElements();
    if (s.needs(part))
      s.add(part,
            s.math.reshape(s.math.slice(flat, offset, size), typeOf(part)));
    offset += size;
  }
  return success();
}

LogicalResult differentiate(JoinColumnsOp op, GradientScope &s) {
  for (auto [part, offset] : llvm::zip(op.getParts(), op.getOffsets()))
    if (s.needs(part))
      s.add(part, s.math.slice(s.gradient, offset, columnsOf(typeOf(part))));
  return success();
}

LogicalResult differentiate(SliceOp op, GradientScope &s) {
  s.addColumns(op.getX(), int64_t(op.getOffset()), s.gradient);
  return success();
}

LogicalResult differentiate(ReshapeOp op, GradientScope &s) {
  s.add(op.getX(), s.math.reshape(s.gradient, typeOf(op.getX())));
  return success();
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

LogicalResult differentiate(MseLossOp op, GradientScope &s) {
  if (s.needs(op.getX()))
    s.add(op.getX(), s.math.emit<MseGradOp>(typeOf(op.getX()), op.getX(),
                                            op.getTarget(), s.gradient));
  if (s.needs(op.getTarget()))
    s.add(op.getTarget(),
          s.math.emit<MseGradOp>(typeOf(op.getX()), op.getTarget(), op.getX(),
                                 s.gradient));
  return success();
}

LogicalResult differentiate(CrossEntropyOp op, GradientScope &s) {
  s.add(op.getLogits(),
        s.math.emit<CrossEntropyGradOp>(typeOf(op.getLogits()), op.getLogits(),
                                        op.getLabel(), s.gradient));
  return success();
}

} // namespace

LogicalResult applyGradientRule(mlir::Operation *op, GradientScope &scope) {
  return llvm::TypeSwitch<mlir::Operation *, LogicalResult>(op)
      .Case<AddOp, SubOp, MulOp, SigmoidOp, TanhOp, GeluOp, SiluOp, DropoutOp,
            CastOp, NormOp, ScaleRowsOp, MatmulOp, GatherSumOp, RotaryOp,
            AttentionOp, TransposeOp, SubtractMeanOp, ConcatOp, JoinColumnsOp,
            SliceOp, ReshapeOp, MseLossOp, CrossEntropyOp>(
          [&](auto o) { return differentiate(o, scope); })
      .Default([](mlir::Operation *o) {
        return o->emitOpError("has no gradient rule");
      });
}

} // namespace betz::passes
