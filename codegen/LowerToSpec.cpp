#include "codegen/LowerToSpec.h"

#include "llvm/ADT/TypeSwitch.h"

#include <fmt/format.h>

namespace betz {

using namespace ir;
using mlir::Value;

std::vector<std::string> symbolsOf(mlir::ModuleOp module) {
  std::vector<std::string> symbols;
  for (auto name : module->getAttrOfType<mlir::ArrayAttr>(kSymbolsAttr)
                       .getAsRange<mlir::StringAttr>())
    symbols.push_back(name.getValue().str());
  return symbols;
}

Result<DType> dtypeOf(mlir::Type element) {
  if (element.isF32())
    return DType::F32;
  if (element.isBF16())
    return DType::BF16;
  if (element.isInteger(8))
    return DType::I8;
  if (element.isInteger(32))
    return DType::I32;
  return invalidArgument("an element type that no device has");
}

std::vector<Dim> dimsOf(Tensor type, const std::vector<std::string> &symbols) {
  std::vector<Dim> dims;
  for (int64_t size : type.getShape()) {
    if (!mlir::ShapedType::isDynamic(size)) {
      dims.push_back(Dim::constant(size));
      continue;
    }
    RowsAttr rows = getRows(type);
    auto symbol =
        std::find(symbols.begin(), symbols.end(), rows.getSymbol().str());
    dims.push_back({int32_t(symbol - symbols.begin()), 1, rows.getPlus()});
  }
  return dims;
}

namespace {

/// All leading dimensions as one.
Result<Dim> rowsOf(Tensor type, const std::vector<std::string> &symbols) {
  Dim rows = Dim::constant(1);
  std::vector<Dim> dims = dimsOf(type, symbols);
  if (dims.size() > 1 ||
      (!dims.empty() && dims[0].symbol >= 0 && dims.size() == 1)) {
    size_t leading = dims.size() == 1 ? 1 : dims.size() - 1;
    for (size_t i = 0; i < leading; ++i) {
      if (dims[i].symbol < 0) {
        rows.factor *= dims[i].plus;
        rows.plus *= dims[i].plus;
        continue;
      }
      if (dims[i].plus != 0 && leading > 1)
        return invalidArgument("rows of batch + 1 elements each");
      rows = dims[i];
    }
  }
  return rows;
}

class SpecBuilder {
public:
  explicit SpecBuilder(KernelOp kernel)
      : kernel(kernel), body(kernel.getBody().front()) {}

  Result<LoweredKernel> build() {
    result.spec.symbols = symbolsOf(kernel->getParentOfType<mlir::ModuleOp>());
    BETZ_RETURN_IF_ERROR(addOperands());
    BETZ_RETURN_IF_ERROR(addBody());
    if (!checkNumbers(result.spec).isOk())
      return invalidArgument("an op that reads what another op of the kernel "
                             "computes, other than the one before it");
    return std::move(result);
  }

private:
  Status addOperands() {
    for (Value input : kernel.getInputs())
      BETZ_RETURN_IF_ERROR(addOperand(input));
    for (Value output : kernel.getOutputs())
      BETZ_RETURN_IF_ERROR(addOperand(output));
    return Status::ok();
  }

  /// Folds slices into an offset and a row stride.
  Status addOperand(Value value) {
    auto type = llvm::cast<Tensor>(value.getType());
    OperandSpec operand;
    BETZ_ASSIGN_OR_RETURN(operand.dtype, dtypeOf(type.getElementType()));
    BETZ_ASSIGN_OR_RETURN(operand.rows, rowsOf(type, result.spec.symbols));
    operand.columns =
        type.getRank() == 0 || (type.getRank() == 1 && !type.hasStaticShape())
            ? 1
            : columnsOf(type);
    operand.rowStride = operand.columns;
    Value base = value;
    int64_t offset = 0;
    bool reshaped = false;
    while (mlir::Operation *view = base.getDefiningOp()) {
      auto slice = llvm::dyn_cast<SliceOp>(view);
      if (!slice && !llvm::isa<ReshapeOp>(view))
        break;
      base = view->getOperand(0);
      auto source = llvm::cast<Tensor>(base.getType());
      if (!slice) {
        reshaped = true;
      } else if (source.getRank() == 1) {
        offset += int64_t(slice.getOffset());
      } else if (reshaped) {
        return invalidArgument("a reshape of a slice, which would move data");
      } else {
        offset += int64_t(slice.getOffset());
        operand.rowStride = columnsOf(source);
      }
    }
    const int64_t bytes = offset * int64_t(sizeOf(operand.dtype));
    const bool isAligned = bytes % int64_t(kTensorAlignment) == 0;
    if (!isAligned)
      operand.offset = offset;
    operand.constant = isDerived(base);
    result.spec.operands.push_back(operand);
    result.operands.push_back(base);
    result.offsets.push_back(isAligned ? bytes : 0);
    return Status::ok();
  }

