#include "passes/DerivedValues.h"
#include "passes/Passes.h"
#include "passes/WeightMath.h"

#include "llvm/ADT/SetVector.h"

namespace betz::passes {

#define GEN_PASS_DEF_CENTREPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::Value;

namespace {

/// A residual stream: values that sums connect, who writes and who reads them.
struct Stream {
  llvm::SetVector<Value> values;
  llvm::SetVector<mlir::Operation *> norms;
  llvm::SetVector<mlir::Operation *> writers;   // matmul and gather_sum
  llvm::SmallVector<mlir::OpOperand *> addends; // derived ones
};

struct CentrePass : impl::CentrePassBase<CentrePass> {
  void runOnOperation() override {
    DerivedValues derivedValues(getOperation());
    derived = &derivedValues;
    llvm::SmallVector<NormOp> norms;
    getMain(getOperation()).walk([&](NormOp norm) { norms.push_back(norm); });
    for (NormOp norm : norms) {
      Stream stream;
      if (norm.getKind() == NormKind::Layer && collect(norm.getX(), stream))
        centre(stream);
    }
    derivedValues.finish();
  }

  /// False if something reads or writes the stream that cannot be centred.
  bool collect(Value start, Stream &stream) {
    stream.values.insert(start);
    for (size_t i = 0; i < stream.values.size(); ++i)
      if (!addReaders(stream.values[i], stream) ||
          !addWriter(stream.values[i], stream))
        return false;
    return true;
  }

  bool addReaders(Value value, Stream &stream) {
    for (mlir::OpOperand &use : value.getUses()) {
      auto norm = llvm::dyn_cast<NormOp>(use.getOwner());
      if (norm && norm.getKind() == NormKind::Layer &&
          use.getOperandNumber() == 0)
        stream.norms.insert(norm);
      else if (llvm::isa<AddOp>(use.getOwner()))
        stream.values.insert(use.getOwner()->getResult(0));
      else
        return false;
    }
    return true;
  }

  bool addWriter(Value value, Stream &stream) {
    mlir::Operation *op = value.getDefiningOp();
    if (auto matmul = llvm::dyn_cast_or_null<MatmulOp>(op)) {
      stream.writers.insert(op);
      return !matmul.getColumns() && derived->contains(matmul.getWeight());
    }
    if (auto gather = llvm::dyn_cast_or_null<GatherSumOp>(op)) {
      stream.writers.insert(op);
      return llvm::all_of(gather.getTables(), [&](Value table) {
        return derived->contains(table);
      });
    }
    if (!llvm::isa_and_nonnull<AddOp>(op))
      return false;
    for (mlir::OpOperand &operand : op->getOpOperands())
      if (!derived->contains(operand.get()))
        stream.values.insert(operand.get());
      else if (llvm::cast<Tensor>(operand.get().getType()).getRank() > 0)
        stream.addends.push_back(&operand);
      else
        return false; // one number for all columns has no mean to take away
    return true;
  }

  void centre(Stream &stream) {
    for (mlir::Operation *writer : stream.writers) {
      if (auto matmul = llvm::dyn_cast<MatmulOp>(writer))
        centreOperand(matmul.getWeightMutable(), writer, /*dim=*/0);
      else
        for (mlir::OpOperand &table :
             llvm::cast<GatherSumOp>(writer).getTablesMutable())
          centreOperand(table, writer, /*dim=*/1);
    }
    for (mlir::OpOperand *addend : stream.addends) {
      auto type = llvm::cast<Tensor>(addend->get().getType());
      centreOperand(*addend, addend->getOwner(), type.getRank() - 1);
    }
    for (mlir::Operation *norm : stream.norms)
      llvm::cast<NormOp>(norm).setKind(NormKind::Rms);
  }

  /// Derived values that others use too keep their own copy.
  void centreOperand(mlir::OpOperand &operand, mlir::Operation *user,
                     int64_t dim) {
    Value plain = derived->inPrepare(operand.get());
    Value &centred = done[{plain, dim}];
    if (!centred)
      centred =
          WeightMath(derived->atEndOfPrepare(), user).subtractMean(plain, dim);
    operand.set(centred);
  }

  DerivedValues *derived = nullptr;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> done;
};

} // namespace
} // namespace betz::passes
