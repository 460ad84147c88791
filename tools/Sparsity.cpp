#include "tools/Sparsity.h"

#include "codegen/LowerToSpec.h"
#include "codegen/cpu/LowerKernel.h"
#include "ir/reference/Interpreter.h"
#include "runtime/base/Log.h"
#include "tools/DecoderInfo.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace betz {

using namespace ir;

namespace {

//===----------------------------------------------------------------------===//
// The attention
//===----------------------------------------------------------------------===//

/// What @prepare returns for an argument of @main; null for an input.
mlir::Value derivedValue(mlir::ModuleOp module, mlir::Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  if (!argument)
    return nullptr;
  llvm::StringRef name =
      getArgName(getMain(module), argument.getArgNumber(), kDerivedAttr);
  mlir::func::FuncOp prepare = getPrepare(module);
  mlir::Operation *end = prepare.getBody().front().getTerminator();
  for (auto [i, result] : llvm::enumerate(end->getOperands()))
    if (!name.empty() && getResultName(prepare, i, kDerivedAttr) == name)
      return result;
  return nullptr;
}

Status readBounds(mlir::ModuleOp module, mlir::Value value,
                  AttentionBlocks &attention) {
  mlir::Value derived = derivedValue(module, value);
  auto op = derived ? derived.getDefiningOp<ReachBoundsOp>() : ReachBoundsOp();
  if (!op)
    return invalidArgument(fmt::format(
        "kernel \"{}\": its bounds are not those of betz.reach_bounds",
        attention.kernel));
  BETZ_ASSIGN_OR_RETURN(std::vector<reference::Tensor> bounds,
                        reference::evaluate(op, {}));
  const std::vector<int32_t> &values = bounds.front().integer;
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    attention.bounds.emplace_back(values[i], values[i + 1]);
  return Status::ok();
}

/// The first attention whose keys are a window's events.
Result<AttentionBlocks> findAttention(mlir::ModuleOp module) {
  for (KernelOp kernel : getMain(module).getOps<KernelOp>()) {
    BETZ_ASSIGN_OR_RETURN(LoweredKernel lowered, lowerToSpec(kernel));
    const auto *core = std::get_if<AttentionCore>(&lowered.spec.core);
    if (!core || core->rowSplits < 0)
      continue;
    cpu::chooseTile(lowered.spec);
    AttentionBlocks attention;
    attention.kernel = kernel.getName().str();
    attention.queries = core->queries;
    attention.queryBlock = lowered.spec.tile.rows;
    attention.keyBlock = lowered.spec.plan.keyBlock;
    attention.skips = core->sparsity >= SparsityRule::TimeBounds;
    if (core->bounds >= 0)
      BETZ_RETURN_IF_ERROR(readBounds(
          module, lowered.operands[size_t(core->bounds)], attention));
    return attention;
  }
  return invalidArgument("the model has no attention to events");
}

/// Counts one block: queries from `query` on, keys at `times`.
BlockCount countBlock(const AttentionBlocks &attention, int64_t query,
                      std::span<const int32_t> times) {
  int64_t end = std::min(query + attention.queryBlock, attention.queries);
  BlockCount count;
  count.elements = (end - query) * int64_t(times.size());
  if (attention.bounds.empty()) {
    count.seen = count.elements;
    return count;
  }
  int32_t earliest = std::numeric_limits<int32_t>::max();
  int32_t latest = std::numeric_limits<int32_t>::min();
  for (int64_t q = query; q < end; ++q) {
    auto [first, last] = attention.bounds[size_t(q)];
    earliest = std::min(earliest, first);
    latest = std::max(latest, last);
    count.seen += std::ranges::count_if(
        times, [&](int32_t time) { return first <= time && time <= last; });
  }
  auto [low, high] = std::ranges::minmax(times);
  count.isComputed = !attention.skips || (low <= latest && earliest <= high);
  return count;
}

//===----------------------------------------------------------------------===//
// The recording
//===----------------------------------------------------------------------===//

Metadata metadataOf(mlir::ModuleOp module) {
  Metadata metadata;
  if (auto entries = module->getAttrOfType<mlir::DictionaryAttr>(kMetadataAttr))
    for (mlir::NamedAttribute entry : entries)
      metadata[entry.getName().str()] =
          llvm::cast<mlir::StringAttr>(entry.getValue()).getValue().str();
  return metadata;
}

/// Checks the numbers asked for, or picks the first window with events.
Result<std::vector<int64_t>> chooseWindows(const WindowReader &reader,
                                           int64_t count,
                                           std::vector<int64_t> asked) {
  for (int64_t window : asked)
    if (window < 0 || window >= count)
      return invalidArgument(fmt::format(
          "--window {}: the recording has windows 0 to {}", window, count - 1));
  for (int64_t i = 0; i < count && asked.empty(); ++i)
    if (reader.eventsIn(i) > 0)
      asked.push_back(i);
  if (asked.empty())
    return invalidArgument("no window of the recording has an event");
  return asked;
}

Status addWindows(const DecoderWindows &info, const Recording &recording,
                  std::vector<int64_t> asked, SparsityReport &report) {
  BETZ_ASSIGN_OR_RETURN(Segmentation segmentation,
                        findSegments(recording, nullptr));
  BETZ_ASSIGN_OR_RETURN(NeuronTable neurons,
                        assignNeurons(recording.units,
                                      info.unitMap ? &*info.unitMap : nullptr,
                                      info.maxNeurons, /*strict=*/false));
  for (const std::string &warning : neurons.warnings)
    logWarn("dump", "{}", warning);
  BETZ_ASSIGN_OR_RETURN(
      WindowIndex index,
      WindowIndex::build(segmentation.segments, info.windows));
  WindowReader reader(index, recording.units, neurons.neuronOfRow, nullptr);
  BETZ_ASSIGN_OR_RETURN(asked,
                        chooseWindows(reader, index.size(), std::move(asked)));
  WindowBatch batch;
  for (int64_t window : asked) {
    BETZ_RETURN_IF_ERROR(reader.read({&window, 1}, batch));
    WindowBlocks blocks = countBlocks(report.attention, batch.timeBin);
    blocks.window = window;
    blocks.start = index.at(window).start;
    report.windows.push_back(std::move(blocks));
  }
  return Status::ok();
}

double percent(int64_t part, int64_t whole) {
  return whole ? 100 * double(part) / double(whole) : 0;
}

std::string_view stateOf(const BlockCount &block) {
  return block.isWhole() ? "whole" : block.isComputed ? "partly" : "skipped";
}

} // namespace