  /// The operand number of a block argument; -1 for a null value.
  int32_t number(Value value) {
    auto argument = llvm::dyn_cast_or_null<mlir::BlockArgument>(value);
    return argument ? int32_t(argument.getArgNumber()) : -1;
  }

  bool isDense(int32_t operand) {
    const OperandSpec &spec = result.spec.operands[size_t(operand)];
    return spec.rowStride == spec.columns;
  }

  Status addBody() {
    Value current; // what the chain has computed so far
    for (mlir::Operation &op : body.without_terminator()) {
      if (op.getNumResults() != 1 && !llvm::isa<AdamwOp>(op))
        return invalidArgument("an op with several results in a kernel");
      // What follows would have to read the rounded value.
      if (current && current.getDefiningOp<CastOp>())
        return unsupported(&op);
      if (auto sums = llvm::dyn_cast<SquareSumsOp>(op)) {
        if (squareSums || sums.getX() != current)
          return unsupported(&op);
        squareSums = sums;
        result.spec.squareGroup = int64_t(sums.getGroup());
        continue;
      }
      if (squareSums)
        return unsupported(&op);
      BETZ_RETURN_IF_ERROR(current ? addStep(&op, current) : addFirst(&op));
      current = op.getResult(0);
    }
    llvm::SmallVector<Value> results = {current};
    if (auto update = current ? current.getDefiningOp<AdamwOp>() : AdamwOp())
      results.assign(update->result_begin(), update->result_end());
    if (squareSums)
      results.push_back(squareSums);
    auto yield = llvm::cast<YieldOp>(body.getTerminator());
    if (!current || !llvm::equal(yield.getValues(), results))
      return invalidArgument("a kernel that does not yield its last value");
    return Status::ok();
  }

  /// The first op is the core, the prologue of a matmul, or a step that reads
  /// an operand element by element.
  Status addFirst(mlir::Operation *op) {
    if (auto norm = llvm::dyn_cast<NormOp>(op)) {
      if (kernel.getFamily() == Family::Matmul)
        result.spec.prologue = normSpec(norm);
      else
        result.spec.core = NormCore{number(norm.getX()), normSpec(norm)};
      return Status::ok();
    }
    if (auto scale = llvm::dyn_cast<NormScaleOp>(op)) {
      if (kernel.getFamily() == Family::Matmul)
        result.spec.rowScale = rowScaleSpec(scale);
      else
        result.spec.core =
            NormScaleCore{number(scale.getX()), rowScaleSpec(scale)};
      return Status::ok();
    }
    if (auto scale = llvm::dyn_cast<ScaleFromSquaresOp>(op);
        scale && kernel.getFamily() == Family::Matmul) {
      result.spec.rowScale = {NormForm::Rms, scale.getEps().convertToDouble(),
                              number(scale.getSquares())};
      if (result.spec.rowScale->squares < 0)
        return unsupported(op);
      return Status::ok();
    }
    if (op->hasTrait<Elementwise>() ||
        llvm::isa<ScaleRowsOp, CastOp, DropoutOp>(op)) {
      result.spec.core = IdentityCore{number(op->getOperand(0))};
      return addStep(op, op->getOperand(0));
    }
    return addCore(op, Value());
  }

