//===- BetzOps.cpp - Verifiers --------------------------------------------===//
#include "ir/Constraints.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace betz::ir;

#define GET_OP_CLASSES
#include "ir/BetzOps.cpp.inc"

bool betz::ir::isVector(Value value, int64_t size, Type element) {
  Tensor type = typeOf(value);
  return type.getRank() == 1 && type.getDimSize(0) == size &&
         type.getElementType() == element;
}

bool betz::ir::sameRows(Tensor a, Tensor b) {
  return a.getDimSize(0) == b.getDimSize(0) && getRows(a) == getRows(b);
}

bool betz::ir::isTypeOrF32(Type type, Tensor wanted) {
  return type == wanted ||
         type == Tensor::get(wanted.getShape(),
                             Float32Type::get(wanted.getContext()),
                             wanted.getEncoding());
}

LogicalResult betz::ir::verifySameType(Operation *op, Value x, Value result,
                                       StringRef label) {
  if (x.getType() != result.getType())
    return op->emitOpError()
           << "(" << label << ") result type " << result.getType()
           << " differs from " << x.getType();
  return success();
}

bool betz::ir::isIndex(Tensor type) {
  return type.getRank() == 1 || type.getRank() == 2;
}

Tensor betz::ir::pickedRows(Tensor index, int64_t columns, Type element) {
  llvm::SmallVector<int64_t> shape(index.getShape());
  shape.push_back(columns);
  return Tensor::get(shape, element, index.getEncoding());
}

namespace {

/// A flat integer tensor with one element a row.
bool isFlat(Value value) { return typeOf(value).getRank() == 1; }

/// `row_splits` belongs to batches of `base`'s rows: one element more.
bool splitsMatch(RowsAttr base, RowsAttr splits) {
  return base && splits && base.getSymbol() == splits.getSymbol() &&
         base.getPlus() == 0 && splits.getPlus() == 1;
}

/// `columns` elements a row of `x`, of its element type or f32.
bool isRowwiseOf(Tensor value, Tensor x, int64_t columns) {
  return x.getRank() >= 2 && isTypeOrF32(value, withColumns(x, columns));
}
bool isFactorOf(Tensor factor, Tensor x) { return isRowwiseOf(factor, x, 1); }

LogicalResult verifyBroadcast(Operation *op, Value lhs, Value rhs,
                              Value result) {
  ArrayRef<int64_t> wide = typeOf(lhs).getShape();
  ArrayRef<int64_t> narrow = typeOf(rhs).getShape();
  bool suffix = narrow.size() <= wide.size() &&
                wide.take_back(narrow.size()) == narrow &&
                typeOf(lhs).getElementType() == typeOf(rhs).getElementType();
  if (suffix && narrow.size() == wide.size())
    suffix = typeOf(lhs).getEncoding() == typeOf(rhs).getEncoding();
  if (!suffix)
    return op->emitOpError("(C1) the shape of rhs must be a suffix of lhs's");
  return verifySameType(op, lhs, result, "C2");
}

} // namespace

LogicalResult SegmentSubOp::verify() {
  if (!isFlat(getValues()) || getValues().getType() != getResult().getType())
    return emitOpError("(C1) values must be i32[E], as the result");
  if (!isFlat(getBase()) || !isFlat(getRowSplits()) ||
      !splitsMatch(getRows(typeOf(getBase())), getRows(typeOf(getRowSplits()))))
    return emitOpError("(C2) base must be i32[B] and row_splits i32[B + 1]");
  return success();
}

LogicalResult GatherSumOp::verify() {
  if (getIndices().empty() || getIndices().size() != getTables().size())
    return emitOpError("(C1) needs as many indices as tables, at least one");
  Tensor index = typeOf(getIndices().front());
  Tensor table = typeOf(getTables().front());
  for (Value other : getIndices())
    if (!isIndex(index) || other.getType() != index)
      return emitOpError(
          "(C2) indices must be i32[E] or i32[B, Q] of one type");
  for (Value other : getTables()) {
    Tensor type = typeOf(other);
    if (!type.hasStaticShape() || type.getRank() != 2 || table.getRank() != 2 ||
        columnsOf(type) != columnsOf(table) ||
        type.getElementType() != table.getElementType())
      return emitOpError("(C3) tables must be constant [*, D] of one D and "
                         "element type");
  }
  Tensor wanted = pickedRows(index, columnsOf(table), table.getElementType());
  if (getResult().getType() != wanted)
    return emitOpError("(C4) the result must be ") << wanted;
  return success();
}

