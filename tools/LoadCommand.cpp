// `load`: how a server does under load, by its port or in this process.
#include "runtime/base/File.h"
#include "runtime/base/Json.h"
#include "serve/http/Server.h"
#include "serve/load/LoadReport.h"
#include "serve/load/StreamRun.h"
#include "serve/load_http/HttpLoad.h"
#include "serve/load_http/IdleConnections.h"
#include "tools/RuntimeCommands.h"

#include <csignal>
#include <fmt/format.h>
#include <thread>

namespace betz {
namespace {

struct LoadCommandOptions {
  /// A program's file or, without --in-process, a server's URL.
  std::string place;
  bool inProcess = false;
  /// With --in-process: the same over HTTP.
  bool http = false;
  std::string model;
  int64_t connections = 256;
  int64_t idle = 0;
  serve::EngineConfig engine;
  std::vector<int64_t> loops, closed;
  std::vector<double> open;
  std::vector<int64_t> streams;
  int64_t strides = 100;
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
  if (!options.inProcess) {
    if (std::filesystem::is_regular_file(options.place))
      return invalidArgument(
          fmt::format("{} is a file: give --in-process, or the URL of a server",
                      options.place));
    if (!options.loops.empty() || !options.streams.empty() || options.http)
      return invalidArgument(
          "--loop, --streams and --http need a program and --in-process");
  } else if (!options.model.empty()) {
    return invalidArgument("--model names a server's; give it with a URL");
  } else if (options.idle != 0) {
    return invalidArgument("--idle connects to a server; give it with a URL");
  }
  if (options.loops.empty() && options.closed.empty() && options.open.empty() &&
      options.streams.empty())
    return invalidArgument(
        "nothing to run: give --loop, --closed, --open or --streams");
  auto below = [](auto least) {
    return [least](auto value) { return !(value >= least); };
  };
  if (std::ranges::any_of(options.loops, below(1)) ||
      std::ranges::any_of(options.closed, below(1)) ||
      std::ranges::any_of(options.open, below(0.001)) ||
      std::ranges::any_of(options.streams, below(1)) ||
      !(options.seconds > 0) || !(options.deadlineMs >= 0) ||
      options.strides < 1 || options.connections < 1 || options.idle < 0)
    return invalidArgument("--loop, --closed, --open, --streams, --strides, "
                           "--connections and --seconds are above 0, "
                           "--deadline-ms and --idle 0 or more");
  return checkOutputs({options.json}, {options.place});
}

/// The loops without a scheduler, on a device of their own.
Status runLoops(const LoadCommandOptions &options,
                const serve::LoadOptions &load,
                std::vector<serve::LoadResult> &results) {
  if (options.loops.empty())
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        readProgram(options.place));
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

Result<std::unique_ptr<serve::Engine>>
startEngine(const serve::EngineConfig &config, const std::string &program,
            const std::string &name) {
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<serve::Engine> engine,
                        serve::Engine::create(config));
  BETZ_RETURN_IF_ERROR(engine->load({.path = program, .name = name}));
  return engine;
}

/// Closed and open loops to an engine or a served model.
template <class Target>
Status runRequests(const LoadCommandOptions &options,
                   const serve::LoadOptions &load, Target &target,
                   std::vector<serve::LoadResult> &results) {
  BETZ_ASSIGN_OR_RETURN(const serve::ArrivalPattern pattern,
                        findPattern(options.pattern));
  for (int64_t clients : options.closed) {
    BETZ_ASSIGN_OR_RETURN(serve::LoadResult result,
                          serve::runClosedLoop(target, load, clients));
    results.push_back(std::move(result));
  }
  for (double rate : options.open) {
    BETZ_ASSIGN_OR_RETURN(serve::LoadResult result,
                          serve::runOpenLoop(target, load, pattern, rate));
    results.push_back(std::move(result));
  }
  return Status::ok();
}

Status runHttp(const LoadCommandOptions &options,
               const serve::LoadOptions &load,
               const serve::ServerAddress &address,
               std::vector<serve::LoadResult> &results) {
  BETZ_ASSIGN_OR_RETURN(serve::ServedModel model,
                        serve::ServedModel::ask(address, options.model));
  const serve::HttpTarget target = {address, std::move(model),
                                    options.connections};
  return runRequests(options, load, target, results);
}

/// The same requests to a server of this process, over its loopback port.
Status runOwnServer(const LoadCommandOptions &options,
                    const serve::LoadOptions &load, serve::Engine &engine,
                    std::vector<serve::LoadResult> &results) {
  serve::ServerConfig config;
  config.port = 0;
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<serve::Server> server,
                        serve::Server::create(engine, config, {}));
  std::thread thread([&server] { server->run(); });
  const Status status = runHttp(
      options, load, {"127.0.0.1", std::to_string(server->port())}, results);
  server->stop();
  thread.join();
  return status;
}