  Status addStep(mlir::Operation *op, Value current) {
    if (llvm::isa<MatmulOp>(op))
      return addCore(op, current);
    if (auto pack = llvm::dyn_cast<PackPanelsOp>(op);
        pack && current.getDefiningOp<TransposeOp>()) {
      std::get<PackCore>(result.spec.core).panel = int64_t(pack.getPanel());
      return Status::ok();
    }
    // Values are f32 inside a kernel; its result's type says how it is stored.
    if (auto cast = llvm::dyn_cast<CastOp>(op); cast && cast.getX() == current)
      return Status::ok();
    auto *gather = std::get_if<GatherCore>(&result.spec.core);
    if (auto scale = llvm::dyn_cast<NormScaleOp>(op);
        scale && gather && result.spec.epilogue.empty() &&
        scale.getX() == current) {
      gather->reduce = rowScaleSpec(scale);
      return Status::ok();
    }
    std::optional<EpilogueStep::Kind> kind =
        findElementwise(op->getName().stripDialect().str());
    // The chain goes on in `current`, and with its shape.
    if (!kind || !llvm::is_contained(op->getOperands(), current) ||
        op->getResult(0).getType() != current.getType())
      return unsupported(op);
    EpilogueStep step{*kind, -1};
    if (describe(*kind).operands == 2) {
      step.swapped = op->getOperand(0) != current;
      Value other = op->getOperand(step.swapped ? 0 : 1);
      step.operand = number(other);
      bool ownScale =
          llvm::isa<ScaleRowsOp>(op) && other.getDefiningOp() &&
          llvm::isa<NormScaleOp, ScaleFromSquaresOp>(other.getDefiningOp()) &&
          result.spec.rowScale;
      if (step.operand < 0 && !ownScale)
        return unsupported(op);
      if (llvm::isa<ScaleRowsOp>(op) &&
          (other == op->getOperand(0) ||
           (step.operand >= 0 && !isDense(step.operand))))
        return unsupported(op);
    }
    if (auto dropout = llvm::dyn_cast<DropoutOp>(op)) {
      step.rate = dropout.getRate().convertToDouble();
      step.site = int64_t(dropout.getSite());
    }
    result.spec.epilogue.push_back(step);
    return Status::ok();
  }

  Status unsupported(mlir::Operation *op) {
    return invalidArgument(fmt::format(
        "{} at this place of a {} kernel", op->getName().getStringRef().str(),
        stringifyFamily(kernel.getFamily()).str()));
  }

  static NormForm form(NormKind kind) {
    return kind == NormKind::Layer ? NormForm::Layer : NormForm::Rms;
  }
  static RowScaleSpec rowScaleSpec(NormScaleOp op) {
    return {form(op.getKind()), op.getEps().convertToDouble()};
  }
  NormSpec normSpec(NormOp norm) {
    return {form(norm.getKind()), norm.getEps().convertToDouble(),
            number(norm.getGain()), number(norm.getShift())};
  }

  /// `normalised` is the prologue's value, null without one.
  Status addCore(mlir::Operation *op, Value normalised) {
    return llvm::TypeSwitch<mlir::Operation *, Status>(op)
        .Case([&](MatmulOp matmul) { return addMatmul(matmul, normalised); })
        .Case([&](AttentionOp attention) { return addAttention(attention); })
        .Case([&](GatherSumOp gather) {
          GatherCore core;
          for (Value index : gather.getIndices())
            core.indices.push_back(number(index));
          for (Value table : gather.getTables())
            core.tables.push_back(number(table));
          result.spec.core = core;
          return Status::ok();
        })
        .Case([&](RotaryOp rotary) { return addRotary(rotary); })
        .Case([&](SegmentSubOp sub) {
          result.spec.core =
              SegmentSubCore{number(sub.getValues()), number(sub.getBase()),
                             number(sub.getRowSplits())};
          return Status::ok();
        })
        .Default([&](mlir::Operation *other) {
          std::optional<Core> core = trainingCore(other);
          if (!core)
            return unsupported(other);
          result.spec.core = std::move(*core);
          return Status::ok();
        });
  }

