//===- ProgramChecks.h - Is every reference of a program sound? -----------===//
#pragma once

#include "runtime/program/Program.h"

namespace betz {

/// Checks what the rest of the runtime takes for granted: names are unique,
/// every index is in range, every symbol is defined by an input, no size
/// overflows, every derived tensor lies inside its section and every arena
/// offset inside the arena. The error says where.
Status checkProgram(const Program &program);

} // namespace betz
