#include "codegen/ProgramBuilder.h"

#include "codegen/LowerToSpec.h"
#include "codegen/common/KernelTable.h"
#include "codegen/cpu/LlvmObject.h"
#include "codegen/cpu/LowerKernel.h"
#include "codegen/cuda/CudaCode.h"
#include "passes/MemoryPlan.h"
#include "runtime/base/BFloat16.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace betz {

using namespace ir;
using mlir::Value;

namespace {

/// Turns the lowered modules of a model into a Program.
class ProgramBuilder {
public:
  ProgramBuilder(DType precision, const CompileOptions &options)
      : precision(precision), options(options),
        program(std::make_shared<Program>()) {}

  Result<std::shared_ptr<const Program>>
  build(std::span<const LoweredModule> modules,
        std::span<const std::string> targets) {
    for (const std::string &target : targets)
      for (const LoweredModule &lowered : modules)
        if (llvm::is_contained(lowered.targets, target)) {
          if (current != &lowered)
            BETZ_RETURN_IF_ERROR(enter(lowered));
          BETZ_RETURN_IF_ERROR(addTarget(target));
        }
    return std::shared_ptr<const Program>(program);
  }

private:
  /// Reads a module's interface. It is that of the model, so that each module
  /// says the same.
  Status enter(const LoweredModule &lowered) {
    current = &lowered;
    module = lowered.module.get();
    main = getMain(module);
    references.clear();
    derivedNames.clear();
    derivedTypes.clear();
    program->symbols = symbolsOf(module);
    program->inputs.clear();
    program->outputs.clear();
    program->states.clear();
    program->indexChecks.clear();
    program->splitsChecks.clear();
    if (auto metadata =
            module->getAttrOfType<mlir::DictionaryAttr>(kMetadataAttr))
      for (mlir::NamedAttribute entry : metadata)
        program->metadata[entry.getName().str()] =
            llvm::cast<mlir::StringAttr>(entry.getValue()).getValue().str();
    BETZ_RETURN_IF_ERROR(addStates());
    BETZ_RETURN_IF_ERROR(addInputs());
    BETZ_RETURN_IF_ERROR(addOutputs());
    return addChecks();
  }

  Result<TensorSpec> tensorSpec(std::string name, mlir::Type type) {
    auto tensor = llvm::cast<Tensor>(type);
    TensorSpec spec;
    spec.name = std::move(name);
    BETZ_ASSIGN_OR_RETURN(spec.dtype, dtypeOf(tensor.getElementType()));
    spec.shape = dimsOf(tensor, program->symbols);
    return spec;
  }

  /// An output that updates the input of its name is the same memory; and an
  /// input may be marked as a state that the step only reads.
  Status addStates() {
    mlir::Operation *end = main.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      mlir::BlockArgument argument = updatedArgument(value);
      llvm::StringRef name = getResultName(main, i, kOutputAttr);
      if (!argument ||
          getArgName(main, argument.getArgNumber(), kInputAttr) != name)
        continue;
      for (KernelOp kernel : main.getOps<KernelOp>())
        if (value.getDefiningOp()->isBeforeInBlock(kernel) &&
            llvm::any_of(kernel.getInputs(), [&](Value input) {
              return passes::baseOf(input) == argument;
            }))
          return invalidArgument(fmt::format(
              "\"{}\" is read after it is updated, by kernel \"{}\"",
              name.str(), kernel.getName().str()));
      BETZ_RETURN_IF_ERROR(addState(argument, name));
      references[value] = references[argument];
    }
    for (mlir::BlockArgument argument : main.getArguments())
      if (const unsigned i = argument.getArgNumber();
          main.getArgAttr(i, kStateAttr) && !references.count(argument))
        BETZ_RETURN_IF_ERROR(
            addState(argument, getArgName(main, i, kInputAttr)));
    return Status::ok();
  }

  Status addState(mlir::BlockArgument argument, llvm::StringRef name) {
    references[argument] = {BufferKind::State, uint32_t(program->states.size()),
                            0};
    BETZ_ASSIGN_OR_RETURN(TensorSpec spec,
                          tensorSpec(name.str(), argument.getType()));
    program->states.push_back(std::move(spec));
    return Status::ok();
  }

  /// The argument of `@main` that `value` is the next value of.
  mlir::BlockArgument updatedArgument(Value value) {
    auto kernel = value.getDefiningOp<KernelOp>();
    auto update =
        kernel ? llvm::dyn_cast<AdamwOp>(kernel.getBody().front().front())
               : AdamwOp();
    if (!update)
      return {};
    const unsigned number = llvm::cast<mlir::OpResult>(value).getResultNumber();
    return llvm::dyn_cast<mlir::BlockArgument>(
        outside(update->getOperand(number)));
  }

