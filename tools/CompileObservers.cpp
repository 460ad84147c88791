#include "tools/CompileObservers.h"

#include "runtime/base/File.h"
#include "runtime/base/Options.h"

#include <cstdio>
#include <fmt/format.h>

namespace betz {

namespace {

/// Passes that only check: their IR is that of the pass before.
bool onlyChecks(std::string_view pass) { return pass.starts_with("verify-"); }

std::string describePass(std::string_view pass, bool failed, double seconds) {
  return fmt::format("pass {}: {:.3f} ms{}", pass, seconds * 1e3,
                     failed ? ", failed" : "");
}

std::string describeStage(std::string_view stage, double seconds) {
  return fmt::format("stage {}: {:.3f} ms", stage, seconds * 1e3);
}

/// How a launch is cut and in which order it adds.
std::string describeChoice(const KernelSpecEntry &entry,
                           const KernelSpec &spec) {
  std::string text = fmt::format("kernel {} ({}): {}, task {} rows", entry.name,
                                 entry.code, familyName(spec), spec.tile.rows);
  if (spec.tile.columns)
    text += fmt::format(" x {} columns", spec.tile.columns);
  if (spec.tile.depth)
    text += fmt::format(", {} stages of depth {}", spec.tile.stages,
                        spec.tile.depth);
  if (spec.plan.depthChunk)
    text += fmt::format(", depth chunk {}", spec.plan.depthChunk);
  if (spec.plan.statisticLanes)
    text += fmt::format(", statistics in {} lanes", spec.plan.statisticLanes);
  if (spec.plan.keyBlock)
    text += fmt::format(", key block {}", spec.plan.keyBlock);
  return text;
}

void printDebug(std::string_view line) {
  fmt::print(stderr, "betz: debug: {}\n", line);
}

void printDebug(std::string_view title, const LazyText &text) {
  fmt::print(stderr, "betz: debug: {}:\n{}\n", title, text());
}

} // namespace

//===----------------------------------------------------------------------===//
// Timings
//===----------------------------------------------------------------------===//

void CompileTimings::onPass(std::string_view pass, std::string_view, bool,
                            double seconds, const LazyText &) {
  passes.push_back({{"name", pass}, {"ms", seconds * 1e3}});
}

void CompileTimings::onStage(std::string_view stage, double seconds) {
  stages.push_back({{"name", stage}, {"ms", seconds * 1e3}});
}

void CompileTimings::addTo(Json &report) const {
  report["stages"] = stages;
  report["passes"] = passes;
}

//===----------------------------------------------------------------------===//
// A folder
//===----------------------------------------------------------------------===//

Result<DumpFolder> DumpFolder::create(std::filesystem::path folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return invalidArgument(fmt::format("--dump-dir {}: cannot make it: {}",
                                       folder.string(), error.message()));
  bool isEmpty = std::filesystem::is_empty(folder, error);
  if (error || !isEmpty)
    return invalidArgument(
        fmt::format("--dump-dir {}: holds files already; name a new folder",
                    folder.string()));
  return DumpFolder(std::move(folder));
}

void DumpFolder::onInput(std::string_view, const LazyText &ir) {
  if (passNumber > 0)
    ++passNumber; // another kind of target starts over
  write(fmt::format("{:02}-input.mlir", passNumber), ir());
}

void DumpFolder::onPass(std::string_view pass, std::string_view, bool failed,
                        double seconds, const LazyText &ir) {
  log(describePass(pass, failed, seconds));
  if (onlyChecks(pass) && !failed)
    return;
  write(fmt::format("{:02}-{}{}.mlir", ++passNumber, pass,
                    failed ? ".failed" : ""),
        ir());
}

void DumpFolder::onStage(std::string_view stage, double seconds) {
  log(describeStage(stage, seconds));
}

void DumpFolder::onKernel(const KernelSpecEntry &entry,
                          const KernelSpec &spec) {
  if (!kernelLogs.contains(entry.code))
    write(kernelFolder(entry.code) / "spec.json", toJson(spec).dump(2) + "\n");
  logKernel(entry.code, describeChoice(entry, spec));
}

void DumpFolder::onCode(std::string_view code, std::string_view isa,
                        CodeForm form, const LazyText &text) {
  const std::string_view extension = extensionOf(form);
  std::string contents = text();
  write(kernelFolder(code) / fmt::format("kernel.{}.{}", isa, extension),
        contents);
  logKernel(code,
            fmt::format("{}: {}, {} bytes", isa, extension, contents.size()));
}

void DumpFolder::onKernelError(std::string_view code, std::string_view isa,
                               const Status &failure) {
  logKernel(code, fmt::format("{}: failed: {}", isa, failure.message()));
}

Status DumpFolder::finish(const Status &compile) {
  log(compile.isOk() ? "done" : "failed: " + std::string(compile.message()));
  return std::move(status);
}

std::filesystem::path DumpFolder::kernelFolder(std::string_view code) const {
  return std::filesystem::path("kernels") / code;
}

void DumpFolder::write(const std::filesystem::path &name,
                       std::string_view text) {
  std::filesystem::path path = folder / name;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  Status written = writeFileAtomically(path, text);
  if (status.isOk())
    status = std::move(written);
}

void DumpFolder::log(std::string_view line) {
  logText += fmt::format("{}\n", line);
  write("log", logText);
}

void DumpFolder::logKernel(std::string_view code, std::string_view line) {
  std::string &text = kernelLogs[std::string(code)];
  text += fmt::format("{}\n", line);
  write(kernelFolder(code) / "log", text);
}

//===----------------------------------------------------------------------===//
// Standard error
//===----------------------------------------------------------------------===//

void DebugPrinter::onInput(std::string_view phase, const LazyText &ir) {
  lastPhase = phase;
  if (level >= 4)
    printDebug(fmt::format("IR, phase {}", phase), ir);
}

void DebugPrinter::onPass(std::string_view pass, std::string_view phase,
                          bool failed, double seconds, const LazyText &ir) {
  printDebug(describePass(pass, failed, seconds));
  if (level >= 4 && (phase != lastPhase || failed))
    printDebug(fmt::format("IR, phase {}", phase), ir);
  lastPhase = phase;
}

void DebugPrinter::onStage(std::string_view stage, double seconds) {
  printDebug(describeStage(stage, seconds));
}

void DebugPrinter::onKernel(const KernelSpecEntry &entry,
                            const KernelSpec &spec) {
  if (level >= 2)
    printDebug(describeChoice(entry, spec));
}

bool DebugPrinter::wants(CodeForm form) const {
  if (form == CodeForm::Source || form == CodeForm::Cuda)
    return level >= 3;
  return form != CodeForm::Llvm && level >= 5;
}

void DebugPrinter::onCode(std::string_view code, std::string_view isa,
                          CodeForm form, const LazyText &text) {
  printDebug(fmt::format("{} of {} for {}",
                         form == CodeForm::Source || form == CodeForm::Cuda
                             ? "source"
                         : form == CodeForm::Ptx ? "PTX"
                                                 : "assembly",
                         code, isa),
             text);
}

Result<int> debugLevel() {
  const std::string &text = environment().debug;
  if (text.empty())
    return 0;
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '5')
    return text[0] - '0';
  return invalidArgument(
      fmt::format("BETZ_DEBUG={}: must be a number from 0 to 5", text));
}

} // namespace betz
