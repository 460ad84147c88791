#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace betz::passes {

#define GEN_PASS_DEF_FUSEPASS
#include "passes/Passes.h.inc"

using namespace ir;
using mlir::Operation;
using mlir::Value;

namespace {

bool isView(Operation *op) { return llvm::isa<SliceOp, ReshapeOp>(op); }
bool isAnchor(Operation *op) {
  return llvm::isa<MatmulOp, AttentionOp, GatherSumOp>(op);
}

Family familyOf(Operation *lead) {
  if (llvm::isa<MatmulOp>(lead))
    return Family::Matmul;
  if (llvm::isa<AttentionOp>(lead))
    return Family::Attention;
  if (llvm::isa<GatherSumOp>(lead))
    return Family::Gather;
  return llvm::isa<NormOp, NormScaleOp>(lead) ? Family::Row
                                              : Family::Elementwise;
}

/// Whether what follows an op may run on its elements before they are stored.
bool takesEpilogue(Operation *op) {
  return !llvm::isa<ScatterSumOp, AttentionLseOp, HeadDotsOp, MseLossOp,
                    CrossEntropyOp, SquareSumOp, AdamwOp, TransposeOp,
                    PackPanelsOp, SegmentSubOp, ReachBoundsOp>(op);
}

/// Whether `user` can run on each element of `value` as it is produced.
bool isEpilogueOf(Operation *user, Value value) {
  if (auto scale = llvm::dyn_cast<ScaleRowsOp>(user))
    return scale.getX() == value;
  if (auto dropout = llvm::dyn_cast<DropoutOp>(user))
    return dropout.getX() == value;
  if (llvm::isa<CastOp>(user))
    return true;
  if (!user->hasTrait<Elementwise>())
    return false;
  if (user->getNumOperands() == 1)
    return true;
  // The other operand is read from memory, so it may not be `value` too.
  Value lhs = user->getOperand(0), rhs = user->getOperand(1);
  return lhs != rhs && user->getResult(0).getType() == value.getType() &&
         (lhs == value || rhs.getType() == value.getType());
}

/// Ops of one kernel in order; `lead` gives it its family. `squares` is the
/// last op where the kernel leaves sums of squares beside its result.
struct Group {
  Operation *lead;
  llvm::SmallVector<Operation *> ops;
  Operation *squares = nullptr;

  Operation *last() const { return ops[ops.size() - (squares ? 2 : 1)]; }
};

/// A transposed weight that is packed at once.
bool isPackOf(Operation *user, Operation *last) {
  return llvm::isa<TransposeOp>(last) && llvm::isa<PackPanelsOp>(user);
}

/// Columns of a sum of squares.
constexpr int64_t kSquareGroup = 32;

struct FusePass : impl::FusePassBase<FusePass> {
  using FusePassBase::FusePassBase;

  void runOnOperation() override {
    mlir::func::FuncOp main = getMain(getOperation());
    splitJoins(main);
    llvm::SmallVector<Operation *> leads = chooseLeads(main);
    llvm::SmallVector<Group> groups;
    for (Operation *lead : leads)
      if (!grouped.count(lead))
        groups.push_back(formGroup(lead));
    for (Operation *op : replaced)
      op->erase();
    for (const Group &group : groups)
      makeKernel(group);
    setPhase(getOperation(), Phase::Kernels);
  }

  /// A launch has a limited number of operands, so many parts are joined in
  /// several steps.
  void splitJoins(mlir::func::FuncOp main) {
    constexpr size_t kMostParts = 48;
    for (auto join : llvm::make_early_inc_range(main.getOps<JoinColumnsOp>()))
      while (join.getParts().size() > kMostParts)
        joinInGroups(join, kMostParts);
  }