LogicalResult NormOp::verify() {
  Tensor type = typeOf(getX());
  if (type.getRank() == 0)
    return emitOpError("(C1) x must have columns");
  int64_t columns = columnsOf(type);
  if (!isVector(getGain(), columns, type.getElementType()) ||
      (getShift() && !isVector(getShift(), columns, type.getElementType())))
    return emitOpError("(C1) gain and shift must be [") << columns << "]";
  if (failed(verifySameType(*this, getX(), getResult(), "C2")))
    return failure();
  if (!(getEps().convertToDouble() > 0))
    return emitOpError("(C3) eps must be positive");
  return success();
}

LogicalResult SquareSumsOp::verify() {
  Tensor x = typeOf(getX()), result = typeOf(getResult());
  const int64_t group = int64_t(getGroup());
  if (x.getRank() < 2 || group <= 0 || columnsOf(x) % group != 0 ||
      !isRowwiseOf(result, x, columnsOf(x) / group))
    return emitOpError("(C1) x must be [..., D], group a divisor of D, the "
                       "result [..., D / group] of its element type or f32");
  return success();
}

LogicalResult ScaleFromSquaresOp::verify() {
  Tensor squares = typeOf(getSquares()), result = typeOf(getResult());
  if (squares.getRank() < 2 || result != withColumns(squares, 1))
    return emitOpError("(C1) squares must be [..., G], the result [..., 1] of "
                       "its element type");
  if (int64_t(getColumns()) <= 0 || !(getEps().convertToDouble() > 0))
    return emitOpError("(C2) columns and eps must be positive");
  return success();
}

LogicalResult NormScaleOp::verify() {
  if (!isFactorOf(typeOf(getResult()), typeOf(getX())))
    return emitOpError("(C1) x must be [..., D], the result [..., 1] of its "
                       "element type or f32");
  if (!(getEps().convertToDouble() > 0))
    return emitOpError("(C2) eps must be positive");
  return success();
}

LogicalResult ScaleRowsOp::verify() {
  if (!isFactorOf(typeOf(getScale()), typeOf(getX())))
    return emitOpError("(C1) scale must be [..., 1] for x: [..., D], of its "
                       "element type or f32");
  return verifySameType(*this, getX(), getResult(), "C2");
}

int64_t MatmulOp::getOutputColumns() {
  return getColumns() ? int64_t(*getColumns())
                      : typeOf(getWeight()).getDimSize(0);
}

LogicalResult MatmulOp::verify() {
  Tensor x = typeOf(getX());
  Tensor weight = typeOf(getWeight());
  int64_t rank = getColumns() ? 3 : 2;
  if (!weight.hasStaticShape() || weight.getRank() != rank ||
      weight.getElementType() != x.getElementType())
    return emitOpError("(C1) weight must be constant [N, K], or [ceil(N / P), "
                       "K, P] with columns");
  if (getColumns()) {
    int64_t panel = weight.getDimSize(2);
    int64_t columns = getOutputColumns();
    if (columns <= 0 || panel <= 0 ||
        weight.getDimSize(0) != (columns + panel - 1) / panel)
      return emitOpError("(C1) weight must have ceil(columns / P) panels");
  }
  if (x.getRank() < 2 || columnsOf(x) != weight.getDimSize(1))
    return emitOpError("(C2) x must be [..., ")
           << weight.getDimSize(1) << "], not " << x;
  if (getResult().getType() != withColumns(x, getOutputColumns()))
    return emitOpError("(C3) the result must be ")
           << withColumns(x, getOutputColumns());
  return success();
}