  /// The cores of gradients and training steps, which have no prologue.
  std::optional<Core> trainingCore(mlir::Operation *op) {
    return llvm::TypeSwitch<mlir::Operation *, std::optional<Core>>(op)
        .Case([&](ContractRowsOp op) {
          return ContractRowsCore{number(op.getA()), number(op.getB())};
        })
        .Case([&](ColumnSumOp op) { return ColumnSumCore{number(op.getX())}; })
        .Case([&](ScatterSumOp op) {
          return ScatterSumCore{number(op.getIndex()), number(op.getX())};
        })
        .Case([&](NormGradOp op) {
          return NormGradCore{
              number(op.getX()), number(op.getGain()), number(op.getDy()),
              RowScaleSpec{form(op.getKind()), op.getEps().convertToDouble()}};
        })
        .Case([&](AttentionLseOp op) {
          AttentionGradCore core;
          core.forward = describeAttention(op);
          return core;
        })
        .Case([&](AttentionGradQOp op) {
          return gradientCore(op, AttentionPart::QueryGrad);
        })
        .Case([&](AttentionGradKvOp op) {
          return gradientCore(op, AttentionPart::KeyValueGrad);
        })
        .Case([&](HeadDotsOp op) {
          return HeadDotsCore{number(op.getA()), number(op.getB()),
                              int64_t(op.getHeads())};
        })
        .Case([&](JoinColumnsOp op) {
          JoinCore core;
          core.columns.assign(op.getOffsets().begin(), op.getOffsets().end());
          for (Value part : op.getParts())
            core.parts.push_back(number(part));
          return core;
        })
        .Case([&](MseLossOp op) {
          return LossCore{LossKind::Mse, number(op.getX()),
                          number(op.getTarget())};
        })
        .Case([&](MseGradOp op) {
          return LossCore{LossKind::Mse, number(op.getX()),
                          number(op.getTarget()), number(op.getDloss())};
        })
        .Case([&](CrossEntropyOp op) {
          return LossCore{LossKind::CrossEntropy, number(op.getLogits()),
                          number(op.getLabel())};
        })
        .Case([&](CrossEntropyGradOp op) {
          return LossCore{LossKind::CrossEntropy, number(op.getLogits()),
                          number(op.getLabel()), number(op.getDloss())};
        })
        .Case([&](SquareSumOp op) { return SquareSumCore{number(op.getX())}; })
        .Case([&](AdamwOp op) { return updateCore(op); })
        .Case([&](TransposeOp op) { return PackCore{number(op.getX()), true}; })
        .Case([&](PackPanelsOp op) {
          return PackCore{number(op.getWeight()), false,
                          int64_t(op.getPanel())};
        })
        .Case([&](FillOp op) {
          return FillCore{op.getValue().convertToDouble()};
        })
        .Default([](mlir::Operation *) { return std::nullopt; });
  }

  template <typename Op>
  AttentionGradCore gradientCore(Op op, AttentionPart part) {
    AttentionGradCore core;
    core.part = part;
    core.forward = describeAttention(op);
    core.forward.v = number(op.getV());
    core.dout = number(op.getDout());
    core.lse = number(op.getLse());
    core.delta = number(op.getDelta());
    return core;
  }

  AdamwCore updateCore(AdamwOp op) {
    return {
        number(op.getWeights()),         number(op.getMoment1()),
        number(op.getMoment2()),         number(op.getGrad()),
        number(op.getGradSquares()),     number(op.getSchedule()),
        op.getBeta1().convertToDouble(), op.getBeta2().convertToDouble(),
        op.getEps().convertToDouble(),   op.getWeightDecay().convertToDouble(),
        op.getClip().convertToDouble()};
  }

