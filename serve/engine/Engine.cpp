#include "serve/engine/Engine.h"

#include "runtime/base/Log.h"
#include "serve/engine/Dispatcher.h"
#include "serve/engine/RealTime.h"
#include "serve/engine/StreamTable.h"

#include <fmt/format.h>

namespace betz::serve {

struct Engine::Parts {
  EngineConfig config;
  std::shared_ptr<Device> device;
  ModelTable table;
  std::unique_ptr<Dispatcher> dispatcher;
  std::unique_ptr<StreamTable> streams;

  /// The CPU computes as a step is submitted, so a second gains nothing there.
  size_t stepsInFlight() const { return config.device == "cpu" ? 1 : 2; }
  Status start();
  Result<std::unique_ptr<ModelVersion>> open(const ModelSource &source);
};

Status Engine::Parts::start() {
  if (config.maxQueue < 1)
    return invalidArgument("a queue holds at least one request");
  if (config.realTime.lockMemory)
    BETZ_RETURN_IF_ERROR(lockMemory());
  dispatcher = std::make_unique<Dispatcher>(table, config, stepsInFlight());
  // A CPU's threads are started, and so pinned, like the thread that opens it.
  BETZ_RETURN_IF_ERROR(dispatcher->start([&]() -> Status {
    BETZ_RETURN_IF_ERROR(configureThread(config.realTime));
    BETZ_ASSIGN_OR_RETURN(
        device, openDevice(config.device, {.threads = config.threads}));
    return Status::ok();
  }));
  BETZ_ASSIGN_OR_RETURN(streams,
                        StreamTable::create(config, *dispatcher, *device));
  return Status::ok();
}

Result<std::unique_ptr<ModelVersion>>
Engine::Parts::open(const ModelSource &source) {
  BETZ_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                        readProgram(source.path));
  auto version = std::make_unique<ModelVersion>(source.name, source.version);
  version->programHash = programHash(*program);
  BETZ_ASSIGN_OR_RETURN(version->loaded,
                        LoadedModel::create(std::move(program), device,
                                            stepsInFlight(), config.maxBatch));
  BETZ_RETURN_IF_ERROR(version->loaded->warmUp());
  version->statistics.byWindows.reserve(size_t(version->loaded->maxWindows()) +
                                        1);
  return version;
}

Engine::Engine(std::unique_ptr<Parts> parts) : parts(std::move(parts)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(const EngineConfig &config) {
  auto parts = std::make_unique<Parts>();
  parts->config = config;
  BETZ_RETURN_IF_ERROR(parts->start());
  return std::unique_ptr<Engine>(new Engine(std::move(parts)));
}

Status Engine::load(const ModelSource &given) {
  ModelSource source = given;
  if (source.name.empty())
    source.name = source.path.stem().string();
  BETZ_RETURN_IF_ERROR(parts->table.beginLoad(source.name, source.version));
  const Clock::time_point start = Clock::now();
  auto version = parts->open(source);
  if (!version.isOk()) {
    Status status =
        std::move(version).status().withContext(source.path.string());
    parts->table.failLoad(source.name, source.version, status);
    return status;
  }
  parts->table.publish(std::move(version).value());
  logInfo("serve", "model {} version {} is ready after {:.2f} s", source.name,
          source.version,
          std::chrono::duration<double>(Clock::now() - start).count());
  return Status::ok();
}

Status Engine::unload(std::string_view name, std::string_view version) {
  return parts->table.remove(name, version);
}

std::vector<ModelInfo> Engine::models() const { return parts->table.list(); }

Result<ModelInfo> Engine::model(std::string_view name,
                                std::string_view version) const {
  return parts->table.describe(name, version);
}

bool Engine::isReady() const {
  return parts->table.isReady() && !parts->dispatcher->isDraining();
}

RequestId Engine::submit(const Request &request, Callback callback) {
  return parts->dispatcher->submit(request, std::move(callback));
}

void Engine::cancel(RequestId request) { parts->dispatcher->cancel(request); }

std::variant<std::shared_ptr<StreamSession>, Error>
Engine::openStream(const StreamOptions &options) {
  auto used = parts->table.use(options.model, options.version);
  if (Error *error = std::get_if<Error>(&used))
    return std::move(*error);
  ModelVersion *version = std::get<ModelVersion *>(used);
  auto stream = parts->streams->open(options, *version->loaded);
  parts->table.release(version);
  return stream;
}

Statistics Engine::statistics() const {
  Statistics statistics = parts->dispatcher->statistics();
  parts->streams->count(statistics.streams);
  if (parts->config.observer)
    statistics.observed = parts->config.observer->counts();
  return statistics;
}

std::chrono::nanoseconds Engine::sinceTurn() const {
  return parts->dispatcher->sinceTurn();
}

const EngineConfig &Engine::config() const { return parts->config; }

std::string Engine::deviceName() const { return parts->device->name(); }

int64_t Engine::drain(std::chrono::nanoseconds limit) {
  return parts->dispatcher->drain(limit);
}

} // namespace betz::serve
