//===- File.h - Files that are mapped whole and appear by rename ----------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace betz {

/// A whole file mapped read-only. Move-only; unmapped on destruction. Reading
/// from several threads is safe. An empty file maps to an empty span.
class MappedFile {
public:
  /// `prefault` reads all pages now, so that later access never waits on disk.
  static Result<MappedFile> open(const std::filesystem::path &path,
                                 bool prefault = false);
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data, size}; }

private:
  MappedFile(const std::byte *data, size_t size) : data(data), size(size) {}
  const std::byte *data = nullptr;
  size_t size = 0;
};

/// Writes a file beside `path` through `write`, flushes it to disk and renames
/// it over `path`; on any failure `path` is as it was and nothing is left. A
/// link stays a link; a device or pipe is written directly. `write` gets a file
/// descriptor and must not close it.
Status writeFileAtomically(const std::filesystem::path &path,
                           const std::function<Status(int fd)> &write);
Status writeFileAtomically(const std::filesystem::path &path,
                           std::string_view contents);

/// What can be known before work begins of files to be written: an error if one
/// is also among `inputs`, under whatever name, or among the other outputs, is
/// a folder, or would lie in a folder that is not there or not writable. Empty
/// paths and "-" are no files.
Status checkOutputs(const std::vector<std::filesystem::path> &outputs,
                    const std::vector<std::filesystem::path> &inputs);

/// Makes a folder, and those above it, unless it is there.
Status makeFolder(const std::filesystem::path &path);

/// Removes what unfinished calls of writeFileAtomically have written, for a
/// process that a signal ends. Safe in a signal handler; the calls then fail.
void removePartialFiles();

/// Writes all bytes to a descriptor, through short writes and interrupts.
Status writeAll(int fd, const void *data, size_t size);

/// A text file's contents.
Result<std::string> readTextFile(const std::filesystem::path &path);

} // namespace betz
