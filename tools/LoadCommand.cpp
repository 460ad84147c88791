// `load M.betz --in-process`: how the server does under load, without a socket.
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "serve/load/LoadReport.h"
#include "tools/RuntimeCommands.h"

#include <fmt/format.h>

namespace betz {
namespace {

struct LoadCommandOptions {
  std::string program;
  bool inProcess = false;
  serve::EngineConfig engine;
  std::vector<int64_t> loops, closed;
  std::vector<double> open;
  std::string pattern = "poisson";
  double seconds = 5;
  double deadlineMs = 0;
  int64_t events = 256;
  std::string json;
};

Result<serve::ArrivalPattern> findPattern(const std::string &name) {
  for (serve::ArrivalPattern pattern :
       {serve::ArrivalPattern::Poisson, serve::ArrivalPattern::Bursts,
        serve::ArrivalPattern::Ramp})
    if (name == toString(pattern))
      return pattern;
  return invalidArgument(
      fmt::format("--pattern {}: known are poisson, bursts and ramp", name));
}

std::chrono::nanoseconds toNanoseconds(double seconds) {
  return std::chrono::nanoseconds(int64_t(seconds * 1e9));
}

Status check(const LoadCommandOptions &options) {
  if (!options.inProcess)
    return invalidArgument("give --in-process: load drives the engine in its "
                           "own process");
  if (options.loops.empty() && options.closed.empty() && options.open.empty())
    return invalidArgument("nothing to run: give --loop, --closed or --open");
  auto below = [](auto least) {
    return [least](auto value) { return !(value >= least); };
  };
  if (std::ranges::any_of(options.loops, below(1)) ||
      std::ranges::any_of(options.closed, below(1)) ||
      std::ranges::any_of(options.open, below(0.001)) ||
      !(options.seconds > 0) || !(options.deadlineMs >= 0))
    return invalidArgument("--loop, --closed, --open and --seconds are above "
                           "0, --deadline-ms 0 or more");
  return checkOutputs({options.json}, {options.program});
}

/// The loops without a scheduler, on a device of their own.
Status runLoops(const LoadCommandOptions &options,
                const serve::LoadOptions &load,
                std::vector<serve::LoadResult> &results) {
  if (options.loops.empty())
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        readProgram(options.program));
  BETZ_ASSIGN_OR_RETURN(
      std::shared_ptr<Device> device,
      openDevice(options.engine.device, {.threads = options.engine.threads}));
  for (int64_t windows : options.loops) {
    BETZ_ASSIGN_OR_RETURN(serve::LoadResult result,
                          serve::runBatchLoop(program, device, load, windows));
    results.push_back(std::move(result));
  }
  return Status::ok();
}

Status runEngine(const LoadCommandOptions &options,
                 const serve::LoadOptions &load,
                 std::vector<serve::LoadResult> &results) {
  if (options.closed.empty() && options.open.empty())
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(serve::ArrivalPattern pattern,
                        findPattern(options.pattern));
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<serve::Engine> engine,
                        serve::Engine::create(options.engine));
  BETZ_RETURN_IF_ERROR(
      engine->load({.path = options.program, .name = load.model}));
  for (int64_t clients : options.closed) {
    BETZ_ASSIGN_OR_RETURN(serve::LoadResult result,
                          serve::runClosedLoop(*engine, load, clients));
    results.push_back(std::move(result));
  }
  for (double rate : options.open) {
    BETZ_ASSIGN_OR_RETURN(serve::LoadResult result,
                          serve::runOpenLoop(*engine, load, pattern, rate));
    results.push_back(std::move(result));
  }
  return Status::ok();
}

Status run(const LoadCommandOptions &options) {
  BETZ_RETURN_IF_ERROR(check(options));
  const serve::LoadOptions load = {
      .model = "model",
      .length = toNanoseconds(options.seconds),
      .events = options.events,
      .deadline = toNanoseconds(options.deadlineMs * 1e-3)};
  std::vector<serve::LoadResult> results;
  BETZ_RETURN_IF_ERROR(runLoops(options, load, results));
  BETZ_RETURN_IF_ERROR(runEngine(options, load, results));
  if (options.json != "-")
    serve::printTable(results);
  if (options.json.empty())
    return Status::ok();
  Json report = {{"program", options.program},
                 {"device", options.engine.device},
                 {"events", options.events},
                 {"runs", Json::array()}};
  for (const serve::LoadResult &result : results)
    report["runs"].push_back(toJson(result));
  return writeJsonReport(report, options.json);
}

} // namespace

void addLoadCommand(CommandLine &line) {
  auto options = std::make_shared<LoadCommandOptions>();
  CLI::App *command = line.addCommand(
      "load", "Measure the server under load: rates, latencies, refusals",
      [options] { return run(*options); });
  command->add_option("program", options->program, "The compiled program")
      ->required();
  command->add_flag("--in-process", options->inProcess,
                    "Drive the engine in this process, without a socket");
  command->add_option("--device", options->engine.device, "cpu, cuda or cuda:N")
      ->capture_default_str();
  command->add_option("--threads", options->engine.threads,
                      "Threads of the cpu device (default: one a core)");
  command->add_option("--loop", options->loops,
                      "Batches of N windows one after another, without a "
                      "scheduler; may be given often, as may the next two");
  command->add_option("--closed", options->closed,
                      "N clients that each wait for their answer");
  command->add_option("--open", options->open,
                      "Requests a second, whatever comes back; latencies "
                      "count from when each was to be sent");
  command
      ->add_option("--pattern", options->pattern,
                   "When requests of --open come: poisson, bursts or ramp")
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Length of each run")
      ->capture_default_str();
  command->add_option("--events", options->events, "Events of a window")
      ->capture_default_str();
  command->add_option("--deadline-ms", options->deadlineMs,
                      "Deadline of each request (default: the engine's, 1 s)");
  command->add_option("--json", options->json,
                      "Write a report to FILE, or - for standard output");
  command->footer("Examples:\n"
                  "  load m.betz --in-process --loop 1 --loop 16 --closed 16\n"
                  "  load m.betz --in-process --open 100 --pattern bursts "
                  "--deadline-ms 50");
}

} // namespace betz
