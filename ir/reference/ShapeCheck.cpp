#include "ir/reference/ShapeCheck.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace betz::reference {
namespace {

std::string dimensionText(ir::Tensor type, unsigned index) {
  if (!type.isDynamicDim(index))
    return std::to_string(type.getDimSize(index));
  ir::RowsAttr rows = ir::getRows(type);
  if (index != 0 || !rows)
    return "?";
  std::string text = rows.getSymbol().str();
  if (rows.getPlus() != 0)
    text += " + " + std::to_string(rows.getPlus());
  return text;
}

/// Elements of `shape`, or nothing if it is negative or overflows.
std::optional<int64_t> elementsOf(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return std::nullopt;
  return count;
}

bool holdsItsElements(ir::Tensor type, const Tensor &tensor) {
  std::optional<int64_t> count = elementsOf(tensor.shape);
  if (!count)
    return false;
  bool isReal = llvm::isa<mlir::FloatType>(type.getElementType());
  size_t used = isReal ? tensor.real.size() : tensor.integer.size();
  size_t unused = isReal ? tensor.integer.size() : tensor.real.size();
  return used == size_t(*count) && unused == 0;
}

bool fits(ir::Tensor type, const Tensor &tensor) {
  if (size_t(type.getRank()) != tensor.shape.size())
    return false;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!type.isDynamicDim(i) && type.getDimSize(i) != tensor.shape[i])
      return false;
  return holdsItsElements(type, tensor);
}

} // namespace

std::string toString(ir::Tensor type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type.getElementType() << " [";
  for (int64_t i = 0; i < type.getRank(); ++i)
    stream << (i ? ", " : "") << dimensionText(type, i);
  stream << "]";
  return text;
}

std::string toString(const Tensor &tensor) {
  std::string text =
      tensor.real.empty() && !tensor.integer.empty() ? "integer [" : "real [";
  if (tensor.real.empty() && tensor.integer.empty())
    text = "[";
  return text +
         llvm::join(
             llvm::map_range(tensor.shape,
                             [](int64_t size) { return std::to_string(size); }),
             ", ") +
         "]";
}

Status ShapeChecker::check(ir::Tensor type, const Tensor &tensor,
                           std::string label) {
  if (!fits(type, tensor))
    return invalidArgument(label + " is " + toString(tensor) + ", expected " +
                           toString(type));
  ir::RowsAttr rows = ir::getRows(type);
  if (type.getNumDynamicDims() > (rows ? 1 : 0) ||
      (type.getNumDynamicDims() == 1 && !type.isDynamicDim(0)))
    return invalidArgument(label + " is of type " + toString(type) +
                           ": only the first dimension may follow a symbol");
  if (!rows || type.getRank() == 0)
    return Status::ok();
  int64_t size = 0;
  if (__builtin_sub_overflow(tensor.shape[0], rows.getPlus(), &size) ||
      size < 0)
    return invalidArgument(label + " has " + std::to_string(tensor.shape[0]) +
                           " rows, expected " + toString(type));
  auto [known, isNew] =
      symbols.try_emplace(rows.getSymbol(), Symbol{size, label});
  if (isNew || known->second.size == size)
    return Status::ok();
  return invalidArgument(label + " is " + toString(tensor) + ", expected " +
                         toString(type) + " with " + rows.getSymbol().str() +
                         " = " + std::to_string(known->second.size) +
                         " as in " + known->second.source);
}

std::optional<std::vector<int64_t>>
ShapeChecker::getShape(ir::Tensor type) const {
  std::vector<int64_t> shape(type.getShape());
  if (type.hasStaticShape())
    return shape;
  ir::RowsAttr rows = ir::getRows(type);
  if (!rows)
    return std::nullopt;
  auto symbol = symbols.find(rows.getSymbol());
  if (symbol == symbols.end())
    return std::nullopt;
  shape[0] = symbol->second.size + rows.getPlus();
  return shape;
}

} // namespace betz::reference
