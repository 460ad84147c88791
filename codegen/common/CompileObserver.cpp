#include "codegen/common/CompileObserver.h"

#include <algorithm>

namespace betz {

std::string_view extensionOf(CodeForm form) {
  constexpr std::string_view kExtensions[] = {"mlir", "ll", "s", "cu", "ptx"};
  return kExtensions[size_t(form)];
}

void ObserverList::onInput(std::string_view phase, const LazyText &ir) {
  for (CompileObserver *observer : observers)
    observer->onInput(phase, ir);
}

void ObserverList::onPass(std::string_view pass, std::string_view phase,
                          bool failed, double seconds, const LazyText &ir) {
  for (CompileObserver *observer : observers)
    observer->onPass(pass, phase, failed, seconds, ir);
}

void ObserverList::onStage(std::string_view stage, double seconds) {
  for (CompileObserver *observer : observers)
    observer->onStage(stage, seconds);
}

void ObserverList::onKernel(const KernelSpecEntry &entry,
                            const KernelSpec &spec) {
  for (CompileObserver *observer : observers)
    observer->onKernel(entry, spec);
}

bool ObserverList::wants(CodeForm form) const {
  return std::ranges::any_of(observers, [form](const CompileObserver *one) {
    return one->wants(form);
  });
}

void ObserverList::onCode(std::string_view code, std::string_view isa,
                          CodeForm form, const LazyText &text) {
  for (CompileObserver *observer : observers)
    if (observer->wants(form))
      observer->onCode(code, isa, form, text);
}

void ObserverList::onKernelError(std::string_view code, std::string_view isa,
                                 const Status &status) {
  for (CompileObserver *observer : observers)
    observer->onKernelError(code, isa, status);
}

CompileObserver &ignoreCompile() {
  static CompileObserver nothing;
  return nothing;
}

} // namespace betz
