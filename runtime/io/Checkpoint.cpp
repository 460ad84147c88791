#include "runtime/io/Checkpoint.h"
#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/io/Hdf5.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace betz {
namespace {

namespace fs = std::filesystem;

constexpr const char *kManifest = "manifest.json";
constexpr const char *kFormat = "betz checkpoint 1";
constexpr std::string_view kPrefix = "step-";

/// Elements [from, to) of every vector.
struct Range {
  int64_t from = 0, to = 0;
};

Range rangeOf(int64_t part, int64_t parts, int64_t size) {
  const auto edge = [&](int64_t i) {
    return int64_t(__int128(size) * i / parts);
  };
  return {edge(part), edge(part + 1)};
}

Result<std::string> hashFile(const fs::path &path) {
  BETZ_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  return toHex(hashBytes(file.bytes().data(), file.bytes().size()));
}

/// Of all but itself.
std::string hashManifest(Json manifest) {
  manifest.erase("xxh3");
  return toHex(hashBytes(manifest.dump()));
}

Status syncFolder(const fs::path &folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return notFound(fmt::format("{}: cannot open: {}", folder.string(),
                                std::strerror(errno)));
  const bool synced = ::fsync(fd) == 0;
  ::close(fd);
  return synced ? Status::ok()
                : resourceExhausted(fmt::format("{}: cannot flush to disk: {}",
                                                folder.string(),
                                                std::strerror(errno)));
}

Result<Json> writeShard(const fs::path &folder, const Checkpoint &checkpoint,
                        int64_t number, Range range) {
  const std::string name = fmt::format("shard-{}.h5", number);
  BETZ_RETURN_IF_ERROR(
      writeHdf5(folder / name, [&](Hdf5Writer &writer) -> Status {
        for (const auto &[vector, values] : checkpoint.vectors) {
          const std::span<const float> part = std::span(values).subspan(
              size_t(range.from), size_t(range.to - range.from));
          BETZ_RETURN_IF_ERROR(
              writer.floats("/" + vector, part, {int64_t(part.size())}));
        }
        return Status::ok();
      }));
  BETZ_ASSIGN_OR_RETURN(std::string hash, hashFile(folder / name));
  return Json{
      {"file", name}, {"from", range.from}, {"to", range.to}, {"xxh3", hash}};
}

Status writeFiles(const fs::path &folder, const Checkpoint &checkpoint,
                  int64_t size, int64_t shards) {
  Json names = Json::array(), files = Json::array();
  for (const auto &[name, values] : checkpoint.vectors)
    names.push_back(name);
  for (int64_t i = 0; i < shards; ++i) {
    BETZ_ASSIGN_OR_RETURN(Json shard, writeShard(folder, checkpoint, i,
                                                 rangeOf(i, shards, size)));
    files.push_back(std::move(shard));
  }
  Json manifest = {{"format", kFormat},          {"step", checkpoint.step},
                   {"elements", size},           {"vectors", std::move(names)},
                   {"shards", std::move(files)}, {"state", checkpoint.state}};
  manifest["xxh3"] = hashManifest(manifest);
  BETZ_RETURN_IF_ERROR(
      writeFileAtomically(folder / kManifest, manifest.dump(2) + "\n"));
  return syncFolder(folder);
}

/// `from` becomes `to`, whatever was there.
Status replaceFolder(const fs::path &from, const fs::path &to) {
  std::error_code error;
  fs::remove_all(to, error);
  if (!error)
    fs::rename(from, to, error);
  if (error)
    return resourceExhausted(fmt::format("{}: cannot take its place: {}",
                                         to.string(), error.message()));
  return syncFolder(to.parent_path());
}

Result<Json> readManifest(const fs::path &path) {
  const fs::path file = path / kManifest;
  BETZ_ASSIGN_OR_RETURN(std::string text, readTextFile(file));
  Result<Json> manifest = parseJson(text);
  if (!manifest.isOk() || !manifest->is_object() ||
      manifest->value("format", Json()) != Json(kFormat))
    return dataLoss(
        fmt::format("{}: is no whole manifest of a checkpoint; take another "
                    "checkpoint",
                    file.string()));
  if (manifest->value("xxh3", Json()) != Json(hashManifest(*manifest)))
    return dataLoss(fmt::format(
        "{}: has changed since it was written; take another checkpoint",
        file.string()));
  return manifest;
}

/// Appends what `wanted` and the shard have in common to `values`.
Status readShard(const fs::path &folder, const Json &shard, Range wanted,
                 const std::string &vector, std::vector<float> &values) {
  BETZ_ASSIGN_OR_RETURN(int64_t from, getMember<int64_t>(shard, "from"));
  BETZ_ASSIGN_OR_RETURN(int64_t to, getMember<int64_t>(shard, "to"));
  BETZ_ASSIGN_OR_RETURN(std::string name,
                        getMember<std::string>(shard, "file"));
  const int64_t first = std::max(from, wanted.from);
  const int64_t count = std::min(to, wanted.to) - first;
  if (count <= 0)
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(Hdf5File file, Hdf5File::open(folder / name));
  BETZ_ASSIGN_OR_RETURN(std::vector<float> part,
                        file.readFloats("/" + vector, first - from, count));
  values.insert(values.end(), part.begin(), part.end());
  return Status::ok();
}

/// Damage is found here, before the HDF5 library sees the file.
Status checkShards(const fs::path &folder, const Json &shards) {
  for (const Json &shard : shards) {
    BETZ_ASSIGN_OR_RETURN(std::string name,
                          getMember<std::string>(shard, "file"));
    BETZ_ASSIGN_OR_RETURN(std::string expected,
                          getMember<std::string>(shard, "xxh3"));
    BETZ_ASSIGN_OR_RETURN(std::string actual, hashFile(folder / name));
    if (actual != expected)
      return dataLoss(fmt::format("{}: is cut or has changed since it was "
                                  "written; take another checkpoint",
                                  (folder / name).string()));
  }
  return Status::ok();
}

} // namespace