  static void joinInGroups(JoinColumnsOp join, size_t most) {
    mlir::OpBuilder builder(join);
    auto whole = llvm::cast<Tensor>(join.getType());
    llvm::SmallVector<Value> parts;
    llvm::SmallVector<int64_t> offsets;
    const size_t count = join.getParts().size();
    for (size_t first = 0; first < count; first += most) {
      const size_t size = std::min(most, count - first);
      auto group = join.getParts().slice(first, size);
      auto places = llvm::to_vector(join.getOffsets().slice(first, size));
      const int64_t start = places.front();
      const int64_t end =
          places.back() + columnsOf(llvm::cast<Tensor>(group.back().getType()));
      for (int64_t &place : places)
        place -= start;
      auto joined = builder.create<JoinColumnsOp>(
          join.getLoc(), withColumns(whole, end - start), group, places);
      if (mlir::Attribute section = join->getAttr(kSectionAttr))
        joined->setAttr(kSectionAttr, section);
      parts.push_back(joined);
      offsets.push_back(start);
    }
    join.getPartsMutable().assign(parts);
    join.setOffsets(offsets);
  }

  /// Anchors first, so that a norm or an add joins the heavier kernel; the
  /// others follow in program order.
  llvm::SmallVector<Operation *> chooseLeads(mlir::func::FuncOp main) {
    llvm::SmallVector<Operation *> anchors, others;
    for (Operation &op : main.getBody().front())
      if (isAnchor(&op))
        anchors.push_back(&op);
      else if (!isView(&op) && !llvm::isa<KernelOp, mlir::func::ReturnOp>(op))
        others.push_back(&op);
    anchors.append(others);
    return anchors;
  }

  Group formGroup(Operation *lead) {
    Group whole{lead, {}};
    llvm::SmallVector<Operation *> &group = whole.ops;
    if (auto matmul = llvm::dyn_cast<MatmulOp>(lead); matmul && !normsApart)
      if (auto norm = matmul.getX().getDefiningOp<NormOp>())
        if (norm->hasOneUse() && !grouped.count(norm))
          group.push_back(norm);
    group.push_back(lead);
    Operation *last = lead;
    while (last->getResult(0).hasOneUse() &&
           !llvm::isa<NormScaleOp, CastOp>(last)) {
      Operation *user = *last->user_begin();
      const bool joins =
          (takesEpilogue(lead) && isEpilogueOf(user, last->getResult(0))) ||
          isReductionOf(user, last) || isPackOf(user, last);
      if (grouped.count(user) || !joins)
        break;
      if (Operation *scale = ownRowScale(user, lead))
        group.insert(group.begin(), scale);
      group.push_back(user);
      last = user;
    }
    if (normsApart && llvm::isa<MatmulOp>(lead))
      if (NormScaleOp scale = findMeasured(last->getResult(0))) {
        whole.squares = leaveSquares(last, scale);
        group.push_back(whole.squares);
      }
    grouped.insert(group.begin(), group.end());
    return whole;
  }

  /// The RMSNorm's factor of these rows that a matmul of them wants.
  NormScaleOp findMeasured(Value rows) {
    if (columnsOf(llvm::cast<Tensor>(rows.getType())) % kSquareGroup != 0)
      return {};
    for (Operation *user : rows.getUsers()) {
      auto scale = llvm::dyn_cast<NormScaleOp>(user);
      if (!scale || scale.getKind() != NormKind::Rms || !scale->hasOneUse())
        continue;
      auto scaled = llvm::dyn_cast<ScaleRowsOp>(*scale->user_begin());
      auto matmul = scaled ? scaled.getX().getDefiningOp<MatmulOp>() : nullptr;
      if (matmul && matmul->hasOneUse() && matmul.getX() == rows &&
          !grouped.count(matmul))
        return scale;
    }
    return {};
  }

  /// Replaces `scale`, which measures the rows of `writer`, by sums of squares
  /// behind the writer.
  SquareSumsOp leaveSquares(Operation *writer, NormScaleOp scale) {
    mlir::OpBuilder builder(scale);
    auto rows = llvm::cast<Tensor>(scale.getX().getType());
    const int64_t columns = columnsOf(rows);
    Tensor sums =
        Tensor::get(withColumns(rows, columns / kSquareGroup).getShape(),
                    llvm::cast<Tensor>(scale.getType()).getElementType(),
                    rows.getEncoding());
    builder.setInsertionPointAfter(writer);
    auto squares = builder.create<SquareSumsOp>(
        writer->getLoc(), sums, scale.getX(), uint64_t(kSquareGroup));
    builder.setInsertionPoint(scale);
    auto factor = builder.create<ScaleFromSquaresOp>(
        scale.getLoc(), scale.getType(), squares.getResult(),
        builder.getI64IntegerAttr(columns), scale.getEpsAttr());
    if (mlir::Attribute section = scale->getAttr(kSectionAttr))
      factor->setAttr(kSectionAttr, section);
    scale.replaceAllUsesWith(factor.getResult());
    grouped.insert(scale);
    replaced.push_back(scale);
    return squares;
  }

