#include "codegen/Compiler.h"

#include "codegen/LowerToSpec.h"
#include "codegen/cpu/LlvmObject.h"
#include "codegen/cpu/LowerKernel.h"
#include "ir/reference/Interpreter.h"
#include "passes/MemoryPlan.h"
#include "passes/Passes.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <set>

namespace betz {

using namespace ir;
using mlir::Value;

namespace {

/// Larger buckets would overflow 32-bit row splits.
constexpr int64_t kLargestBucket = int64_t(1) << 30;

passes::PipelineOptions pipelineOptions(mlir::ModuleOp module,
                                        const CompileOptions &options) {
  passes::PipelineOptions pipeline;
  pipeline.panel = cpu::kMicroColumns;
  for (int64_t batch : options.batches) {
    std::vector<int64_t> capacity;
    for (const std::string &symbol : symbolsOf(module))
      capacity.push_back(symbol == "batch" ? batch : batch * options.maxEvents);
    pipeline.buckets.push_back(std::move(capacity));
  }
  pipeline.onPass = [&options](const passes::PassEvent &event) {
    options.observer->onPass(event.pass, toString(getPhase(event.module)),
                             event.failed, event.seconds,
                             [&] { return printModule(event.module); });
  };
  return pipeline;
}

/// Turns a program-phase module into a Program.
class ProgramBuilder {
public:
  ProgramBuilder(mlir::ModuleOp module, const reference::TensorMap &derived,
                 const CompileOptions &options)
      : module(module), main(getMain(module)), derived(derived),
        options(options), program(std::make_shared<Program>()) {}

  Result<std::shared_ptr<const Program>> build() {
    program->symbols = symbolsOf(module);
    program->irText = printModule(module);
    if (auto metadata =
            module->getAttrOfType<mlir::DictionaryAttr>(kMetadataAttr))
      for (mlir::NamedAttribute entry : metadata)
        program->metadata[entry.getName().str()] =
            llvm::cast<mlir::StringAttr>(entry.getValue()).getValue().str();
    BETZ_RETURN_IF_ERROR(addInputs());
    BETZ_RETURN_IF_ERROR(addOutputs());
    BETZ_RETURN_IF_ERROR(addChecks());
    for (const std::string &target : options.targets)
      BETZ_RETURN_IF_ERROR(addTarget(target));
    return std::shared_ptr<const Program>(program);
  }

private:
  Result<TensorSpec> tensorSpec(std::string name, mlir::Type type) {
    auto tensor = llvm::cast<Tensor>(type);
    TensorSpec spec;
    spec.name = std::move(name);
    BETZ_ASSIGN_OR_RETURN(spec.dtype, dtypeOf(tensor.getElementType()));
    spec.shape = dimsOf(tensor, program->symbols);
    return spec;
  }

  Status addInputs() {
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
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
      for (Value view = value; view != passes::baseOf(value);
           view = view.getDefiningOp()->getOperand(0))
        if (view.getDefiningOp<SliceOp>())
          return invalidArgument(
              fmt::format("output \"{}\" is a slice of a larger tensor", name));
      Value base = passes::baseOf(value);
      if (!base.getDefiningOp<KernelOp>() || references.count(base))
        return invalidArgument(fmt::format(
            "output \"{}\" must be the result of a kernel of its own", name));
      references[base] = {BufferKind::Output, uint32_t(i), 0};
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
      if (auto attention = llvm::dyn_cast<AttentionOp>(op))
        if (attention.getRowSplits())
          status = addSplitsCheck(
              outside(attention.getRowSplits()),
              getRows(llvm::cast<Tensor>(attention.getK().getType())));
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
      return invalidArgument("gather_sum needs indices that are inputs, or "
                             "inputs less their segment's base");
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
    BETZ_RETURN_IF_ERROR(addDerived(target));
    std::map<std::string, KernelSpec> specs;
    std::vector<std::vector<Value>> operands;
    for (KernelOp kernel : main.getOps<KernelOp>()) {
      BETZ_ASSIGN_OR_RETURN(LoweredKernel lowered, lowerToSpec(kernel));
      if (const auto *core = std::get_if<MatmulCore>(&lowered.spec.core))
        if (core->panel != cpu::kMicroColumns)
          return invalidArgument(
              fmt::format("kernel \"{}\": its weight is not packed in panels "
                          "of {} columns",
                          kernel.getName().str(), cpu::kMicroColumns));
      cpu::chooseTile(lowered.spec);
      KernelSpecEntry entry;
      entry.name = kernel.getName().str();
      entry.section = kernel.getSection().str();
      entry.code = codeName(lowered.spec);
      entry.tasks = taskSpace(lowered.spec);
      entry.spec = toJson(lowered.spec).dump();
      options.observer->onKernel(entry, lowered.spec);
      specs.emplace(entry.code, std::move(lowered.spec));
      target.kernels.push_back(std::move(entry));
      operands.push_back(std::move(lowered.operands));
    }
    addPlans(target, operands);
    for (const cpu::IsaLevel &isa : cpu::isaLevels()) {
      BETZ_ASSIGN_OR_RETURN(
          std::vector<std::byte> code,
          cpu::buildExecutable(specs, isa, *options.observer));
      target.executables.push_back(
          {isa.name, own(std::string("code.") + isa.name, std::move(code))});
    }
    program->targets.push_back(std::move(target));
    return Status::ok();
  }

