#include "runtime/base/File.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace betz {
namespace {

class FileDescriptor {
public:
  explicit FileDescriptor(int fd) : fd(fd) {}
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
  ~FileDescriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  int get() const { return fd; }

private:
  int fd;
};

Status systemError(const std::filesystem::path &path, std::string_view doing) {
  int error = errno;
  std::string text = fmt::format("{}: cannot {}: {}", path.string(), doing,
                                 std::strerror(error));
  if (error == ENOENT)
    return notFound(std::move(text));
  if (error == ENOSPC || error == ENOMEM)
    return resourceExhausted(std::move(text));
  return invalidArgument(std::move(text));
}

} // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path &path,
                                    bool prefault) {
  // O_NONBLOCK, lest a pipe that nobody writes to hold this up; it means
  // nothing for the regular files that pass below.
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0)
    return systemError(path, "open");
  struct stat info;
  if (::fstat(fd.get(), &info) != 0)
    return systemError(path, "stat");
  if (!S_ISREG(info.st_mode))
    return invalidArgument(
        fmt::format("{}: not a regular file", path.string()));
  if (info.st_size == 0)
    return MappedFile(nullptr, 0);
  int flags = MAP_PRIVATE | (prefault ? MAP_POPULATE : 0);
  void *data = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ,
                      flags, fd.get(), 0);
  if (data == MAP_FAILED)
    return systemError(path, "map");
  return MappedFile(static_cast<const std::byte *>(data),
                    static_cast<size_t>(info.st_size));
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data(std::exchange(other.data, nullptr)),
      size(std::exchange(other.size, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<std::byte *>(data), size);
}

Status writeAll(int fd, const void *data, size_t size) {
  const char *at = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t wrote = ::write(fd, at, size);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote < 0)
      return resourceExhausted(
          fmt::format("cannot write: {}", std::strerror(errno)));
    at += wrote;
    size -= static_cast<size_t>(wrote);
  }
  return Status::ok();
}

namespace {

/// What a link leads to, so that the link stays one.
std::filesystem::path followLinks(const std::filesystem::path &path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error))
    return path;
  std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target;
}

/// For what is there and no regular file: a device or pipe takes the bytes as
/// they come, since renaming over it would destroy it.
Status writeDirectly(const std::filesystem::path &path,
                     const std::function<Status(int fd)> &write) {
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0)
    return systemError(path, "write");
  return write(fd.get()).withContext(path.string());
}

/// Names of files being written, for removePartialFiles(). More at once than
/// there are places are written all the same.
std::atomic<const char *> partialFiles[16];

/// Registers a name while it lives.
class PartialFile {
public:
  explicit PartialFile(const std::filesystem::path &path)
      : name(fmt::format("{}.{}.partial", path.string(), ::getpid())) {
    for (std::atomic<const char *> &candidate : partialFiles) {
      const char *none = nullptr;
      if (!candidate.compare_exchange_strong(none, name.c_str()))
        continue;
      place = &candidate;
      return;
    }
  }
  PartialFile(const PartialFile &) = delete;
  PartialFile &operator=(const PartialFile &) = delete;
  ~PartialFile() {
    if (place)
      place->store(nullptr);
  }

  const std::string name;

private:
  std::atomic<const char *> *place = nullptr;
};

} // namespace

Status writeFileAtomically(const std::filesystem::path &given,
                           const std::function<Status(int fd)> &write) {
  const std::filesystem::path path = followLinks(given);
  std::error_code missing;
  auto type = std::filesystem::status(path, missing).type();
  using enum std::filesystem::file_type;
  if (type == directory)
    return invalidArgument(
        fmt::format("{}: is a folder; give a file", path.string()));
  if (type == character || type == block || type == fifo || type == socket)
    return writeDirectly(path, write);
  PartialFile temporary(path);
  auto abandon = [&](Status status) {
    ::unlink(temporary.name.c_str());
    return status;
  };
  {
    FileDescriptor fd(::open(temporary.name.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd.get() < 0)
      return systemError(path, "create a file beside it");
    if (Status status = write(fd.get()); !status.isOk())
      return abandon(std::move(status).withContext(path.string()));
    if (::fsync(fd.get()) != 0)
      return abandon(systemError(path, "flush"));
  }
  if (::rename(temporary.name.c_str(), path.c_str()) != 0)
    return abandon(systemError(path, "rename into place"));
  return Status::ok();
}

namespace {

/// One file under two names; devices may well be given twice.
bool isSameFile(const std::filesystem::path &one,
                const std::filesystem::path &other) {
  std::error_code error;
  if (std::filesystem::exists(one, error))
    return std::filesystem::is_regular_file(one, error) &&
           std::filesystem::equivalent(one, other, error);
  // Of a relative path nothing of which exists, weakly_canonical keeps "./".
  const auto canonical = [&](const std::filesystem::path &path) {
    return std::filesystem::weakly_canonical(
        std::filesystem::absolute(path, error), error);
  };
  return canonical(one) == canonical(other);
}

Status checkFolder(const std::filesystem::path &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return invalidArgument(
        fmt::format("{}: is a folder; give a file", path.string()));
  std::filesystem::path folder = followLinks(path).parent_path();
  if (folder.empty())
    folder = ".";
  if (!std::filesystem::is_directory(folder, error))
    return notFound(fmt::format("{}: {} is no folder; make it first",
                                path.string(), folder.string()));
  if (!std::filesystem::exists(path, error) &&
      ::access(folder.c_str(), W_OK | X_OK) != 0)
    return systemError(path, "write into " + folder.string());
  return Status::ok();
}

} // namespace

Status checkOutputs(const std::vector<std::filesystem::path> &outputs,
                    const std::vector<std::filesystem::path> &inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::filesystem::path &output = outputs[i];
    if (output.empty() || output == "-")
      continue;
    for (const std::filesystem::path &input : inputs)
      if (!input.empty() && isSameFile(output, input))
        return invalidArgument(
            fmt::format("{}: would replace the input {}; write to another file",
                        output.string(), input.string()));
    for (size_t j = 0; j < i; ++j)
      if (!outputs[j].empty() && isSameFile(output, outputs[j]))
        return invalidArgument(
            fmt::format("{}: is to hold two outputs; give each its own file",
                        output.string()));
    BETZ_RETURN_IF_ERROR(checkFolder(output));
  }
  return Status::ok();
}

void removePartialFiles() {
  for (std::atomic<const char *> &place : partialFiles)
    if (const char *name = place.load())
      ::unlink(name);
}

Status writeFileAtomically(const std::filesystem::path &path,
                           std::string_view contents) {
  return writeFileAtomically(path, [&](int fd) {
    return writeAll(fd, contents.data(), contents.size());
  });
}

Result<std::string> readTextFile(const std::filesystem::path &path) {
  BETZ_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  std::span<const std::byte> bytes = file.bytes();
  return std::string(reinterpret_cast<const char *>(bytes.data()),
                     bytes.size());
}

Status makeFolder(const std::filesystem::path &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? invalidArgument(fmt::format("{}: cannot make this folder: {}",
                                             path.string(), error.message()))
               : Status::ok();
}

} // namespace betz
