//===- OpenProgram.h - From a program file to a session -------------------===//
#pragma once

#include "runtime/session/Session.h"
#include "tools/CommandLine.h"

#include <chrono>
#include <filesystem>

namespace betz {

/// Which program to run, and on what.
struct ProgramRequest {
  std::filesystem::path program;
  std::string device = "cpu";
  int threads = 0;
  size_t stepsInFlight = 1;
};

/// The program as the first argument, --device, --threads.
void addProgramOptions(CLI::App &command, ProgramRequest &request);

using Clock = std::chrono::steady_clock;

/// Seconds since `start`.
inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct OpenedProgram {
  std::unique_ptr<Session> session;
  double seconds = 0; // in all
  double deviceSeconds =
      0; // of these, to open the device: on a GPU its context
};

/// Reads the program and loads it on the device.
Result<OpenedProgram> openProgram(const ProgramRequest &request);

/// The value below which `part` of `sorted` lies; 0 of nothing.
double quantile(std::span<const double> sorted, double part);

} // namespace betz
