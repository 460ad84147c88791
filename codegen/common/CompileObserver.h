//===- CompileObserver.h - Watching a compile
//------------------------------===//
//
// The one way to see inside a compile: dumps, timings and debug output are
// observers. Text is made only when an observer asks for it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/common/KernelSpec.h"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace betz {

/// Prints what it stands for when called; valid during the call that hands it
/// over.
using LazyText = std::function<std::string()>;

/// The texts of one function on its way to machine code.
enum class CodeForm : uint8_t {
  Source,   // as the CPU's code generator wrote it: MLIR's scf, arith and llvm
  Llvm,     // optimised LLVM IR
  Assembly, // as it is linked
  Cuda,     // CUDA C++ as NVRTC gets it
  Ptx       // what NVRTC makes of it
};

/// What a file with that form is called after the dot.
std::string_view extensionOf(CodeForm form);

/// Told of each step of a compile, in order, on the thread that compiles. The
/// compile does not depend on it: observed or not, the program is the same.
class CompileObserver {
public:
  virtual ~CompileObserver() = default;

  /// A module starts through the passes, in `phase`.
  virtual void onInput(std::string_view phase, const LazyText &ir) {}
  /// `pass` has run and left the module in `phase`; a failed one is the last.
  virtual void onPass(std::string_view pass, std::string_view phase,
                      bool failed, double seconds, const LazyText &ir) {}
  /// A part of the compile has ended: "load", "lower", "prepare",
  /// "codegen avx2", "link avx2", "write".
  virtual void onStage(std::string_view stage, double seconds) {}
  /// A launch whose tile and plan are chosen. Several share one `code`.
  virtual void onKernel(const KernelSpecEntry &entry, const KernelSpec &spec) {}
  /// Whether onCode is called with `form`: each costs time to make.
  virtual bool wants(CodeForm form) const { return false; }
  /// A form of the function `code` for the level `isa`.
  virtual void onCode(std::string_view code, std::string_view isa,
                      CodeForm form, const LazyText &text) {}
  /// Code generation ended at the function `code`.
  virtual void onKernelError(std::string_view code, std::string_view isa,
                             const Status &status) {}
};

/// Tells several observers, in the order in which they were added.
class ObserverList : public CompileObserver {
public:
  /// `observer` must outlive the list.
  void add(CompileObserver &observer) { observers.push_back(&observer); }

  void onInput(std::string_view phase, const LazyText &ir) override;
  void onPass(std::string_view pass, std::string_view phase, bool failed,
              double seconds, const LazyText &ir) override;
  void onStage(std::string_view stage, double seconds) override;
  void onKernel(const KernelSpecEntry &entry, const KernelSpec &spec) override;
  bool wants(CodeForm form) const override;
  void onCode(std::string_view code, std::string_view isa, CodeForm form,
              const LazyText &text) override;
  void onKernelError(std::string_view code, std::string_view isa,
                     const Status &status) override;

private:
  std::vector<CompileObserver *> observers;
};

/// The observer that does nothing.
CompileObserver &ignoreCompile();

/// Seconds since it was made.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

} // namespace betz
