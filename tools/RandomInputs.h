//===- RandomInputs.h - Legal inputs for any program ----------------------===//
#pragma once

#include "runtime/session/Session.h"
#include "tools/HostStep.h"

namespace betz {

/// The extents of `batch` windows of `rows` rows each, or as many as the
/// program takes. A symbol that has no row splits gets its value from the
/// target's largest bucket.
std::vector<int64_t> chooseExtents(const Program &program,
                                   const TargetVariant &target, int64_t batch,
                                   int64_t rows);

/// A step of these extents with windows of equal lengths, whose inputs pass
/// every check of the program. Indices are uniform over what the checks allow,
/// those relative to a window's base ascend in a window, and floats are uniform
/// in [-1, 1). A function of its arguments alone.
HostStep makeRandomStep(const Program &program, std::vector<int64_t> extents,
                        uint32_t seed);

/// Writes every state of the session's program: small numbers above zero, which
/// weights and both moments of a training step may be. A function of the
/// program alone.
Status writeRandomStates(Session &session);

} // namespace betz
