#include "ir/Shapes.h"

namespace betz::ir {

Tensor rowsType(llvm::StringRef symbol, llvm::ArrayRef<int64_t> inner,
                mlir::Type element, int64_t plus) {
  llvm::SmallVector<int64_t> shape{mlir::ShapedType::kDynamic};
  shape.append(inner.begin(), inner.end());
  return Tensor::get(shape, element,
                     RowsAttr::get(element.getContext(), symbol, plus));
}

RowsAttr getRows(Tensor type) {
  return llvm::dyn_cast_or_null<RowsAttr>(type.getEncoding());
}

Tensor withColumns(Tensor type, int64_t columns) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape.back() = columns;
  return Tensor::get(shape, type.getElementType(), type.getEncoding());
}

int64_t columnsOf(Tensor type) { return type.getShape().back(); }

int64_t elementsPerRow(Tensor type) {
  int64_t elements = 1;
  for (int64_t size : type.getShape())
    if (size != mlir::ShapedType::kDynamic)
      elements *= size;
  return elements;
}

Tensor attentionType(Tensor q, RowsAttr batch) {
  llvm::ArrayRef<int64_t> inner = q.getShape().take_back(2);
  return rowsType(batch.getSymbol(), inner, q.getElementType());
}

Tensor headsType(Tensor rows, int64_t heads) {
  llvm::SmallVector<int64_t> shape(rows.getShape());
  shape.back() = heads;
  return Tensor::get(shape, mlir::Float32Type::get(rows.getContext()),
                     rows.getEncoding());
}

} // namespace betz::ir