  /// A gathered sum of which only the row scale is wanted.
  static bool isReductionOf(Operation *user, Operation *last) {
    return llvm::isa<GatherSumOp>(last) && llvm::isa<NormScaleOp>(user);
  }

  /// The factor of the very rows that a matmul reads: it can be measured while
  /// they are read, or with `normsApart` comes from sums of squares.
  Operation *ownRowScale(Operation *user, Operation *lead) {
    auto matmul = llvm::dyn_cast<MatmulOp>(lead);
    auto scaleRows = llvm::dyn_cast<ScaleRowsOp>(user);
    if (!matmul || !scaleRows)
      return nullptr;
    if (normsApart) {
      Operation *factor =
          scaleRows.getScale().getDefiningOp<ScaleFromSquaresOp>();
      return factor && !grouped.count(factor) ? factor : nullptr;
    }
    auto scale = scaleRows.getScale().getDefiningOp<NormScaleOp>();
    bool own = scale && scale.getX() == matmul.getX() && scale->hasOneUse() &&
               !grouped.count(scale);
    return own ? scale.getOperation() : nullptr;
  }

  void makeKernel(const Group &whole) {
    const auto &[lead, group, squares] = whole;
    auto results = llvm::to_vector_of<Value>(whole.last()->getResults());
    if (squares)
      results.push_back(squares->getResult(0));
    llvm::SetVector<Value> inputs;
    for (Operation *op : group)
      for (Value operand : op->getOperands())
        if (!llvm::is_contained(group, operand.getDefiningOp()))
          inputs.insert(operand);

    mlir::OpBuilder builder(group.back());
    auto kernel = builder.create<KernelOp>(
        lead->getLoc(), mlir::TypeRange(mlir::ValueRange(results)),
        inputs.getArrayRef(), familyOf(lead), uniqueName(group),
        mlir::ArrayAttr());
    if (mlir::Attribute section = lead->getAttr(kSectionAttr))
      kernel->setAttr(kSectionAttr, section);

    mlir::Block &body = kernel.getBody().emplaceBlock();
    mlir::IRMapping map;
    for (Value input : inputs)
      map.map(input, body.addArgument(input.getType(), input.getLoc()));
    builder.setInsertionPointToEnd(&body);
    for (Operation *op : group)
      builder.clone(*op, map)->removeAttr(kSectionAttr);
    builder.create<YieldOp>(lead->getLoc(),
                            llvm::map_to_vector(results, [&](Value result) {
                              return map.lookup(result);
                            }));

    for (auto [result, output] : llvm::zip_equal(results, kernel.getOutputs()))
      result.replaceAllUsesWith(output);
    for (Operation *op : llvm::reverse(group))
      op->erase();
  }

  /// "blocks_0_mlp__norm_matmul_gelu": section, then the ops; made unique.
  std::string uniqueName(llvm::ArrayRef<Operation *> group) {
    std::string name;
    for (Operation *op : group) {
      if (!name.empty())
        name += "_";
      name += op->getName().stripDialect();
    }
    Operation *lead = group.front();
    if (auto section = lead->getAttrOfType<mlir::StringAttr>(kSectionAttr))
      name = section.getValue().str() + "__" + name;
    for (char &letter : name)
      if (!llvm::isAlnum(letter))
        letter = '_';
    int &uses = names[name];
    if (uses++ > 0)
      name += "_" + std::to_string(uses);
    return name;
  }

  llvm::DenseSet<Operation *> grouped;
  /// To be erased once no list of ops names them any more.
  llvm::SmallVector<Operation *> replaced;
  llvm::StringMap<int> names;
};

} // namespace
} // namespace betz::passes