Result<fs::path> writeCheckpoint(const fs::path &folder,
                                 const Checkpoint &checkpoint, int64_t shards) {
  if (checkpoint.vectors.empty() || shards < 1)
    return invalidArgument("a checkpoint needs a vector and a shard");
  const size_t size = checkpoint.vectors.begin()->second.size();
  for (const auto &[name, values] : checkpoint.vectors)
    if (values.size() != size)
      return invalidArgument(
          fmt::format("\"{}\" has {} elements, \"{}\" {}", name, values.size(),
                      checkpoint.vectors.begin()->first, size));
  const std::string name = fmt::format("{}{:08}", kPrefix, checkpoint.step);
  const fs::path place = folder / name, partial = folder / ("." + name);
  BETZ_RETURN_IF_ERROR(makeFolder(folder));
  std::error_code ignored;
  fs::remove_all(partial, ignored);
  BETZ_RETURN_IF_ERROR(makeFolder(partial));
  Status status = writeFiles(partial, checkpoint, int64_t(size), shards);
  if (status.isOk())
    status = replaceFolder(partial, place);
  if (!status.isOk()) {
    fs::remove_all(partial, ignored);
    return status;
  }
  return place;
}

Result<Checkpoint> readCheckpoint(const fs::path &path, int64_t part,
                                  int64_t parts) {
  if (parts < 1 || part < 0 || part >= parts)
    return invalidArgument(
        fmt::format("there is no part {} of {}", part, parts));
  BETZ_ASSIGN_OR_RETURN(Json manifest, readManifest(path));
  BETZ_ASSIGN_OR_RETURN(const Json *shards, getArray(manifest, "shards"));
  BETZ_ASSIGN_OR_RETURN(const Json *names, getArray(manifest, "vectors"));
  BETZ_ASSIGN_OR_RETURN(const Json *state, getObject(manifest, "state"));
  BETZ_ASSIGN_OR_RETURN(int64_t size, getMember<int64_t>(manifest, "elements"));
  BETZ_RETURN_IF_ERROR(checkShards(path, *shards));
  Checkpoint checkpoint;
  BETZ_ASSIGN_OR_RETURN(checkpoint.step, getMember<int64_t>(manifest, "step"));
  checkpoint.state = *state;
  const Range wanted = rangeOf(part, parts, size);
  for (const Json &name : *names) {
    std::vector<float> &values = checkpoint.vectors[name.get<std::string>()];
    for (const Json &shard : *shards)
      BETZ_RETURN_IF_ERROR(
          readShard(path, shard, wanted, name.get<std::string>(), values));
    if (int64_t(values.size()) != wanted.to - wanted.from)
      return dataLoss(fmt::format("{}: its shards lack a part of \"{}\"",
                                  path.string(), name.get<std::string>()));
  }
  return checkpoint;
}

std::vector<fs::path> listCheckpoints(const fs::path &folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with(kPrefix) &&
        fs::exists(entry.path() / kManifest, error))
      found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

} // namespace betz
