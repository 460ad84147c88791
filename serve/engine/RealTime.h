//===- RealTime.h - Threads that the system leaves alone ------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/engine/EngineConfig.h"

namespace betz::serve {

/// Pins the calling thread, and threads that it starts from now on, and gives
/// it its scheduling class. What the system refuses is an Unavailable that says
/// which right or limit is missing.
Status configureThread(const RealTimeConfig &config);

/// Keeps all memory of the process, now and later, out of swap.
Status lockMemory();

} // namespace betz::serve