int64_t WindowBlocks::elements() const {
  int64_t sum = 0;
  for (const BlockCount &block : blocks)
    sum += block.elements;
  return sum;
}

int64_t WindowBlocks::computed() const {
  int64_t sum = 0;
  for (const BlockCount &block : blocks)
    sum += block.isComputed ? block.elements : 0;
  return sum;
}

int64_t WindowBlocks::seen() const {
  int64_t sum = 0;
  for (const BlockCount &block : blocks)
    sum += block.seen;
  return sum;
}

WindowBlocks countBlocks(const AttentionBlocks &attention,
                         std::span<const int32_t> times) {
  WindowBlocks window;
  window.times.assign(times.begin(), times.end());
  auto blocksOf = [](int64_t count, int64_t block) {
    return (count + block - 1) / block;
  };
  window.rows = blocksOf(attention.queries, attention.queryBlock);
  window.columns = blocksOf(int64_t(times.size()), attention.keyBlock);
  for (int64_t row = 0; row < window.rows; ++row)
    for (int64_t column = 0; column < window.columns; ++column) {
      size_t first = size_t(column * attention.keyBlock);
      size_t count = std::min(size_t(attention.keyBlock), times.size() - first);
      window.blocks.push_back(countBlock(attention, row * attention.queryBlock,
                                         times.subspan(first, count)));
    }
  return window;
}

Result<SparsityReport> measureSparsity(mlir::ModuleOp module,
                                       const std::filesystem::path &recording,
                                       std::vector<int64_t> windows) {
  SparsityReport report;
  report.recording = recording.string();
  BETZ_ASSIGN_OR_RETURN(report.attention, findAttention(module));
  BETZ_ASSIGN_OR_RETURN(DecoderWindows info,
                        readDecoderWindows(metadataOf(module)));
  BETZ_ASSIGN_OR_RETURN(Recording file, Recording::open(recording));
  for (const std::string &warning : file.warnings)
    logWarn("dump", "{}", warning);
  if (Status status = addWindows(info, file, std::move(windows), report);
      !status.isOk())
    return std::move(status).withContext(recording.string());
  return report;
}

Json toJson(const SparsityReport &report) {
  const AttentionBlocks &attention = report.attention;
  Json json = {{"model", report.model},
               {"recording", report.recording},
               {"kernel", attention.kernel},
               {"rule", attention.bounds.empty() ? "segments" : "time_bounds"},
               {"queries", attention.queries},
               {"query_block", attention.queryBlock},
               {"key_block", attention.keyBlock}};
  json["windows"] = Json::array();
  for (const WindowBlocks &window : report.windows) {
    Json rows = Json::array();
    for (int64_t row = 0; row < window.rows; ++row) {
      Json cells = Json::array();
      for (int64_t i = 0; i < window.columns; ++i) {
        const BlockCount &block =
            window.blocks[size_t(row * window.columns + i)];
        cells.push_back({{"state", stateOf(block)},
                         {"elements", block.elements},
                         {"seen", block.seen}});
      }
      rows.push_back(std::move(cells));
    }
    json["windows"].push_back({{"window", window.window},
                               {"start_s", window.start},
                               {"events", window.times.size()},
                               {"elements", window.elements()},
                               {"computed", window.computed()},
                               {"seen", window.seen()},
                               {"blocks", std::move(rows)},
                               {"time_bins", window.times}});
  }
  return json;
}

std::string toText(const SparsityReport &report) {
  const AttentionBlocks &attention = report.attention;
  std::string text = fmt::format(
      "{}, {}: {} queries in blocks of {}, keys in blocks of {}, {}\n",
      report.model, attention.kernel, attention.queries, attention.queryBlock,
      attention.keyBlock,
      attention.bounds.empty() ? "all keys seen" : "keys seen by time");
  for (const WindowBlocks &window : report.windows) {
    auto count = [&](std::string_view state) {
      return std::ranges::count_if(window.blocks, [&](const BlockCount &block) {
        return stateOf(block) == state;
      });
    };
    text += fmt::format(
        "  window {} at {:.3f} s: {} events, {} blocks: {} whole, {} partly, "
        "{} skipped; of {} elements {} computed ({:.1f} %), {} seen ({:.1f} "
        "%)\n",
        window.window, window.start, window.times.size(), window.blocks.size(),
        count("whole"), count("partly"), count("skipped"), window.elements(),
        window.computed(), percent(window.computed(), window.elements()),
        window.seen(), percent(window.seen(), window.elements()));
  }
  return text;
}

} // namespace betz