Status runEngine(const LoadCommandOptions &options,
                 const serve::LoadOptions &load,
                 std::vector<serve::LoadResult> &results) {
  if (options.closed.empty() && options.open.empty())
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<serve::Engine> engine,
                        startEngine(options.engine, options.place, load.model));
  BETZ_RETURN_IF_ERROR(runRequests(options, load, *engine, results));
  return options.http ? runOwnServer(options, load, *engine, results)
                      : Status::ok();
}

/// Streams on an engine of their own, beside a bare model that checks them.
Status runStreams(const LoadCommandOptions &options,
                  const serve::LoadOptions &load,
                  std::vector<serve::StreamRunResult> &results) {
  if (options.streams.empty())
    return Status::ok();
  serve::EngineConfig config = options.engine;
  config.maxQueue = config.streams.maxStreams =
      std::max(config.maxQueue, *std::ranges::max_element(options.streams));
  BETZ_ASSIGN_OR_RETURN(std::unique_ptr<serve::Engine> engine,
                        startEngine(config, options.place, load.model));
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        readProgram(options.place));
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                        openDevice(config.device, {.threads = config.threads}));
  BETZ_ASSIGN_OR_RETURN(
      std::unique_ptr<serve::LoadedModel> scratch,
      serve::LoadedModel::create(std::move(program), std::move(device), 1, 0));
  for (int64_t streams : options.streams) {
    BETZ_ASSIGN_OR_RETURN(
        serve::StreamRunResult result,
        serve::runStreams(*engine, *scratch,
                          {.model = load.model,
                           .streams = streams,
                           .strides = options.strides,
                           .events = double(options.events)}));
    results.push_back(std::move(result));
  }
  return Status::ok();
}

/// Fails where a stream's decodes are not those of their windows alone.
Status checkStreams(std::span<const serve::StreamRunResult> results) {
  for (const serve::StreamRunResult &result : results)
    if (result.differing > 0)
      return internalError(fmt::format(
          "{}: {} decodes have other bits than their windows decoded alone, "
          "the first of {}",
          result.load.name, result.differing, result.firstDifference));
  return Status::ok();
}

void printStreams(std::span<const serve::StreamRunResult> results) {
  for (const serve::StreamRunResult &result : results)
    fmt::print(
        "{}: {} of {} decodes have the bits of their windows alone; "
        "{:.1f} % of pages were there, {} were taken from other "
        "streams; {:.1f} of {:.1f} MB of events were uploaded\n",
        result.load.name, result.load.latencies.size() - result.differing,
        result.load.sent, 100 * result.hitRate(), result.counts.evictions,
        double(result.counts.bytesUploaded) * 1e-6,
        double(result.counts.bytesRead) * 1e-6);
}

Json makeReport(const LoadCommandOptions &options,
                std::span<const serve::LoadResult> results,
                std::span<const serve::StreamRunResult> streams,
                int64_t idleOpen) {
  Json report = Json::object();
  if (options.inProcess) {
    report["program"] = options.place;
    report["device"] = options.engine.device;
  } else {
    report["server"] = options.place;
  }
  if (options.idle > 0)
    report["idle"] = {{"opened", options.idle}, {"open_at_end", idleOpen}};
  report["events"] = options.events;
  report["runs"] = Json::array();
  for (const serve::LoadResult &result : results)
    report["runs"].push_back(toJson(result));
  for (const serve::StreamRunResult &result : streams)
    report["streams"].push_back(toJson(result));
  return report;
}

