#include "passes/WeightMath.h"

namespace betz::passes {

using namespace ir;
using mlir::Value;

static Tensor typeOf(Value value) {
  return llvm::cast<Tensor>(value.getType());
}

WeightMath::WeightMath(mlir::OpBuilder builder, mlir::Operation *servedOp)
    : builder(builder), where(servedOp->getLoc()),
      section(servedOp->getAttr(kSectionAttr)) {}

template <typename OpTy, typename... Args>
Value WeightMath::emit(Tensor type, Args... args) {
  auto op = builder.create<OpTy>(where, mlir::Type(type), args...);
  if (section)
    op->setAttr(kSectionAttr, section);
  return op->getResult(0);
}

Tensor WeightMath::constantType(llvm::ArrayRef<int64_t> shape) {
  return Tensor::get(shape, builder.getF32Type());
}

Value WeightMath::scaleColumns(Value weight, Value factors) {
  return emit<MulOp>(typeOf(weight), weight, factors);
}

Value WeightMath::subtractMean(Value x, int64_t dim) {
  return emit<SubtractMeanOp>(typeOf(x), x, uint64_t(dim));
}

Value WeightMath::transpose(Value x) {
  Tensor type = typeOf(x);
  return emit<TransposeOp>(
      constantType({type.getDimSize(1), type.getDimSize(0)}), x);
}

Value WeightMath::columns(Value x, int64_t offset, int64_t size) {
  return emit<SliceOp>(withColumns(typeOf(x), size), x, uint64_t(offset));
}

Value WeightMath::concat(llvm::ArrayRef<Value> parts) {
  int64_t rows = 0;
  for (Value part : parts)
    rows += typeOf(part).getDimSize(0);
  return emit<ConcatOp>(constantType({rows, columnsOf(typeOf(parts[0]))}),
                        mlir::ValueRange(parts));
}

Value WeightMath::expandHeads(Value x, int64_t heads) {
  Tensor type = typeOf(x);
  return emit<ExpandHeadsOp>(
      constantType({type.getDimSize(0) * heads, columnsOf(type)}), x,
      uint64_t(heads));
}

Value WeightMath::fill(llvm::ArrayRef<int64_t> shape, double value) {
  return emit<FillOp>(constantType(shape), builder.getF64FloatAttr(value));
}

Value WeightMath::product(Value x, Value weight) {
  return emit<MatmulOp>(withColumns(typeOf(x), typeOf(weight).getDimSize(0)), x,
                        weight, mlir::IntegerAttr());
}

Value WeightMath::vectorProduct(Value vector, Value weight) {
  Value row =
      emit<ReshapeOp>(constantType({1, columnsOf(typeOf(vector))}), vector);
  Value result = product(row, weight);
  return emit<ReshapeOp>(constantType({columnsOf(typeOf(result))}), result);
}

Value WeightMath::absorbNorm(NormOp norm, Value gain, Value weight) {
  Value scaled = scaleColumns(weight, gain);
  // (x - mean) W^T = x (W less its rows' means)^T
  return norm.getKind() == NormKind::Layer ? subtractMean(scaled, 1) : scaled;
}

} // namespace betz::passes