  Section own(std::string name, std::vector<std::byte> bytes) {
    auto shared =
        std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    program->ownedBytes.push_back(shared);
    return {std::move(name), *shared};
  }

  Status addDerived(TargetVariant &target) {
    std::vector<std::byte> bytes;
    for (auto [name, type] : llvm::zip_equal(derivedNames, derivedTypes)) {
      DerivedTensor tensor;
      BETZ_ASSIGN_OR_RETURN(tensor.tensor, tensorSpec(name, type));
      bytes.resize((bytes.size() + kTensorAlignment - 1) / kTensorAlignment *
                   kTensorAlignment);
      tensor.offset = int64_t(bytes.size());
      BETZ_RETURN_IF_ERROR(
          appendValues(bytes, derived.at(name), tensor.tensor.dtype)
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
    if (dtype != DType::F32)
      return invalidArgument("only f32 and i32 can be stored");
    bytes.resize(start + values.real.size() * 4);
    auto *at = reinterpret_cast<float *>(bytes.data() + start);
    for (double value : values.real)
      *at++ = float(value);
    return Status::ok();
  }

  void addPlans(TargetVariant &target,
                const std::vector<std::vector<Value>> &operands) {
    auto buckets = module->getAttrOfType<mlir::ArrayAttr>(kBucketsAttr);
    for (size_t b = 0; b < buckets.size(); ++b) {
      auto bucket = llvm::cast<BucketAttr>(buckets[b]);
      LaunchPlan plan;
      plan.capacity = bucket.getCapacity().vec();
      plan.arenaBytes = bucket.getArena();
      for (size_t k = 0; k < operands.size(); ++k) {
        Launch launch;
        launch.kernel = uint32_t(k);
        for (Value value : operands[k])
          launch.operands.push_back(reference(value, b));
        plan.launches.push_back(std::move(launch));
      }
      target.plans.push_back(std::move(plan));
    }
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

  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  const reference::TensorMap &derived;
  const CompileOptions &options;
  std::shared_ptr<Program> program;
  llvm::DenseMap<Value, BufferRef> references;
  std::vector<std::string> derivedNames;
  std::vector<mlir::Type> derivedTypes;
};

} // namespace

Status checkCompileOptions(const CompileOptions &options) {
  for (const std::string &target : options.targets)
    if (target != "cpu")
      return invalidArgument(fmt::format(
          "unknown target \"{}\"; this build compiles for: cpu", target));
  if (options.targets.empty())
    return invalidArgument("no target; this build compiles for: cpu");
  if (std::set<std::string>(options.targets.begin(), options.targets.end())
          .size() != options.targets.size())
    return invalidArgument("a target is named twice");
  if (options.batches.empty() || options.batches.front() < 1)
    return invalidArgument("batches must be positive, for example 1,8,32");
  for (size_t i = 1; i < options.batches.size(); ++i)
    if (options.batches[i] <= options.batches[i - 1])
      return invalidArgument("batches must ascend, for example 1,8,32");
  if (options.maxEvents < 1 || options.maxEvents > kLargestBucket ||
      options.batches.back() > kLargestBucket / options.maxEvents)
    return invalidArgument(
        fmt::format("max-events must be positive, and with the largest batch "
                    "at most {} events",
                    kLargestBucket));
  return Status::ok();
}

Status lowerModule(mlir::ModuleOp module, Phase phase,
                   const CompileOptions &options) {
  BETZ_RETURN_IF_ERROR(checkCompileOptions(options));
  Stopwatch watch;
  options.observer->onInput(toString(getPhase(module)),
                            [&] { return printModule(module); });
  BETZ_RETURN_IF_ERROR(passes::verifyPhase(module));
  Status status =
      passes::lowerTo(phase, module, pipelineOptions(module, options));
  options.observer->onStage("lower", watch.seconds());
  return status;
}

Result<std::shared_ptr<const Program>>
compileModule(mlir::ModuleOp module, const reference::TensorMap &weights,
              const CompileOptions &options) {
  BETZ_RETURN_IF_ERROR(lowerModule(module, Phase::Program, options));
  Stopwatch watch;
  BETZ_ASSIGN_OR_RETURN(reference::TensorMap derived,
                        reference::runPrepare(module, weights));
  options.observer->onStage("prepare", watch.seconds());
  return ProgramBuilder(module, derived, options).build();
}

} // namespace betz
