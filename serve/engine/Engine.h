//===- Engine.h - Models on a device, and the requests to them ------------===//
//
// The server as a library: no socket, no thread of the caller's is blocked. One
// thread of the engine forms batches from what waits and runs them; see
// docs/serving.md for the order in which it takes requests.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/program/Program.h"
#include "runtime/session/OpenDevice.h"
#include "serve/engine/EngineConfig.h"
#include "serve/engine/Statistics.h"

#include <filesystem>
#include <memory>

namespace betz::serve {

class StreamSession;
struct StreamOptions;

enum class ModelState : uint8_t { Loading, Ready, Unloading, Failed };
std::string_view toString(ModelState state); // "loading"

/// One version of a model, as it is at one moment.
struct ModelInfo {
  std::string name = {};
  std::string version = {};
  ModelState state = ModelState::Loading;
  /// Why it Failed.
  std::string reason = {};
  /// The program's hash, inputs, outputs and metadata; null until it was read.
  std::shared_ptr<const Program> program = {};
  std::string programHash = {};
  /// Columns of `behavior`; events that a window may have; windows that a
  /// request may have.
  int64_t columns = 0;
  int64_t maxEvents = 0;
  int64_t maxWindows = 0;
};

struct ModelSource {
  /// A program file.
  std::filesystem::path path = {};
  /// Empty: the file's stem.
  std::string name = {};
  /// Empty: one more than the highest number among the name's versions, from
  /// "1" on.
  std::string version = {};
};

/// All methods may be called from any thread.
class Engine {
public:
  /// Opens the device and starts the engine's thread; no model yet.
  static Result<std::unique_ptr<Engine>> create(const EngineConfig &config);
  /// Drains for nothing: what waits is answered NotReady.
  ~Engine();

  /// Reads, loads and warms up a program and makes it Ready, all before it
  /// returns (seconds, on the caller's thread); requests to other models and
  /// versions go on meanwhile. Requests without a version go to the version
  /// that became ready last. A loaded name and version is replaced once the new
  /// program is Ready: no request fails by that.
  Status load(const ModelSource &source);
  /// Takes no more requests for it, answers those that wait, and frees its
  /// memory before it returns. An empty version: all versions.
  Status unload(std::string_view name, std::string_view version = {});
  /// Every version of every model, sorted; and one of them (NotFound).
  std::vector<ModelInfo> models() const;
  Result<ModelInfo> model(std::string_view name,
                          std::string_view version = {}) const;
  /// At least one model, all of them Ready, and not draining.
  bool isReady() const;

  /// Checks the request and queues it. The arrays that `request.windows` names
  /// must stay and not change until the callback was called.
  RequestId submit(const Request &request, Callback callback);
  /// If it still waits it is dropped and its callback called with Cancelled,
  /// inside this call; else nothing, and its answer comes or has come.
  void cancel(RequestId request);

  /// NotFound, NotReady or QueueFull (as many streams as there may be) as an
  /// Error; see StreamSession.h.
  std::variant<std::shared_ptr<StreamSession>, Error>
  openStream(const StreamOptions &options);

  Statistics statistics() const;
  /// How long the engine's thread has not turned though there is work for it; 0
  /// where there is none. A turn lasts as long as a batch, so that more is a
  /// device that hangs.
  std::chrono::nanoseconds sinceTurn() const;
  const EngineConfig &config() const;
  /// "cpu avx2, 2 threads".
  std::string deviceName() const;

  /// Refuses new requests as NotReady and waits until every accepted one is
  /// answered or `limit` has passed; what then still waits is answered
  /// NotReady. Returns how many those were.
  int64_t drain(std::chrono::nanoseconds limit);

private:
  struct Parts;
  explicit Engine(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

} // namespace betz::serve
