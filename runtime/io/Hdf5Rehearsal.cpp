#include "runtime/io/Hdf5Rehearsal.h"

#include "runtime/io/Hdf5Internal.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace betz::hdf5 {
namespace {

using Clock = std::chrono::steady_clock;

/// Longer messages than a pipe holds would block the child for good.
constexpr size_t kLongestMessage = 4000;

/// The address space of this process in bytes; 0 when unknown.
rlim_t addressSpace() {
  std::FILE *file = std::fopen("/proc/self/statm", "re");
  if (!file)
    return 0;
  unsigned long pages = 0;
  int read = std::fscanf(file, "%lu", &pages);
  std::fclose(file);
  return read == 1 ? rlim_t(pages) * rlim_t(::sysconf(_SC_PAGESIZE)) : 0;
}

void limit(__rlimit_resource resource, rlim_t value) {
  struct rlimit limits = {};
  if (::getrlimit(resource, &limits) != 0)
    return;
  limits.rlim_cur = std::min(limits.rlim_max, value);
  ::setrlimit(resource, &limits);
}

void limitMemory(uint64_t extra) {
#if __has_feature(address_sanitizer)
  constexpr bool kHasShadow = true; // of terabytes, which no limit fits
#else
  constexpr bool kHasShadow = false;
#endif
  if (kHasShadow)
    return;
  rlim_t machine =
      rlim_t(::sysconf(_SC_PHYS_PAGES)) * rlim_t(::sysconf(_SC_PAGESIZE));
  if (rlim_t used = addressSpace())
    limit(RLIMIT_AS, used + std::min(machine, rlim_t(extra)));
}

/// A crash must stay in the child: no message, no core file, none of the
/// parent's handlers, and no life without the parent.
void isolateChild(const RehearsalLimits &limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGXCPU, SIGINT,
                     SIGTERM, SIGHUP})
    ::signal(signal, SIG_DFL);
  int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, rlim_t(limits.processorTime.count()));
  limitMemory(limits.memory);
}

Status readGuarded(const std::function<Status()> &read) {
  try {
    return read();
  } catch (const std::exception &) {
    return resourceExhausted("needs more memory than there is");
  }
}

/// The child: its whole answer is the code and then the message.
[[noreturn]] void answer(int pipe, const std::function<Status()> &read,
                         const RehearsalLimits &limits) {
  isolateChild(limits);
  Status status = readGuarded(read);
  std::string text(1, char(status.getCode()));
  text += status.message().substr(0, kLongestMessage);
  ssize_t wrote = ::write(pipe, text.data(), text.size());
  // Not exit(): the parent's buffers and handlers are not the child's to run.
  ::_exit(wrote == ssize_t(text.size()) ? 0 : 1);
}

/// What the child writes until it ends or its time is up; `late` says which.
std::string collect(int pipe, std::chrono::seconds time, bool &late) {
  std::string text;
  const Clock::time_point end = Clock::now() + time;
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    late = left.count() <= 0;
    if (late)
      return text;
    struct pollfd ready = {pipe, POLLIN, 0};
    if (::poll(&ready, 1, int(left.count())) <= 0)
      continue;
    char piece[512];
    ssize_t got = ::read(pipe, piece, sizeof(piece));
    if (got == 0 || (got < 0 && errno != EINTR))
      return text;
    text.append(piece, size_t(std::max<ssize_t>(got, 0)));
  }
}

/// Waits for the child; true if it used up its processor time. A process that
/// ignores SIGCHLD learns nothing here, which is well: the pipe has spoken.
bool reap(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return false;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
}

} // namespace

RehearsalLimits RehearsalLimits::forFile(const std::filesystem::path &path) {
  // Bytes become doubles, after deflate at its usual best.
  constexpr uint64_t kExpansion = 256;
  RehearsalLimits limits;
  std::error_code error;
  uint64_t bytes = std::filesystem::file_size(path, error);
  if (!error)
    limits.memory += kExpansion * std::min(bytes, uint64_t(1) << 50);
  return limits;
}

Status rehearse(const std::string &file, const std::function<Status()> &read,
                const RehearsalLimits &limits) {
  // Held across the fork, so that no thread is inside the library then; the
  // child's copy belongs to its one thread.
  LibraryLock lock;
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    return unavailable(fmt::format("{}: cannot be checked for damage: {}", file,
                                   std::strerror(errno)));
  pid_t child = ::fork();
  if (child == 0)
    answer(pipe[1], read, limits);
  int error = errno;
  ::close(pipe[1]);
  if (child < 0) {
    ::close(pipe[0]);
    return unavailable(fmt::format("{}: cannot be checked for damage: {}", file,
                                   std::strerror(error)));
  }
  bool late = false;
  std::string text = collect(pipe[0], limits.time, late);
  ::close(pipe[0]);
  if (late)
    ::kill(child, SIGKILL);
  late |= reap(child);
  if (text.empty())
    return dataLoss(fmt::format("{}: is damaged: reading it {} the HDF5 "
                                "library; repair it with h5repack or fetch it "
                                "again",
                                file, late ? "hangs" : "crashes"));
  return Status(StatusCode(text[0]), text.substr(1));
}

} // namespace betz::hdf5
