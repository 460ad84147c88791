//===- Betz.cpp - The whole command ---------------------------------------===//
#include "tools/CompileFolder.h"
#include "tools/CompilerCommands.h"
#include "tools/RuntimeCommands.h"

int main(int argc, char **argv) {
  const betz::CompileFolder folder;
  betz::CommandLine line("betz",
                         "Compile, run and inspect Perceiver neural decoders.");
  betz::addCompileCommand(line);
  betz::addRunCommand(line);
  betz::addDumpCommand(line);
  betz::addBenchCommand(line);
  betz::addTuneCommand(line);
  betz::addLoadCommand(line);
  betz::addTrainCommand(line);
  betz::addEvalCommand(line, &folder);
  betz::addServeCommand(line);
  betz::addReplayCommand(line);
  betz::addDataCommand(line);
  betz::addInterpretCommand(line);
  return line.run(argc, argv);
}
