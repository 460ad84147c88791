//===- DataCommands.h - The commands below `data` -------------------------===//
#pragma once

#include "tools/CommandLine.h"

namespace betz {

/// `data protocol F.nwb...`: what a training run would be judged by.
void addDataProtocol(CommandLine &line, CLI::App *data);
/// `data lint P.toml`: faults of a protocol.
void addDataLint(CommandLine &line, CLI::App *data);

} // namespace betz
