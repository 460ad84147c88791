//===- CompilerCommands.h - Commands that need the compiler ---------------===//
#pragma once

#include "tools/CommandLine.h"

namespace betz {

/// `compile MODEL -o M.betz`.
void addCompileCommand(CommandLine &line);
/// `dump MODEL|M.betz --phase P`: IR of any phase, listings, graphs.
void addDumpCommand(CommandLine &line);
/// `interpret MODEL --input C`: the f64 reference.
void addInterpretCommand(CommandLine &line);
/// `train --nwb F -o DIR`: a decoder from recordings.
void addTrainCommand(CommandLine &line);

} // namespace betz
