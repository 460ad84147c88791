//===- BetzRt.cpp - The runtime's command: no compiler inside -------------===//
#include "tools/RuntimeCommands.h"

int main(int argc, char **argv) {
  betz::CommandLine line("betz-rt",
                         "Run, measure and inspect compiled neural decoders.");
  betz::addRunCommand(line);
  betz::addEvalCommand(line);
  betz::addBenchCommand(line);
  betz::addTuneCommand(line);
  betz::addLoadCommand(line);
  betz::addServeCommand(line);
  betz::addReplayCommand(line);
  betz::addDataCommand(line);
  betz::addTrainPreparedCommand(line);
  return line.run(argc, argv);
}
