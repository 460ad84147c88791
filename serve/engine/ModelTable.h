//===- ModelTable.h - Which versions of which models there are ------------===//
#pragma once

#include "serve/engine/Engine.h"
#include "serve/engine/LoadedModel.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace betz::serve {

/// One version of a model, while it is loaded.
struct ModelVersion {
  std::string name;
  std::string version;
  std::string programHash;
  std::unique_ptr<LoadedModel> loaded;
  /// Guarded by the dispatcher.
  ModelStatistics statistics;

  ModelVersion(std::string name, std::string version)
      : name(name), version(version),
        statistics(std::move(name), std::move(version)) {}

private:
  friend class ModelTable;
  int64_t uses = 0; // guarded by the table
};

/// Hands versions out for use, and gives a version's memory back when its last
/// use ends. Thread-safe.
class ModelTable {
public:
  /// The version, in use until release(); an Error where there is none that is
  /// ready. No version: the one that became ready last.
  std::variant<ModelVersion *, Error> use(std::string_view name,
                                          std::string_view version);
  void release(ModelVersion *version);

  /// Reserves an entry in state Loading and fills in the version where it is
  /// empty. An error if this very version is loading already.
  Status beginLoad(const std::string &name, std::string &version);
  /// Makes it Ready in the entry's place, and then waits for the last use of
  /// what was there before and frees it.
  void publish(std::unique_ptr<ModelVersion> version);
  /// The entry is Failed, or as it was where one was ready.
  void failLoad(const std::string &name, const std::string &version,
                const Status &why);
  /// Waits for the last uses and frees them. NotFound.
  Status remove(std::string_view name, std::string_view version);

  /// Every version, sorted; one of them (NotFound).
  std::vector<ModelInfo> list() const;
  Result<ModelInfo> describe(std::string_view name, std::string_view version);
  /// At least one is Ready, and none is Loading.
  bool isReady() const;
  /// Calls `visit` for each that is loaded, under the table's lock.
  void forEach(const std::function<void(ModelVersion &)> &visit);

private:
  struct Entry {
    ModelState state = ModelState::Loading;
    bool isLoading = false;
    std::string reason;
    std::unique_ptr<ModelVersion> current;
    uint64_t readyOrder = 0;
  };
  using Versions = std::map<std::string, Entry, std::less<>>;

  ModelInfo describe(const std::string &name, const std::string &version,
                     const Entry &entry) const;
  Entry *newestReady(Versions &versions);
  void waitUntilUnused(std::unique_lock<std::mutex> &lock,
                       const ModelVersion &version);

  mutable std::mutex mutex;
  std::condition_variable released;
  std::map<std::string, Versions, std::less<>> models;
  uint64_t readyCount = 0;
};

} // namespace betz::serve
