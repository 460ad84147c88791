#include "passes/MainMath.h"

namespace betz::passes {

using namespace ir;
using mlir::Value;

static Tensor typeOf(Value value) {
  return llvm::cast<Tensor>(value.getType());
}

MainMath::MainMath(mlir::Operation *replaced)
    : builder(replaced), where(replaced->getLoc()),
      section(replaced->getAttr(kSectionAttr)) {}

MainMath::MainMath(mlir::OpBuilder builder, mlir::Location where,
                   mlir::Attribute section)
    : builder(builder), where(where), section(section) {}

Value MainMath::matmul(Value x, Value weight) {
  return emit<MatmulOp>(withColumns(typeOf(x), typeOf(weight).getDimSize(0)), x,
                        weight, mlir::IntegerAttr());
}

Value MainMath::add(Value x, Value other) {
  return emit<AddOp>(typeOf(x), x, other);
}

Value MainMath::mul(Value x, Value other) {
  return emit<MulOp>(typeOf(x), x, other);
}

Value MainMath::sub(Value x, Value other) {
  return emit<SubOp>(typeOf(x), x, other);
}

Value MainMath::transpose(Value x) {
  Tensor type = typeOf(x);
  return emit<TransposeOp>(Tensor::get({type.getDimSize(1), type.getDimSize(0)},
                                       type.getElementType()),
                           x);
}

Value MainMath::cast(Value x, mlir::Type element) {
  Tensor type = typeOf(x);
  if (type.getElementType() == element)
    return x;
  return emit<CastOp>(Tensor::get(type.getShape(), element, type.getEncoding()),
                      x);
}

Value MainMath::fill(Tensor type, double value) {
  return emit<FillOp>(type, builder.getF64FloatAttr(value));
}

Value MainMath::normScale(Value x, NormOp norm) {
  return emit<NormScaleOp>(withColumns(typeOf(x), 1), x, norm.getKindAttr(),
                           norm.getEpsAttr());
}

Value MainMath::scaleRows(Value x, Value scale) {
  return emit<ScaleRowsOp>(typeOf(x), x, scale);
}

Value MainMath::gatherSum(mlir::ValueRange indices, mlir::ValueRange tables) {
  Tensor index = typeOf(indices[0]);
  Tensor type =
      Tensor::get({index.getDimSize(0), columnsOf(typeOf(tables[0]))},
                  typeOf(tables[0]).getElementType(), index.getEncoding());
  return emit<GatherSumOp>(type, indices, tables);
}

Value MainMath::slice(Value x, int64_t offset, int64_t columns) {
  return emit<SliceOp>(withColumns(typeOf(x), columns), x, uint64_t(offset));
}

Value MainMath::reshape(Value x, Tensor type) {
  return emit<ReshapeOp>(type, x);
}

Value MainMath::attention(Value q, Value k, Value v, int64_t heads,
                          double scale) {
  mlir::IntegerAttr headCount = builder.getI64IntegerAttr(heads);
  return emit<AttentionOp>(
      attentionType(typeOf(q), getRows(typeOf(k))), q, k, v, Value(), Value(),
      Value(), Value(), headCount, headCount, builder.getF64FloatAttr(scale),
      mlir::UnitAttr(), mlir::IntegerAttr(), SparsityAttr());
}

} // namespace betz::passes