Status run(const LoadCommandOptions &options) {
  BETZ_RETURN_IF_ERROR(check(options));
  const serve::LoadOptions load = {
      .model = "model",
      .length = toNanoseconds(options.seconds),
      .events = options.events,
      .deadline = toNanoseconds(options.deadlineMs * 1e-3)};
  // Writes to a server that is gone fail instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<serve::LoadResult> results;
  std::vector<serve::StreamRunResult> streams;
  int64_t idleOpen = 0;
  if (options.inProcess) {
    BETZ_RETURN_IF_ERROR(runLoops(options, load, results));
    BETZ_RETURN_IF_ERROR(runEngine(options, load, results));
    BETZ_RETURN_IF_ERROR(runStreams(options, load, streams));
  } else {
    BETZ_ASSIGN_OR_RETURN(const serve::ServerAddress address,
                          serve::ServerAddress::parse(options.place));
    BETZ_ASSIGN_OR_RETURN(std::unique_ptr<serve::IdleConnections> idle,
                          serve::IdleConnections::open(address, options.idle));
    BETZ_RETURN_IF_ERROR(runHttp(options, load, address, results));
    idleOpen = idle->countOpen();
  }
  for (const serve::StreamRunResult &result : streams)
    results.push_back(result.load);
  if (options.json != "-") {
    serve::printTable(results);
    printStreams(streams);
    if (options.idle > 0)
      fmt::print("{} of {} idle connections were open to the end\n", idleOpen,
                 options.idle);
  }
  if (options.json.empty())
    return checkStreams(streams);
  BETZ_RETURN_IF_ERROR(writeJsonReport(
      makeReport(options, results, streams, idleOpen), options.json));
  return checkStreams(streams);
}

} // namespace

void addLoadCommand(CommandLine &line) {
  auto options = std::make_shared<LoadCommandOptions>();
  CLI::App *command = line.addCommand(
      "load", "Measure the server under load: rates, latencies, refusals",
      [options] { return run(*options); });
  command
      ->add_option("place", options->place,
                   "A server, http://HOST:PORT, or with --in-process a "
                   "compiled program")
      ->required();
  command->add_flag("--in-process", options->inProcess,
                    "Drive the engine in this process, without a socket");
  command->add_flag("--http", options->http,
                    "With --in-process: the same requests also over HTTP, to "
                    "a server of this process");
  command->add_option("--model", options->model,
                      "The server's model (default: its only one)");
  command
      ->add_option("--connections", options->connections,
                   "Connections of --open over HTTP; what is due when all are "
                   "busy waits for one")
      ->capture_default_str();
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
  command->add_option("--idle", options->idle,
                      "Connections to the server that only stay open");
  command->add_option("--streams", options->streams,
                      "N streams side by side, each decode compared with its "
                      "window decoded alone");
  command
      ->add_option("--strides", options->strides,
                   "Decodes of each of the --streams")
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Length of each run")
      ->capture_default_str();
  command->add_option("--events", options->events, "Events of a window")
      ->capture_default_str();
  command->add_option("--deadline-ms", options->deadlineMs,
                      "Deadline of each request (default: 1 s)");
  command->add_option("--json", options->json,
                      "Write a report to FILE, or - for standard output");
  command->footer("Examples:\n"
                  "  load http://127.0.0.1:8080 --closed 16 --open 90\n"
                  "  load m.betz --in-process --loop 1 --loop 16 --closed 16 "
                  "--http\n"
                  "  load m.betz --in-process --open 100 --pattern bursts "
                  "--deadline-ms 50\n"
                  "  load m.betz --in-process --streams 500 --strides 200");
}

} // namespace betz
