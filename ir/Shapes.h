//===- Shapes.h - Tensor types with a symbolic leading dimension ----------===//
#pragma once

#include "ir/BetzDialect.h"

namespace betz::ir {

using Tensor = mlir::RankedTensorType;

/// The type of a tensor whose leading dimension is `symbol + plus` rows and
/// whose other dimensions are `inner`.
Tensor rowsType(llvm::StringRef symbol, llvm::ArrayRef<int64_t> inner,
                mlir::Type element, int64_t plus = 0);

/// The symbol of a dynamic leading dimension; null for constant shapes.
RowsAttr getRows(Tensor type);

/// `type` with another last dimension, or another element type.
Tensor withColumns(Tensor type, int64_t columns);

/// Last dimension.
int64_t columnsOf(Tensor type);

/// Elements for each leading row when that is dynamic, else all elements.
int64_t elementsPerRow(Tensor type);

/// The type of attention over `q` for keys batched like `batch` (the symbol
/// of `row_splits` or of dense keys).
Tensor attentionType(Tensor q, RowsAttr batch);

/// One f32 a head for each row of `rows`.
Tensor headsType(Tensor rows, int64_t heads);

} // namespace betz::ir
