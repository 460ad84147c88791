//===- RuntimeCommands.h - Commands that need no compiler -----------------===//
#pragma once

#include "tools/CommandLine.h"

namespace betz {

class EvalFolder;

/// `run M.betz`: one batch from a file, or every window of a recording.
void addRunCommand(CommandLine &line);
/// `eval M.betz --nwb F`: scores beside baselines and controls. With `folder`
/// also `eval DIR`; it must outlive the line.
void addEvalCommand(CommandLine &line, const EvalFolder *folder = nullptr);
/// `bench M.betz`: time a step.
void addBenchCommand(CommandLine &line);
/// `tune M.betz`: pick kernels' tiles on a GPU.
void addTuneCommand(CommandLine &line);
/// `serve M.betz...`: models behind one port.
void addServeCommand(CommandLine &line);
/// `replay F M.betz`: a server's log once more.
void addReplayCommand(CommandLine &line);
/// `load M.betz`: measure the server under load.
void addLoadCommand(CommandLine &line);
/// `data inspect|synth|protocol|lint`: recordings and protocols.
void addDataCommand(CommandLine &line);
/// `train FOLDER`: a run that `betz train --compile-only` prepared.
void addTrainPreparedCommand(CommandLine &line);

} // namespace betz
