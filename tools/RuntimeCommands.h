//===- RuntimeCommands.h - Commands that need no compiler -----------------===//
#pragma once

#include "tools/CommandLine.h"

namespace betz {

/// `run M.betz`: one batch from a file, or every window of a recording.
void addRunCommand(CommandLine &line);
/// `bench M.betz`: time a step.
void addBenchCommand(CommandLine &line);
/// `tune M.betz`: pick kernels' tiles on a GPU.
void addTuneCommand(CommandLine &line);
/// `data inspect|synth|protocol|lint`: recordings and protocols.
void addDataCommand(CommandLine &line);

} // namespace betz
