//===- Interrupt.h - Ctrl-C as a wish to stop -----------------------------===//
#pragma once

#include <atomic>

namespace betz {

/// From now on the first interrupt (or SIGTERM) sets the flag; a second one
/// ends the process at once.
void stopAtFirstInterrupt();
const std::atomic<bool> &interruptFlag();

} // namespace betz