  Status addInputs() {
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      if (references.count(main.getArgument(i)))
        continue; // a state
      llvm::StringRef name = getArgName(main, i, kInputAttr);
      if (name.empty()) {
        references[main.getArgument(i)] = {BufferKind::Derived,
                                           uint32_t(derivedNames.size()), 0};
        derivedNames.push_back(getArgName(main, i, kDerivedAttr).str());
        derivedTypes.push_back(main.getArgument(i).getType());
        continue;
      }
      InputSpec input;
      BETZ_ASSIGN_OR_RETURN(
          input.tensor, tensorSpec(name.str(), main.getArgument(i).getType()));
      input.alias = getArgName(main, i, kAliasAttr).str();
      if (auto value =
              main.getArgAttrOfType<mlir::IntegerAttr>(i, kDefaultAttr))
        input.defaultValue = int32_t(value.getInt());
      references[main.getArgument(i)] = {BufferKind::Input,
                                         uint32_t(program->inputs.size()), 0};
      program->inputs.push_back(std::move(input));
    }
    return Status::ok();
  }

  Status addOutputs() {
    mlir::Operation *end = main.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      std::string name = getResultName(main, i, kOutputAttr).str();
      if (auto known = references.find(value);
          known != references.end() && known->second.kind == BufferKind::State)
        continue;
      for (Value view = value; view != passes::baseOf(value);
           view = view.getDefiningOp()->getOperand(0))
        if (view.getDefiningOp<SliceOp>())
          return invalidArgument(
              fmt::format("output \"{}\" is a slice of a larger tensor", name));
      Value base = passes::baseOf(value);
      if (!base.getDefiningOp<KernelOp>() || references.count(base))
        return invalidArgument(fmt::format(
            "output \"{}\" must be the result of a kernel of its own", name));
      references[base] = {BufferKind::Output, uint32_t(program->outputs.size()),
                          0};
      BETZ_ASSIGN_OR_RETURN(TensorSpec spec, tensorSpec(name, value.getType()));
      program->outputs.push_back(std::move(spec));
    }
    return Status::ok();
  }

  std::optional<uint32_t> inputNumber(Value value) {
    auto found = references.find(value);
    if (found == references.end() || found->second.kind != BufferKind::Input)
      return std::nullopt;
    return found->second.index;
  }

  /// Every op that indexes memory by an input's values leaves a check for the
  /// host; one whose indices cannot be traced to inputs is refused.
  Status addChecks() {
    Status status;
    main.walk([&](mlir::Operation *op) {
      if (!status.isOk())
        return;
      if (auto gather = llvm::dyn_cast<GatherSumOp>(op))
        for (auto [index, table] :
             llvm::zip_equal(gather.getIndices(), gather.getTables()))
          if (status.isOk())
            status = addIndexCheck(
                outside(index),
                llvm::cast<Tensor>(table.getType()).getDimSize(0));
      if (auto scatter = llvm::dyn_cast<ScatterSumOp>(op))
        status =
            addIndexCheck(outside(scatter.getIndex()),
                          llvm::cast<Tensor>(scatter.getType()).getDimSize(0));
      llvm::TypeSwitch<mlir::Operation *>(op)
          .Case<AttentionOp, AttentionLseOp, AttentionGradQOp,
                AttentionGradKvOp>([&](auto attention) {
            if (attention.getRowSplits())
              status = addSplitsCheck(
                  outside(attention.getRowSplits()),
                  getRows(llvm::cast<Tensor>(attention.getK().getType())));
          });
      if (auto sub = llvm::dyn_cast<SegmentSubOp>(op))
        status = addSplitsCheck(
            outside(sub.getRowSplits()),
            getRows(llvm::cast<Tensor>(sub.getValues().getType())));
    });
    return status;
  }

  /// A value inside a kernel as @main knows it.
  Value outside(Value value) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    auto kernel =
        argument ? llvm::dyn_cast<KernelOp>(argument.getOwner()->getParentOp())
                 : KernelOp();
    return kernel ? kernel.getInputs()[argument.getArgNumber()] : value;
  }

  Status addIndexCheck(Value index, int64_t below) {
    IndexCheck check;
    check.below = below;
    if (std::optional<uint32_t> input = inputNumber(index)) {
      check.input = *input;
    } else if (SegmentSubOp sub = definingSegmentSub(index)) {
      check.input = *inputNumber(outside(sub.getValues()));
      check.baseInput = inputNumber(outside(sub.getBase()));
      check.splitsInput = inputNumber(outside(sub.getRowSplits()));
    } else {
      return invalidArgument(
          "gather_sum and scatter_sum need indices that are inputs, or inputs "
          "less their segment's base");
    }
    for (const IndexCheck &known : program->indexChecks)
      if (known.input == check.input && known.baseInput == check.baseInput &&
          known.below <= check.below)
        return Status::ok();
    program->indexChecks.push_back(check);
    return Status::ok();
  }

  /// The segment_sub of inputs whose kernel's result `index` is.
  SegmentSubOp definingSegmentSub(Value index) {
    auto kernel = index.getDefiningOp<KernelOp>();
    if (!kernel)
      return nullptr;
    mlir::Block &body = kernel.getBody().front();
    auto sub = llvm::dyn_cast<SegmentSubOp>(body.front());
    if (!sub || body.getTerminator()->getOperand(0) != sub.getResult())
      return nullptr;
    for (Value operand : sub->getOperands())
      if (!inputNumber(outside(operand)))
        return nullptr;
    return sub;
  }

  Status addSplitsCheck(Value splits, RowsAttr rows) {
    std::optional<uint32_t> input = inputNumber(splits);
    if (!input || !rows)
      return invalidArgument("row_splits must be an input");
    auto symbol = std::find(program->symbols.begin(), program->symbols.end(),
                            rows.getSymbol().str());
    SplitsCheck check{*input, int32_t(symbol - program->symbols.begin()),
                      options.maxEvents};
    for (const SplitsCheck &known : program->splitsChecks)
      if (known.input == check.input && known.rowsSymbol == check.rowsSymbol)
        return Status::ok();
    program->splitsChecks.push_back(check);
    return Status::ok();
  }

  Status addTarget(const std::string &name) {
    TargetVariant target;
    target.target = name;
    setTarget(module, name, precision);
    target.irText = printModule(module);
    BETZ_RETURN_IF_ERROR(addDerived(target));
    addEmptyPlans(target);
    KernelTable table;
    const cuda::Architecture *cuda = cuda::findArchitecture(name);
    for (KernelOp kernel : main.getOps<KernelOp>()) {
      BETZ_ASSIGN_OR_RETURN(LoweredKernel lowered, lowerToSpec(kernel));
      BETZ_RETURN_IF_ERROR(
          checkPanels(kernel, lowered.spec, cuda ? 0 : cpu::kMicroColumns));
      for (size_t bucket = 0; bucket < target.plans.size(); ++bucket) {
        KernelSpec spec = lowered.spec;
        LaunchPlan &plan = target.plans[bucket];
        if (cuda)
          cuda::chooseTile(spec, *cuda, plan.capacity);
        else
          cpu::chooseTile(spec);
        addLaunch(plan, bucket, lowered, addKernel(table, kernel, spec));
      }
    }
    target.kernels = table.entries();
    BETZ_RETURN_IF_ERROR(cuda ? addCudaCode(target, table.specs(), *cuda)
                              : addCpuCode(target, table.specs()));
    program->targets.push_back(std::move(target));
    return Status::ok();
  }

  uint32_t addKernel(KernelTable &table, KernelOp kernel,
                     const KernelSpec &spec) {
    const size_t known = table.entries().size();
    const uint32_t number =
        table.add(kernel.getName().str(), kernel.getSection().str(), spec);
    if (table.entries().size() > known)
      options.observer->onKernel(table.entries()[number], spec);
    return number;
  }

  static Status checkPanels(KernelOp kernel, const KernelSpec &spec,
                            int64_t panel) {
    const auto *core = std::get_if<MatmulCore>(&spec.core);
    if (!core || core->panel == panel)
      return Status::ok();
    if (panel == 0)
      return invalidArgument(
          fmt::format("kernel \"{}\": its weight is packed in panels, as for "
                      "the CPU",
                      kernel.getName().str()));
    return invalidArgument(
        fmt::format("kernel \"{}\": its weight is not packed in panels of {} "
                    "columns",
                    kernel.getName().str(), panel));
  }

  Status addCpuCode(TargetVariant &target,
                    const std::map<std::string, KernelSpec> &specs) {
    for (const cpu::IsaLevel &isa : cpu::isaLevels()) {
      if (options.forThisMachine &&
          (!target.executables.empty() || !cpu::runsHere(isa)))
        continue;
      BETZ_ASSIGN_OR_RETURN(
          std::vector<std::byte> code,
          cpu::buildExecutable(specs, isa, *options.observer));
      target.executables.push_back(
          {isa.name, own(std::string("code.") + isa.name, std::move(code))});
    }
    return Status::ok();
  }

  Status addCudaCode(TargetVariant &target,
                     const std::map<std::string, KernelSpec> &specs,
                     const cuda::Architecture &architecture) {
    BETZ_ASSIGN_OR_RETURN(
        auto executables,
        cuda::buildExecutables(specs, architecture, *options.observer));
    for (auto &[isa, code] : executables)
      target.executables.push_back({isa, own("code." + isa, std::move(code))});
    return Status::ok();
  }

  Section own(std::string name, std::vector<std::byte> bytes) {
    auto shared =
        std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    program->ownedBytes.push_back(shared);
    return {std::move(name), *shared};
  }

  /// Targets of one module share the bytes.
  Status addDerived(TargetVariant &target) {
    for (const auto &[module, other] : derivedOwners)
      if (module == current) {
        target.derived = program->targets[other].derived;
        target.derivedData = program->targets[other].derivedData;
        return Status::ok();
      }
    derivedOwners.emplace_back(current, program->targets.size());
    std::vector<std::byte> bytes;
    for (auto [name, type] : llvm::zip_equal(derivedNames, derivedTypes)) {
      DerivedTensor tensor;
      BETZ_ASSIGN_OR_RETURN(tensor.tensor, tensorSpec(name, type));
      bytes.resize((bytes.size() + kTensorAlignment - 1) / kTensorAlignment *
                   kTensorAlignment);
      tensor.offset = int64_t(bytes.size());
      BETZ_RETURN_IF_ERROR(
          appendValues(bytes, current->derived.at(name), tensor.tensor.dtype)
              .withContext("derived value \"" + name + "\""));
      target.derived.push_back(std::move(tensor));
    }
    target.derivedData = own("derived", std::move(bytes));
    return Status::ok();
  }

  static Status appendValues(std::vector<std::byte> &bytes,
                             const reference::Tensor &values, DType dtype) {
    size_t start = bytes.size();
    if (dtype == DType::I32) {
      bytes.resize(start + values.integer.size() * 4);
      std::memcpy(bytes.data() + start, values.integer.data(),
                  values.integer.size() * 4);
      return Status::ok();
    }
    if (dtype == DType::BF16) {
      bytes.resize(start + values.real.size() * 2);
      auto *at = reinterpret_cast<uint16_t *>(bytes.data() + start);
      for (double value : values.real)
        *at++ = toBFloat16(value);
      return Status::ok();
    }
    if (dtype != DType::F32)
      return invalidArgument("only f32, bf16 and i32 can be stored");
    bytes.resize(start + values.real.size() * 4);
    auto *at = reinterpret_cast<float *>(bytes.data() + start);
    for (double value : values.real)
      *at++ = float(value);
    return Status::ok();
  }

  void addEmptyPlans(TargetVariant &target) {
    for (mlir::Attribute attribute :
         module->getAttrOfType<mlir::ArrayAttr>(kBucketsAttr)) {
      auto bucket = llvm::cast<BucketAttr>(attribute);
      target.plans.push_back(
          {bucket.getCapacity().vec(), int64_t(bucket.getArena()), {}});
    }
  }

  void addLaunch(LaunchPlan &plan, size_t bucket, const LoweredKernel &lowered,
                 uint32_t kernel) {
    Launch launch;
    launch.kernel = kernel;
    for (auto [value, offset] :
         llvm::zip_equal(lowered.operands, lowered.offsets)) {
      BufferRef &operand =
          launch.operands.emplace_back(reference(value, bucket));
      operand.offset += offset;
    }
    plan.launches.push_back(std::move(launch));
  }

  BufferRef reference(Value value, size_t bucket) {
    if (auto found = references.find(value); found != references.end())
      return found->second;
    auto result = llvm::cast<mlir::OpResult>(value);
    auto kernel = llvm::cast<KernelOp>(result.getOwner());
    auto row =
        llvm::cast<mlir::DenseI64ArrayAttr>(kernel.getOffsetsAttr()[bucket]);
    return {BufferKind::Arena, 0, row[result.getResultNumber()]};
  }

  const DType precision;
  const CompileOptions &options;
  std::shared_ptr<Program> program;
  /// Modules and the first target of each.
  std::vector<std::pair<const LoweredModule *, size_t>> derivedOwners;

  // The module that targets are added from.
  const LoweredModule *current = nullptr;
  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  llvm::DenseMap<Value, BufferRef> references;
  std::vector<std::string> derivedNames;
  std::vector<mlir::Type> derivedTypes;
};

} // namespace

void setTarget(mlir::ModuleOp module, llvm::StringRef target, DType precision) {
  if (!cuda::findArchitecture(target))
    return;
  mlir::Builder builder(module.getContext());
  module->setAttr(kTargetAttr, builder.getStringAttr(target));
  module->setAttr(kPrecisionAttr,
                  builder.getStringAttr(std::string(toString(precision))));
}

Result<std::shared_ptr<const Program>>
buildProgram(std::span<const LoweredModule> modules,
             std::span<const std::string> targets, DType precision,
             const CompileOptions &options) {
  return ProgramBuilder(precision, options).build(modules, targets);
}

} // namespace betz