  Status addMatmul(MatmulOp matmul, Value normalised) {
    MatmulCore core;
    Value x = matmul.getX();
    if (normalised) {
      auto scale = normalised.getDefiningOp<NormScaleOp>();
      auto squares = normalised.getDefiningOp<ScaleFromSquaresOp>();
      auto norm = normalised.getDefiningOp<NormOp>();
      const bool fits = squares ? int64_t(squares.getColumns()) ==
                                      columnsOf(llvm::cast<Tensor>(x.getType()))
                        : scale ? scale.getX() == x
                                : norm && x == normalised;
      if (!fits)
        return unsupported(matmul);
      if (norm)
        x = norm.getX();
    }
    core.x = number(x);
    core.weight = number(matmul.getWeight());
    auto weight = llvm::cast<Tensor>(matmul.getWeight().getType());
    core.depth = weight.getDimSize(1);
    core.columns = matmul.getOutputColumns();
    core.panel = matmul.getColumns() ? weight.getDimSize(2) : 0;
    if (core.weight >= 0 && !isDense(core.weight))
      return invalidArgument("a slice in the place of packed weights");
    result.spec.core = core;
    return Status::ok();
  }

  Status addAttention(AttentionOp op) {
    AttentionCore core = describeAttention(op);
    core.v = number(op.getV());
    if ((core.bounds >= 0 && !isDense(core.bounds)) ||
        (core.blockMap >= 0 && !isDense(core.blockMap)))
      return invalidArgument("a slice in the place of bounds");
    result.spec.core = core;
    return Status::ok();
  }

  /// All of attention and its gradients but the values.
  template <typename Op> AttentionCore describeAttention(Op op) {
    AttentionCore core;
    auto q = llvm::cast<Tensor>(op.getQ().getType());
    auto k = llvm::cast<Tensor>(op.getK().getType());
    core.q = number(op.getQ());
    core.k = number(op.getK());
    core.rowSplits = number(op.getRowSplits());
    core.keyTime = number(op.getKeyTime());
    core.bounds = number(op.getBounds());
    core.heads = int64_t(op.getHeads());
    core.kvHeads = int64_t(op.getKvHeads());
    core.headSize = columnsOf(q) / core.heads;
    core.queries = q.getDimSize(q.getRank() - 2);
    core.keys = op.getRowSplits() ? 0 : k.getDimSize(1);
    core.sharedQuery = q.getRank() == 2;
    core.causal = op.getCausal();
    if (op.getBlockMap()) {
      core.blockMap = number(op.getBlockMap());
      core.mapBlock = int64_t(*op.getMapBlock());
      core.mapColumns =
          columnsOf(llvm::cast<Tensor>(op.getBlockMap().getType()));
    }
    if (op.getSparsity())
      core.sparsity = SparsityRule(int(*op.getSparsity()));
    core.scale = op.getScale().convertToDouble();
    const int32_t elements = core.rowSplits >= 0 ? core.rowSplits : core.k;
    core.batchSymbol = result.spec.operands[size_t(elements)].rows.symbol;
    return core;
  }

  Status addRotary(RotaryOp op) {
    auto type = llvm::cast<Tensor>(op.getX().getType());
    RotaryCore core;
    core.x = number(op.getX());
    core.position = number(op.getPosition());
    core.heads = int64_t(op.getHeads());
    core.rowsPerItem =
        op.getPosition() ? 0 : type.getDimSize(type.getRank() - 2);
    if (core.rowsPerItem == mlir::ShapedType::kDynamic)
      return invalidArgument("rotary over a dynamic dimension needs positions");
    core.offset = op.getOffset().convertToDouble();
    core.step = op.getStep().convertToDouble();
    core.periodMin = op.getPeriodMin().convertToDouble();
    core.periodMax = op.getPeriodMax().convertToDouble();
    result.spec.core = core;
    return Status::ok();
  }

  /// Whether `value` is a derived argument of `@main`.
  static bool isDerived(Value value) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    auto main = argument ? llvm::dyn_cast<mlir::func::FuncOp>(
                               argument.getOwner()->getParentOp())
                         : mlir::func::FuncOp();
    return main && main.getArgAttr(argument.getArgNumber(), kDerivedAttr);
  }

  KernelOp kernel;
  mlir::Block &body;
  SquareSumsOp squareSums;
  LoweredKernel result;
};

} // namespace

Result<LoweredKernel> lowerToSpec(KernelOp kernel) {
  Result<LoweredKernel> lowered = SpecBuilder(kernel).build();
  if (!lowered.isOk())
    return std::move(lowered).status().withContext(
        fmt::format("kernel \"{}\"", kernel.getName().str()));
  return lowered;
}

} // namespace betz
