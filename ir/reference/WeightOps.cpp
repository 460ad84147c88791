//===- WeightOps.cpp - Ops that stand in @prepare only --------------------===//
#include "ir/reference/Ops.h"

namespace betz::reference {

static std::vector<int64_t> resultShape(mlir::Operation *op) {
  return llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType())
      .getShape()
      .vec();
}

Tensor evaluateWeightOp(ir::PackPanelsOp op, const Operands &operands) {
  const Tensor &weight = operands[op.getWeight()];
  const int64_t rows = weight.shape[0], depth = weight.shape[1];
  auto type = llvm::cast<mlir::RankedTensorType>(op.getResult().getType());
  const int64_t panel = type.getDimSize(2);
  Tensor result{type.getShape().vec(), {}, {}};
  result.real.assign(type.getNumElements(), 0.0);
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t k = 0; k < depth; ++k)
      result.real[(n / panel * depth + k) * panel + n % panel] =
          weight.real[n * depth + k];
  return result;
}

Tensor evaluateWeightOp(ir::FillOp op, const Operands &) {
  Tensor result{resultShape(op), {}, {}};
  result.real.assign(size_t(result.rows() * result.columns()),
                     op.getValue().convertToDouble());
  return result;
}

Tensor evaluateWeightOp(ir::SubtractMeanOp op, const Operands &operands) {
  Tensor result = operands[op.getX()];
  const size_t dim = size_t(op.getDim());
  int64_t count = result.shape[dim], inner = 1, outer = 1;
  for (size_t i = 0; i < result.shape.size(); ++i)
    if (i != dim)
      (i < dim ? outer : inner) *= result.shape[i];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      double *first = &result.real[size_t(o * count * inner + i)];
      double mean = 0;
      for (int64_t n = 0; n < count; ++n)
        mean += first[n * inner];
      mean /= double(count);
      for (int64_t n = 0; n < count; ++n)
        first[n * inner] -= mean;
    }
  return result;
}

Tensor evaluateWeightOp(ir::TransposeOp op, const Operands &operands) {
  const Tensor &x = operands[op.getX()];
  Tensor result{resultShape(op), {}, {}};
  for (int64_t k = 0; k < x.columns(); ++k)
    for (int64_t n = 0; n < x.rows(); ++n)
      result.real.push_back(x.real[size_t(n * x.columns() + k)]);
  return result;
}

Tensor evaluateWeightOp(ir::ConcatOp op, const Operands &operands) {
  Tensor result{resultShape(op), {}, {}};
  for (mlir::Value part : op.getParts()) {
    const Tensor &rows = operands[part];
    result.real.insert(result.real.end(), rows.real.begin(), rows.real.end());
  }
  return result;
}

Tensor evaluateWeightOp(ir::ExpandHeadsOp op, const Operands &operands) {
  const Tensor &x = operands[op.getX()];
  const int64_t heads = int64_t(op.getHeads()), columns = x.columns();
  const int64_t headSize = columns / heads;
  Tensor result{resultShape(op), {}, {}};
  result.real.assign(size_t(result.rows() * columns), 0.0);
  for (int64_t n = 0; n < x.rows(); ++n)
    for (int64_t c = 0; c < columns; ++c)
      result.real[size_t((n * heads + c / headSize) * columns + c)] =
          x.real[size_t(n * columns + c)];
  return result;
}

} // namespace betz::reference
