//===- ShapeCheck.h - Tensors against the types that they should have -----===//
#pragma once

#include "ir/Shapes.h"
#include "ir/reference/Tensor.h"
#include "runtime/base/Status.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace betz::reference {

/// Checks tensors against types one after the other. The first tensor whose
/// type follows a symbol gives the symbol its size; later ones must agree.
class ShapeChecker {
public:
  /// `label` names the tensor in the Status: "input 'value'".
  Status check(ir::Tensor type, const Tensor &tensor, std::string label);

  /// The shape that tensors of `type` have; nothing if its symbol has no size
  /// yet.
  std::optional<std::vector<int64_t>> getShape(ir::Tensor type) const;

private:
  struct Symbol {
    int64_t size;
    /// Label of the tensor that gave the size.
    std::string source;
  };
  llvm::StringMap<Symbol> symbols;
};

/// Element type and shape as messages print them: "i32 [batch + 1]".
std::string toString(ir::Tensor type);
std::string toString(const Tensor &tensor);

} // namespace betz::reference
