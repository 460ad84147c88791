#include "serve/engine/RealTime.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

namespace betz::serve {
namespace {

Status pinTo(const std::vector<int> &cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) {
    if (core < 0 || core >= CPU_SETSIZE)
      return invalidArgument(fmt::format("no core {}", core));
    CPU_SET(core, &set);
  }
  if (int error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
    return unavailable(
        fmt::format("cannot pin to cores {}: {}; name cores that "
                    "this process may use",
                    fmt::join(cores, ","), strerror(error)));
  return Status::ok();
}

} // namespace

Status configureThread(const RealTimeConfig &config) {
  if (!config.cores.empty())
    BETZ_RETURN_IF_ERROR(pinTo(config.cores));
  if (config.fifoPriority == 0)
    return Status::ok();
  const sched_param priority = {.sched_priority = config.fifoPriority};
  if (int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority))
    return unavailable(
        fmt::format("cannot run under SCHED_FIFO at priority {}: {}; it needs "
                    "CAP_SYS_NICE or a limit of rtprio (ulimit -r)",
                    config.fifoPriority, strerror(error)));
  return Status::ok();
}

Status lockMemory() {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
    return Status::ok();
  return unavailable(fmt::format("cannot lock memory: {}; it needs "
                                 "CAP_IPC_LOCK or a limit of memlock "
                                 "(ulimit -l)",
                                 strerror(errno)));
}

} // namespace betz::serve
