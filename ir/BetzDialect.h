//===- BetzDialect.h - The betz dialect, its attributes and ops -----------===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace betz::ir {

/// Verifies what the trait promises; see Betz_Elementwise in BetzDialect.td.
mlir::LogicalResult verifyElementwise(mlir::Operation *op);

template <typename ConcreteOp>
class Elementwise : public mlir::OpTrait::TraitBase<ConcreteOp, Elementwise> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyElementwise(op);
  }
};

} // namespace betz::ir

#include "ir/BetzDialect.h.inc"
#include "ir/BetzEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/BetzAttrs.h.inc"
#define GET_OP_CLASSES
#include "ir/BetzOps.h.inc"
