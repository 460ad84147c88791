//===- CompileObservers.h - What `betz compile` can show of its work ------===//
#pragma once

#include "codegen/common/CompileObserver.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace betz {

/// Wall time of each pass and stage, in order.
class CompileTimings : public CompileObserver {
public:
  void onPass(std::string_view pass, std::string_view phase, bool failed,
              double seconds, const LazyText &ir) override;
  void onStage(std::string_view stage, double seconds) override;
  /// Adds `passes` and `stages`: name and milliseconds of each.
  void addTo(Json &report) const;

private:
  Json passes = Json::array(), stages = Json::array();
};

/// `--dump-dir`: IR after every pass, numbered, and a folder for each function.
/// Every file is there as soon as its step has ended.
class DumpFolder : public CompileObserver {
public:
  /// Makes `folder`; one that holds files already is an error.
  static Result<DumpFolder> create(std::filesystem::path folder);

  void onInput(std::string_view phase, const LazyText &ir) override;
  void onPass(std::string_view pass, std::string_view phase, bool failed,
              double seconds, const LazyText &ir) override;
  void onStage(std::string_view stage, double seconds) override;
  void onKernel(const KernelSpecEntry &entry, const KernelSpec &spec) override;
  bool wants(CodeForm form) const override { return true; }
  void onCode(std::string_view code, std::string_view isa, CodeForm form,
              const LazyText &text) override;
  void onKernelError(std::string_view code, std::string_view isa,
                     const Status &status) override;

  /// Notes how the compile ended. The error is the first that writing met.
  Status finish(const Status &compile);

private:
  explicit DumpFolder(std::filesystem::path folder)
      : folder(std::move(folder)) {}
  void write(const std::filesystem::path &name, std::string_view text);
  void log(std::string_view line);
  void logKernel(std::string_view code, std::string_view line);
  std::filesystem::path kernelFolder(std::string_view code) const;

  std::filesystem::path folder;
  int passNumber = 0;
  std::string logText;
  std::map<std::string, std::string, std::less<>> kernelLogs;
  Status status;
};

/// BETZ_DEBUG: each level adds to what stderr shows. Options.h lists them.
class DebugPrinter : public CompileObserver {
public:
  explicit DebugPrinter(int level) : level(level) {}

  void onInput(std::string_view phase, const LazyText &ir) override;
  void onPass(std::string_view pass, std::string_view phase, bool failed,
              double seconds, const LazyText &ir) override;
  void onStage(std::string_view stage, double seconds) override;
  void onKernel(const KernelSpecEntry &entry, const KernelSpec &spec) override;
  bool wants(CodeForm form) const override;
  void onCode(std::string_view code, std::string_view isa, CodeForm form,
              const LazyText &text) override;

private:
  int level;
  std::string lastPhase;
};

/// BETZ_DEBUG as a number, 0 where it is not set.
Result<int> debugLevel();

} // namespace betz
