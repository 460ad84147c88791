#include "tools/OpenProgram.h"

#include "runtime/session/OpenDevice.h"

#include <cmath>

namespace betz {

void addProgramOptions(CLI::App &command, ProgramRequest &request) {
  command.add_option("program", request.program, "The compiled program")
      ->required();
  command
      .add_option("--device", request.device,
                  "cpu, cuda or cuda:N (an NVIDIA GPU); or null, which runs "
                  "nothing and gives zeros")
      ->capture_default_str();
  command.add_option("--threads", request.threads,
                     "Threads of the cpu device (default: one a core)");
}

Result<OpenedProgram> openProgram(const ProgramRequest &request) {
  OpenedProgram opened;
  const Clock::time_point start = Clock::now();
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        readProgram(request.program));
  const double read = secondsSince(start);
  BETZ_ASSIGN_OR_RETURN(
      std::shared_ptr<Device> device,
      openDevice(request.device, {.threads = request.threads}));
  opened.deviceSeconds = secondsSince(start) - read;
  auto session = Session::create(std::move(program), std::move(device),
                                 request.stepsInFlight);
  if (!session.isOk())
    return std::move(session).status().withContext(request.program.string());
  opened.session = std::move(session).value();
  opened.seconds = secondsSince(start);
  return opened;
}

double quantile(std::span<const double> sorted, double part) {
  if (sorted.empty())
    return 0;
  return sorted[size_t(std::lround(part * double(sorted.size() - 1)))];
}

} // namespace betz