LogicalResult PackPanelsOp::verify() {
  Tensor weight = typeOf(getWeight());
  int64_t panel = getPanel();
  if (!weight.hasStaticShape() || weight.getRank() != 2 || panel <= 0)
    return emitOpError("(C1) weight must be constant [N, K], panel positive");
  Tensor wanted = Tensor::get(
      {(weight.getDimSize(0) + panel - 1) / panel, weight.getDimSize(1), panel},
      weight.getElementType());
  if (getResult().getType() != wanted)
    return emitOpError("(C2) the result must be ") << wanted;
  return success();
}

LogicalResult RotaryOp::verify() {
  Tensor type = typeOf(getX());
  int64_t heads = int64_t(getHeads());
  if (heads <= 0 || type.getRank() < 2 || columnsOf(type) % heads != 0 ||
      (columnsOf(type) / heads) % 2 != 0)
    return emitOpError("(C1) heads must divide the columns into even parts");
  if (getPosition() &&
      (type.getRank() != 2 || typeOf(getPosition()).getRank() != 1 ||
       !sameRows(typeOf(getPosition()), type)))
    return emitOpError("(C2) position must be i32[E] for x: [E, D]");
  if (failed(verifySameType(*this, getX(), getResult(), "C3")))
    return failure();
  for (APFloat period : {getPeriodMin(), getPeriodMax()})
    if (!period.isFinite() || period.isNegative() || period.isZero())
      return emitOpError("(C4) periods must be positive and finite");
  return success();
}

LogicalResult ReachBoundsOp::verify() {
  Tensor type = typeOf(getResult());
  if (!type.hasStaticShape() || type.getRank() != 2 || columnsOf(type) != 2)
    return emitOpError("(C1) the result must be i32[L, 2]");
  if (!(getSpan().convertToDouble() > 0) || !(getReach().convertToDouble() > 0))
    return emitOpError("(C2) span and reach must be positive");
  return success();
}

LogicalResult betz::ir::verifyElementwise(Operation *op) {
  Value first = op->getOperand(0), result = op->getResult(0);
  if (op->getNumOperands() == 1)
    return verifySameType(op, first, result, "C1");
  return verifyBroadcast(op, first, op->getOperand(1), result);
}

static bool isConstantMatrix(Value value) {
  Tensor type = typeOf(value);
  return type.hasStaticShape() && type.getRank() == 2;
}

LogicalResult FillOp::verify() {
  if (!typeOf(getResult()).hasStaticShape())
    return emitOpError("(C1) the result must have a constant shape");
  return success();
}

LogicalResult SubtractMeanOp::verify() {
  Tensor x = typeOf(getX());
  int64_t dim = int64_t(getDim());
  if (!x.hasStaticShape() || dim < 0 || dim >= x.getRank())
    return emitOpError("(C1) x must have a constant shape and dimension dim");
  return verifySameType(*this, getX(), getResult(), "C2");
}

LogicalResult TransposeOp::verify() {
  Tensor x = typeOf(getX());
  if (!isConstantMatrix(getX()) ||
      getResult().getType() !=
          Tensor::get({x.getDimSize(1), x.getDimSize(0)}, x.getElementType()))
    return emitOpError("(C1) x must be a constant [N, K], the result [K, N]");
  return success();
}

LogicalResult ConcatOp::verify() {
  int64_t rows = 0;
  for (Value part : getParts()) {
    if (!isConstantMatrix(part) ||
        columnsOf(typeOf(part)) != columnsOf(typeOf(getParts().front())) ||
        typeOf(part).getElementType() !=
            typeOf(getParts().front()).getElementType())
      return emitOpError("(C1) parts must be constant [*, K] of one K and "
                         "element type");
    rows += typeOf(part).getDimSize(0);
  }
  if (getParts().empty())
    return emitOpError("(C1) needs at least one part");
  Tensor first = typeOf(getParts().front());
  if (getResult().getType() !=
      Tensor::get({rows, columnsOf(first)}, first.getElementType()))
    return emitOpError("(C2) the result must be [sum of rows, K]");
  return success();
}

