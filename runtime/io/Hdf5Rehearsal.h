//===- Hdf5Rehearsal.h - Reading a file first where a crash is harmless ---===//
//
// The HDF5 library trusts a file's own bookkeeping: a damaged B-tree or heap
// can make it crash or loop. So what is to be read is read once in a forked
// child, and again in this process only if the child came through.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace betz::hdf5 {

struct RehearsalLimits {
  std::chrono::seconds processorTime{20};
  /// A child that waits for ever, say on a lock that another thread held at
  /// the fork, is stopped as well; slow disks get their time.
  std::chrono::seconds time{120};
  /// Bytes beyond what the process has: a chunk that claims gigabytes in a
  /// small file is damage. The machine's memory is the limit where it is less.
  uint64_t memory = uint64_t(1) << 30;

  /// Grown with the size of what is read, which may be compressed.
  static RehearsalLimits forFile(const std::filesystem::path &path);
};

/// Runs `read` in a child process, which may not log or write. Gives what
/// `read` gives there, or DataLoss naming `file` if it crashes or passes a
/// limit. Holds the library's lock meanwhile, so calls from several threads
/// take turns.
Status rehearse(const std::string &file, const std::function<Status()> &read,
                const RehearsalLimits &limits = {});

} // namespace betz::hdf5
