#include "passes/MemoryPlan.h"

#include "llvm/Support/MathExtras.h"

namespace betz::passes {

using namespace ir;
using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;
using mlir::Value;

Value baseOf(Value value) {
  while (mlir::Operation *op = value.getDefiningOp()) {
    if (!llvm::isa<SliceOp, ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool isOutput(Value value) {
  return llvm::any_of(value.getUsers(), [](mlir::Operation *user) {
    return llvm::isa<mlir::func::ReturnOp>(user) ||
           (llvm::isa<SliceOp, ReshapeOp>(user) &&
            isOutput(user->getResult(0)));
  });
}

llvm::SmallVector<LiveBuffer> findLiveBuffers(mlir::func::FuncOp main) {
  llvm::SmallVector<LiveBuffer> buffers;
  llvm::DenseMap<Value, size_t> byValue;
  int64_t launch = 0;
  for (KernelOp kernel : main.getOps<KernelOp>()) {
    for (Value input : kernel.getInputs())
      if (auto found = byValue.find(baseOf(input)); found != byValue.end())
        buffers[found->second].last = launch;
    for (mlir::OpResult result : kernel.getResults()) {
      if (isOutput(result))
        continue;
      byValue[result] = buffers.size();
      buffers.push_back({kernel, result.getResultNumber(),
                         llvm::cast<Tensor>(result.getType()), launch, launch});
    }
    ++launch;
  }
  return buffers;
}

int64_t bytesInBucket(Tensor type, mlir::ModuleOp module,
                      llvm::ArrayRef<int64_t> capacity) {
  int64_t rows = 1, bytes = 0;
  if (RowsAttr attr = getRows(type)) {
    auto symbols = module->getAttrOfType<mlir::ArrayAttr>(kSymbolsAttr);
    for (auto [symbol, limit] : llvm::zip_equal(symbols, capacity))
      if (llvm::cast<mlir::StringAttr>(symbol).getValue() == attr.getSymbol())
        if (llvm::AddOverflow(limit, attr.getPlus(), rows))
          return -1;
  }
  int64_t width = type.getElementType().getIntOrFloatBitWidth() / 8;
  if (llvm::MulOverflow(rows, elementsPerRow(type) * width, bytes))
    return -1;
  return bytes;
}

namespace {

LogicalResult verifyBuckets(mlir::ModuleOp module, mlir::ArrayAttr buckets) {
  size_t symbols = module->getAttrOfType<mlir::ArrayAttr>(kSymbolsAttr).size();
  if (!buckets || buckets.empty())
    return module.emitError("betz.buckets must list at least one bucket");
  for (mlir::Attribute attr : buckets) {
    auto bucket = llvm::dyn_cast<BucketAttr>(attr);
    if (!bucket || bucket.getCapacity().size() != symbols ||
        bucket.getArena() < 0 ||
        llvm::any_of(bucket.getCapacity(), [](int64_t c) { return c < 1; }))
      return module.emitError("betz.buckets: ")
             << attr << " is no bucket of this module";
  }
  return success();
}

/// The offset of a result in bucket `bucket`, or -2 if there is none.
int64_t offsetOf(KernelOp kernel, unsigned result, size_t bucket) {
  mlir::ArrayAttr offsets = kernel.getOffsetsAttr();
  if (!offsets || bucket >= offsets.size())
    return -2;
  auto row = llvm::cast<mlir::DenseI64ArrayAttr>(offsets[bucket]);
  return result < row.size() ? row[result] : -2;
}

} // namespace

LogicalResult verifyMemoryPlan(mlir::ModuleOp module) {
  auto buckets = module->getAttrOfType<mlir::ArrayAttr>(kBucketsAttr);
  if (failed(verifyBuckets(module, buckets)))
    return failure();
  for (KernelOp kernel : getMain(module).getOps<KernelOp>())
    for (mlir::OpResult result : kernel.getResults())
      for (size_t b = 0; b < buckets.size(); ++b) {
        int64_t offset = offsetOf(kernel, result.getResultNumber(), b);
        if (offset == -2 || (offset == -1) != isOutput(result))
          return kernel.emitError("needs an arena offset in bucket ")
                 << b << ", or -1 for an output";
      }
  llvm::SmallVector<LiveBuffer> buffers = findLiveBuffers(getMain(module));
  for (size_t b = 0; b < buckets.size(); ++b) {
    auto bucket = llvm::cast<BucketAttr>(buckets[b]);
    for (size_t i = 0; i < buffers.size(); ++i) {
      int64_t start = offsetOf(buffers[i].kernel, buffers[i].result, b);
      int64_t size =
          bytesInBucket(buffers[i].type, module, bucket.getCapacity());
      if (start < 0 || start % kArenaAlignment != 0 || size < 0 ||
          start > bucket.getArena() - size)
        return buffers[i].kernel.emitError("lies outside the arena of bucket ")
               << b << " or is not aligned";
      for (size_t j = 0; j < i; ++j) {
        int64_t other = offsetOf(buffers[j].kernel, buffers[j].result, b);
        int64_t otherSize =
            bytesInBucket(buffers[j].type, module, bucket.getCapacity());
        bool together = buffers[i].first <= buffers[j].last &&
                        buffers[j].first <= buffers[i].last;
        if (together && start < other + otherSize && other < start + size)
          return buffers[i].kernel.emitError("overlaps \"")
                 << buffers[j].kernel.getName() << "\" in bucket " << b;
      }
    }
  }
  return success();
}

} // namespace betz::passes