LogicalResult ExpandHeadsOp::verify() {
  Tensor x = typeOf(getX());
  int64_t heads = int64_t(getHeads());
  if (!isConstantMatrix(getX()) || heads <= 0 || columnsOf(x) % heads != 0)
    return emitOpError("(C1) x must be a constant [N, D], heads divide D");
  if (getResult().getType() !=
      Tensor::get({x.getDimSize(0) * heads, columnsOf(x)}, x.getElementType()))
    return emitOpError("(C2) the result must be [N * heads, D]");
  return success();
}

LogicalResult SliceOp::verify() {
  Tensor x = typeOf(getX());
  Tensor result = typeOf(getResult());
  int64_t offset = int64_t(getOffset());
  if (x.getRank() == 0 || result.getRank() == 0 || offset < 0 ||
      columnsOf(result) <= 0 || columnsOf(result) > columnsOf(x) - offset)
    return emitOpError("(C1) the range must lie inside the last dimension");
  if (result != withColumns(x, columnsOf(result)))
    return emitOpError("(C2) the result may differ in its columns only");
  return success();
}

LogicalResult ReshapeOp::verify() {
  Tensor x = typeOf(getX());
  Tensor result = typeOf(getResult());
  if (x.hasStaticShape() != result.hasStaticShape() ||
      x.getEncoding() != result.getEncoding() ||
      elementsPerRow(x) != elementsPerRow(result))
    return emitOpError("(C1) both shapes must hold the same elements");
  if (x.getElementType() != result.getElementType())
    return emitOpError("(C2) element types must be equal");
  return success();
}

LogicalResult CastOp::verify() {
  Tensor x = typeOf(getX()), result = typeOf(getResult());
  if (x.getShape() != result.getShape() ||
      x.getEncoding() != result.getEncoding())
    return emitOpError("(C1) the result must have the shape of x");
  if (x.getElementType() == result.getElementType())
    return emitOpError("(C2) the element types must differ");
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static std::optional<Family> anchorFamily(Operation *op) {
  if (isa<MatmulOp>(op))
    return Family::Matmul;
  if (isa<AttentionOp>(op))
    return Family::Attention;
  if (isa<GatherSumOp>(op))
    return Family::Gather;
  return std::nullopt;
}

Operation *KernelOp::getAnchor() {
  Operation *norm = nullptr;
  for (Operation &op : getBody().front()) {
    if (anchorFamily(&op))
      return &op;
    if (isa<NormOp, NormScaleOp>(op))
      norm = &op;
  }
  return norm;
}

StringRef KernelOp::getSection() {
  auto section = (*this)->getAttrOfType<StringAttr>("betz.section");
  return section ? section.getValue() : "";
}

static LogicalResult verifyFamily(KernelOp kernel) {
  int anchors = 0, norms = 0;
  bool familyGood = true;
  for (Operation &op : kernel.getBody().front()) {
    if (std::optional<Family> family = anchorFamily(&op)) {
      ++anchors;
      familyGood &= *family == kernel.getFamily();
    }
    norms += isa<NormOp, NormScaleOp>(op);
  }
  bool good = false;
  switch (kernel.getFamily()) {
  case Family::Matmul:
  case Family::Attention:
  case Family::Gather:
    good = anchors == 1 && familyGood;
    break;
  case Family::Row:
    good = anchors == 0 && norms == 1;
    break;
  case Family::Elementwise:
    good = anchors == 0 && norms == 0;
    break;
  }
  if (!good)
    return kernel.emitOpError("(C3) the body does not suit the family ")
           << stringifyFamily(kernel.getFamily());
  return success();
}

static LogicalResult verifyBeforeAnchor(KernelOp kernel) {
  Operation *anchor = kernel.getAnchor();
  if (!anchor)
    return success();
  for (Operation &op : kernel.getBody().front()) {
    if (&op == anchor)
      return success();
    if (!(isa<NormOp, NormScaleOp, ScaleFromSquaresOp>(op) &&
          kernel.getFamily() == Family::Matmul))
      return kernel.emitOpError("(C4) ")
             << op.getName() << " may not stand before " << anchor->getName();
  }
  return success();
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("(C1) block arguments must match the operands");
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getValues().getTypes() != getOutputs().getTypes())
    return emitOpError("(C2) yielded values must match the results");
  if (failed(verifyFamily(*this)))
    return failure();
  return verifyBeforeAnchor(*this);
}
