//===- BatchedRun.h - A ragged batch of any size --------------------------===//
#pragma once

#include "runtime/session/Session.h"

namespace betz {

/// Like Session::run, for any number of windows: a batch that fits no bucket is
/// cut, between windows, into the longest runs that fit, one step each. Windows
/// are independent, so the results are the same. Needs a program whose ragged
/// inputs all have row splits over one batch symbol; for others it is run().
/// Errors speak of the whole batch. Allocates.
Status runBatched(Session &session, std::span<const InputBinding> inputs,
                  std::span<const OutputBinding> outputs);

} // namespace betz
