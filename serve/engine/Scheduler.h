//===- Scheduler.h - Which requests run next, and which never will --------===//
#pragma once

#include "serve/engine/ServiceTimes.h"

#include <span>
#include <vector>

namespace betz::serve {

/// What the scheduler knows of a loaded program. Owned by the engine; must stay
/// while jobs name it.
struct ModelSchedule {
  struct Bucket {
    int64_t windows = 0;
    int64_t events = 0;
  };
  std::vector<Bucket> buckets;
  /// Windows of a batch; at least those of any job.
  int64_t maxWindows = 0;
  ServiceTimes times;

  bool fits(int64_t windows, int64_t events) const;
};

/// A request that waits.
struct Job {
  /// The engine's number for it, unique among those that wait.
  uint32_t slot = 0;
  ModelSchedule *model = nullptr;
  Priority priority = Priority::Normal;
  Clock::time_point arrival;
  Clock::time_point deadline;
  int64_t windows = 0;
  int64_t events = 0;
};

/// Why a job is not taken.
struct Refusal {
  ErrorKind kind = ErrorKind::Late;
  /// When it is expected that there is room.
  std::chrono::nanoseconds retryAfter{0};
};

/// Jobs in order of (priority, deadline, arrival), and the batches to make of
/// them. It never waits for a batch to fill, and it takes no job that it
/// expects to end late. Pure: it reads no clock, starts nothing and, once made,
/// allocates nothing. Not thread-safe.
class Scheduler {
public:
  explicit Scheduler(size_t maxJobs);

  /// Queues `job`, or says why not: QueueFull; Late if by what was learned
  /// it would end after its deadline, or would make another of its class or
  /// above end so; Expired.
  std::optional<Refusal> admit(const Job &job, Clock::time_point now);

  /// Takes the job out; whether it was there.
  bool remove(uint32_t slot);

  /// Moves the next batch's jobs, all of one model, to `batch`, and jobs whose
  /// deadline has passed, or has become impossible, to `dropped`; both are
  /// replaced. A batch is as small as it can be without costing throughput: a
  /// batch is made larger only if that gains windows a second and no deadline
  /// is lost by it.
  void take(Clock::time_point now, std::vector<Job> &batch,
            std::vector<Job> &dropped);

  /// When the batches that were taken are expected to have ended.
  void setBusyUntil(Clock::time_point time) { busyUntil = time; }

  size_t size() const { return jobs.size(); }
  /// The predicted time of a batch.
  static ServiceTime predict(std::span<const Job> batch);

private:
  /// When something is expected to end, and the squared mean deviation of that.
  struct Moment {
    Clock::time_point mean;
    double variance = 0;

    Moment after(const ServiceTime &time) const;
    /// So many mean deviations after the mean.
    Clock::time_point latest(double deviations) const;
  };
  /// What running the queue in thought gives.
  struct Forecast {
    /// Whether some job that runs with or behind job `from`, of class
    /// `priority` or above, ends late.
    bool isLate = false;
    Clock::time_point emptyAt;
  };
  Forecast forecast(size_t from, Priority priority, Clock::time_point now);
  /// Puts into `picked` the positions of the batch that begins with job `first`
  /// at `start`, of jobs not in `taken`, so that all deadlines are kept by this
  /// margin in mean deviations. Returns its predicted time.
  ServiceTime pick(size_t first, const Moment &start, double margin);
  void grow(size_t first, const Moment &start, double margin);
  /// How many of `picked` to keep.
  size_t smallestGoodBatch() const;
  void dropHopeless(Clock::time_point now, std::vector<Job> &dropped);
  Clock::time_point startOfNext(Clock::time_point now) const {
    return std::max(now, busyUntil);
  }

  size_t maxJobs;
  std::vector<Job> jobs; // in order
  Clock::time_point busyUntil{};

  // Scratch, at its largest from the start.
  std::vector<uint8_t> taken;
  std::vector<uint32_t> picked;
  /// Of the first 1, 2, ... of `picked`: predicted time and windows.
  std::vector<ServiceTime> times;
  std::vector<int64_t> windowsUpTo;
};

} // namespace betz::serve
