#include "ir/BetzDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace betz::ir;

#include "ir/BetzDialect.cpp.inc"
#include "ir/BetzEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/BetzAttrs.cpp.inc"

void BetzDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/BetzAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/BetzOps.cpp.inc"
      >();
}
