#include "serve/engine/ModelTable.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace betz::serve {
namespace {

/// One more than the highest version that is a number.
template <typename Versions> std::string nextVersion(const Versions &versions) {
  int64_t highest = 0;
  for (const auto &[version, entry] : versions) {
    int64_t number = 0;
    const char *end = version.data() + version.size();
    if (std::from_chars(version.data(), end, number).ptr == end)
      highest = std::max(highest, number);
  }
  return std::to_string(highest + 1);
}

} // namespace

std::string_view toString(ModelState state) {
  switch (state) {
  case ModelState::Loading:
    return "loading";
  case ModelState::Ready:
    return "ready";
  case ModelState::Unloading:
    return "unloading";
  case ModelState::Failed:
    return "failed";
  }
  return "unknown";
}

std::variant<ModelVersion *, Error> ModelTable::use(std::string_view name,
                                                    std::string_view version) {
  std::lock_guard lock(mutex);
  auto model = models.find(name);
  if (model == models.end())
    return Error{ErrorKind::UnknownModel,
                 fmt::format("no model {} is loaded", name),
                 {}};
  Entry *entry = nullptr;
  if (version.empty()) {
    entry = newestReady(model->second);
  } else if (auto found = model->second.find(version);
             found != model->second.end()) {
    entry = &found->second;
  } else {
    return Error{ErrorKind::UnknownModel,
                 fmt::format("model {} has no version {}", name, version),
                 {}};
  }
  if (!entry || entry->state != ModelState::Ready)
    return Error{
        ErrorKind::NotReady,
        fmt::format("model {} is {}", name,
                    toString(entry ? entry->state
                                   : model->second.begin()->second.state)),
        {}};
  ++entry->current->uses;
  return entry->current.get();
}

void ModelTable::release(ModelVersion *version) {
  std::lock_guard lock(mutex);
  if (--version->uses == 0)
    released.notify_all();
}

ModelTable::Entry *ModelTable::newestReady(Versions &versions) {
  Entry *newest = nullptr;
  for (auto &[version, entry] : versions)
    if (entry.state == ModelState::Ready &&
        (!newest || entry.readyOrder > newest->readyOrder))
      newest = &entry;
  return newest;
}

Status ModelTable::beginLoad(const std::string &name, std::string &version) {
  std::lock_guard lock(mutex);
  Versions &versions = models[name];
  if (version.empty())
    version = nextVersion(versions);
  Entry &entry = versions[version];
  if (entry.isLoading || entry.state == ModelState::Unloading)
    return unavailable(
        fmt::format("model {} version {} is {} already; wait for that", name,
                    version, entry.isLoading ? "loading" : "unloading"));
  entry.isLoading = true;
  if (!entry.current)
    entry.state = ModelState::Loading;
  return Status::ok();
}

void ModelTable::waitUntilUnused(std::unique_lock<std::mutex> &lock,
                                 const ModelVersion &version) {
  released.wait(lock, [&] { return version.uses == 0; });
}

void ModelTable::publish(std::unique_ptr<ModelVersion> version) {
  std::unique_lock lock(mutex);
  Entry &entry = models[version->name][version->version];
  std::swap(entry.current, version);
  entry.state = ModelState::Ready;
  entry.isLoading = false;
  entry.reason.clear();
  entry.readyOrder = ++readyCount;
  if (version)
    waitUntilUnused(lock, *version);
}

void ModelTable::failLoad(const std::string &name, const std::string &version,
                          const Status &why) {
  std::lock_guard lock(mutex);
  Entry &entry = models[name][version];
  entry.isLoading = false;
  entry.reason = why.message();
  if (!entry.current)
    entry.state = ModelState::Failed;
}

Status ModelTable::remove(std::string_view name, std::string_view version) {
  std::unique_lock lock(mutex);
  auto model = models.find(name);
  if (model == models.end())
    return notFound(fmt::format("no model {} is loaded", name));
  std::vector<std::string> leaving;
  for (auto &[number, entry] : model->second)
    if ((version.empty() || number == version) &&
        entry.state != ModelState::Unloading) {
      if (entry.isLoading)
        return unavailable(fmt::format("model {} version {} is loading; unload "
                                       "it when that has ended",
                                       name, number));
      leaving.push_back(number);
    }
  if (leaving.empty())
    return notFound(fmt::format("model {} has no version {}", name, version));
  for (const std::string &number : leaving)
    model->second.find(number)->second.state = ModelState::Unloading;
  for (const std::string &number : leaving) {
    // Entries that are unloading stay where they are.
    Entry &entry = model->second.find(number)->second;
    if (entry.current)
      waitUntilUnused(lock, *entry.current);
    model->second.erase(number);
  }
  if (model->second.empty())
    models.erase(model);
  return Status::ok();
}

ModelInfo ModelTable::describe(const std::string &name,
                               const std::string &version,
                               const Entry &entry) const {
  ModelInfo info;
  info.name = name;
  info.version = version;
  info.state = entry.state;
  info.reason = entry.reason;
  if (const ModelVersion *current = entry.current.get()) {
    const LoadedModel &loaded = *current->loaded;
    info.program = loaded.sharedProgram();
    info.programHash = current->programHash;
    info.columns = loaded.ports().columns;
    info.maxEvents = loaded.ports().maxEvents;
    info.maxWindows = loaded.maxWindows();
  }
  return info;
}

std::vector<ModelInfo> ModelTable::list() const {
  std::lock_guard lock(mutex);
  std::vector<ModelInfo> list;
  for (const auto &[name, versions] : models)
    for (const auto &[version, entry] : versions)
      list.push_back(describe(name, version, entry));
  return list;
}

Result<ModelInfo> ModelTable::describe(std::string_view name,
                                       std::string_view version) {
  std::lock_guard lock(mutex);
  auto model = models.find(name);
  if (model == models.end())
    return notFound(fmt::format("no model {} is loaded", name));
  for (const auto &[number, entry] : model->second)
    if (version.empty() ? &entry == newestReady(model->second)
                        : number == version)
      return describe(model->first, number, entry);
  if (!version.empty())
    return notFound(fmt::format("model {} has no version {}", name, version));
  const auto &[number, entry] = *model->second.rbegin();
  return describe(model->first, number, entry);
}

bool ModelTable::isReady() const {
  std::lock_guard lock(mutex);
  bool any = false;
  for (const auto &[name, versions] : models)
    for (const auto &[version, entry] : versions) {
      if (entry.state == ModelState::Loading)
        return false;
      any |= entry.state == ModelState::Ready;
    }
  return any;
}

void ModelTable::forEach(const std::function<void(ModelVersion &)> &visit) {
  std::lock_guard lock(mutex);
  for (auto &[name, versions] : models)
    for (auto &[version, entry] : versions)
      if (entry.current)
        visit(*entry.current);
}

} // namespace betz::serve
