#include "passes/DerivedValues.h"

#include "llvm/ADT/StringMap.h"

namespace betz::passes {

using namespace ir;
using mlir::Value;

DerivedValues::DerivedValues(mlir::ModuleOp module)
    : prepare(getPrepare(module)), main(getMain(module)),
      prepareReturn(llvm::cast<mlir::func::ReturnOp>(
          prepare.getBody().front().getTerminator())) {
  llvm::StringMap<Value> byName;
  for (unsigned i = 0; i < prepare.getNumResults(); ++i) {
    std::string name = getResultName(prepare, i, kDerivedAttr).str();
    Value value = prepareReturn.getOperand(i);
    byName[name] = value;
    names.try_emplace(value, name);
    usedNames[name] = 1;
  }
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (llvm::StringRef name = getArgName(main, i, kDerivedAttr); !name.empty())
      argumentValues[main.getArgument(i)] = byName.lookup(name);
}

bool DerivedValues::contains(Value value) const {
  return argumentValues.count(value) ||
         value.getParentRegion() == &prepare.getBody();
}

Value DerivedValues::inPrepare(Value value) const {
  Value found = argumentValues.lookup(value);
  return found ? found : value;
}

void DerivedValues::moveToPrepare(mlir::Operation *op) {
  op->moveBefore(prepareReturn);
  for (mlir::OpOperand &operand : op->getOpOperands())
    operand.set(inPrepare(operand.get()));
}

mlir::OpBuilder DerivedValues::atEndOfPrepare() {
  return mlir::OpBuilder(prepareReturn);
}

/// A new derived value is called after its section and op: the same name in
/// every compilation of the same module.
std::string DerivedValues::nameOf(Value value) {
  if (auto known = names.find(value); known != names.end())
    return known->second;
  mlir::Operation *op = value.getDefiningOp();
  auto section = op->getAttrOfType<mlir::StringAttr>(kSectionAttr);
  std::string name = ((section ? section.getValue() + "." : llvm::Twine()) +
                      op->getName().stripDialect())
                         .str();
  int &uses = usedNames[name];
  if (uses++ > 0)
    name += "." + std::to_string(uses);
  names[value] = name;
  return name;
}

void DerivedValues::finish() {
  mlir::Builder builder(main.getContext());
  mlir::Block &body = main.getBody().front();

  // What @main reads, in the order of its first reading.
  llvm::MapVector<Value, llvm::SmallVector<mlir::OpOperand *>> reads;
  main.walk([&](mlir::Operation *op) {
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      Value value = inPrepare(operand.get());
      if (value.getParentRegion() == &prepare.getBody())
        reads[value].push_back(&operand);
    }
  });

  llvm::SmallVector<Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> resultAttrs;
  unsigned index = 0;
  for (auto &[value, operands] : reads) {
    auto attrs = builder.getDictionaryAttr(builder.getNamedAttr(
        kDerivedAttr, builder.getStringAttr(nameOf(value))));
    main.insertArgument(index, value.getType(), attrs, value.getLoc());
    for (mlir::OpOperand *operand : operands)
      operand->set(body.getArgument(index));
    results.push_back(value);
    resultAttrs.push_back(attrs);
    ++index;
  }
  for (unsigned i = main.getNumArguments(); i-- > index;)
    if (!getArgName(main, i, kDerivedAttr).empty())
      main.eraseArgument(i);

  prepareReturn->setOperands(results);
  prepare.setType(builder.getFunctionType(
      prepare.getArgumentTypes(),
      llvm::to_vector(mlir::ValueRange(results).getTypes())));
  prepare.setAllResultAttrs(llvm::ArrayRef<mlir::DictionaryAttr>(resultAttrs));
  for (mlir::Operation &op :
       llvm::make_early_inc_range(llvm::reverse(prepare.getBody().front())))
    if (op.use_empty() && !op.hasTrait<mlir::OpTrait::IsTerminator>())
      op.erase();
}

bool isLinearPartDerived(const DerivedValues &derived, NormOp norm) {
  return derived.contains(norm.getGain()) &&
         (!norm.getShift() || derived.contains(norm.getShift()));
}

} // namespace betz::passes
