#include "passes/MemoryPlan.h"
#include "passes/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace betz::passes {

#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Passes.h.inc"

using namespace ir;

namespace {

struct Placement {
  size_t buffer;
  int64_t offset, size;
};

/// First fit by decreasing size: the lowest offset that is free for the
/// buffer's whole life. Returns the arena's size.
int64_t place(llvm::ArrayRef<LiveBuffer> buffers, llvm::ArrayRef<int64_t> sizes,
              llvm::MutableArrayRef<int64_t> offsets) {
  llvm::SmallVector<size_t> order =
      llvm::to_vector(llvm::seq<size_t>(0, buffers.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(-sizes[a], a) < std::pair(-sizes[b], b);
  });
  llvm::SmallVector<Placement> placed; // ascending offset
  int64_t arena = 0;
  for (size_t i : order) {
    int64_t offset = 0;
    for (const Placement &other : placed) {
      bool together = buffers[i].first <= buffers[other.buffer].last &&
                      buffers[other.buffer].first <= buffers[i].last;
      if (together && offset + sizes[i] > other.offset)
        offset = std::max(offset, other.offset + other.size);
    }
    offsets[i] = offset;
    Placement placement{i, offset, sizes[i]};
    placed.insert(llvm::upper_bound(placed, placement,
                                    [](const auto &a, const auto &b) {
                                      return a.offset < b.offset;
                                    }),
                  placement);
    arena = std::max(arena, offset + sizes[i]);
  }
  return arena;
}

struct PlanMemoryPass : impl::PlanMemoryPassBase<PlanMemoryPass> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    llvm::SmallVector<LiveBuffer> buffers = findLiveBuffers(getMain(module));
    llvm::SmallVector<mlir::Attribute> bucketAttrs;
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Attribute>> rows;
    for (const std::string &text : this->buckets) {
      llvm::SmallVector<int64_t> capacity;
      if (mlir::failed(parseCapacity(text, capacity)))
        return signalPassFailure();
      llvm::SmallVector<int64_t> sizes, offsets(buffers.size());
      for (const LiveBuffer &buffer : buffers) {
        int64_t bytes = bytesInBucket(buffer.type, module, capacity);
        if (bytes < 0 || bytes > (int64_t(1) << 46)) {
          buffer.kernel->emitError("its result is too large in bucket ")
              << text;
          return signalPassFailure();
        }
        sizes.push_back(int64_t(llvm::alignTo(bytes, kArenaAlignment)));
      }
      int64_t arena = place(buffers, sizes, offsets);
      bucketAttrs.push_back(
          BucketAttr::get(module.getContext(), capacity, arena));
      addRows(module, buffers, offsets, rows);
    }
    for (auto &[kernel, offsets] : rows)
      llvm::cast<KernelOp>(kernel).setOffsetsAttr(
          mlir::ArrayAttr::get(module.getContext(), offsets));
    module->setAttr(kBucketsAttr,
                    mlir::ArrayAttr::get(module.getContext(), bucketAttrs));
    setPhase(module, Phase::Program);
  }

  mlir::LogicalResult parseCapacity(llvm::StringRef text,
                                    llvm::SmallVector<int64_t> &capacity) {
    llvm::SmallVector<llvm::StringRef> parts;
    text.split(parts, 'x');
    auto symbols = getOperation()->getAttrOfType<mlir::ArrayAttr>(kSymbolsAttr);
    for (llvm::StringRef part : parts) {
      int64_t value = 0;
      if (part.getAsInteger(10, value) || value < 1)
        return getOperation().emitError("bucket \"")
               << text
               << "\" is not a "
                  "list of capacities such as 8x32768";
      capacity.push_back(value);
    }
    if (capacity.size() != symbols.size())
      return getOperation().emitError("bucket \"")
             << text << "\" must have one capacity for each of the "
             << symbols.size() << " symbols";
    return mlir::success();
  }

  /// Appends this bucket's row of offsets to every kernel.
  void addRows(mlir::ModuleOp module, llvm::ArrayRef<LiveBuffer> buffers,
               llvm::ArrayRef<int64_t> offsets,
               llvm::DenseMap<mlir::Operation *,
                              llvm::SmallVector<mlir::Attribute>> &rows) {
    llvm::DenseMap<mlir::Value, int64_t> offsetOf;
    for (auto [buffer, offset] : llvm::zip_equal(buffers, offsets))
      offsetOf[KernelOp(buffer.kernel)->getResult(buffer.result)] = offset;
    for (KernelOp kernel : getMain(module).getOps<KernelOp>()) {
      llvm::SmallVector<int64_t> row;
      for (mlir::Value result : kernel.getResults()) {
        auto found = offsetOf.find(result);
        row.push_back(found == offsetOf.end() ? -1 : found->second);
      }
      rows[kernel].push_back(
          mlir::DenseI64ArrayAttr::get(module.getContext(), row));
    }
  }
};

} // namespace
} // namespace betz::passes
