#include "serve/engine/Scheduler.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace betz::serve {
namespace {

/// By how many mean deviations a deadline must be kept in the forecast that
/// admits a job, and when a batch is made. The second is smaller, so that what
/// ends a little later than forecast does not make batches small, which would
/// make the next ones later still.
constexpr double kAdmissionMargin = 4;
constexpr double kBatchMargin = 2;
/// A smaller batch is preferred unless a larger one gains more than this part
/// of throughput.
constexpr double kGoodEnough = 0.98;

auto orderOf(const Job &job) {
  return std::tuple(job.priority, job.deadline, job.arrival);
}

bool comesBefore(const Job &a, const Job &b) { return orderOf(a) < orderOf(b); }

ServiceTime predictAlone(const Job &job) {
  return job.model->times.predict(job.windows, job.events);
}

} // namespace

bool ModelSchedule::fits(int64_t windows, int64_t events) const {
  return windows <= maxWindows &&
         std::ranges::any_of(buckets, [&](const Bucket &bucket) {
           return windows <= bucket.windows && events <= bucket.events;
         });
}

Scheduler::Moment Scheduler::Moment::after(const ServiceTime &time) const {
  const double deviation = double(time.deviation.count());
  return {mean + time.mean, variance + deviation * deviation};
}

Clock::time_point Scheduler::Moment::latest(double deviations) const {
  return mean + std::chrono::nanoseconds(
                    std::llround(deviations * std::sqrt(variance)));
}

Scheduler::Scheduler(size_t maxJobs) : maxJobs(maxJobs) {
  // One more while a job is on trial.
  jobs.reserve(maxJobs + 1);
  taken.reserve(maxJobs + 1);
  picked.reserve(maxJobs + 1);
  times.reserve(maxJobs + 1);
  windowsUpTo.reserve(maxJobs + 1);
}

ServiceTime Scheduler::predict(std::span<const Job> batch) {
  int64_t windows = 0, events = 0;
  for (const Job &job : batch) {
    windows += job.windows;
    events += job.events;
  }
  return batch.empty() ? ServiceTime()
                       : batch.front().model->times.predict(windows, events);
}

std::optional<Refusal> Scheduler::admit(const Job &job, Clock::time_point now) {
  if (job.deadline <= now)
    return Refusal{.kind = ErrorKind::Expired};
  if (jobs.size() >= maxJobs) {
    const Forecast ahead = forecast(jobs.size(), job.priority, now);
    return Refusal{ErrorKind::QueueFull, ahead.emptyAt - now};
  }
  const auto place = std::ranges::upper_bound(jobs, job, comesBefore);
  const size_t position = size_t(place - jobs.begin());
  jobs.insert(place, job);
  const Forecast ahead = forecast(position, job.priority, now);
  if (!ahead.isLate)
    return std::nullopt;
  jobs.erase(jobs.begin() + ptrdiff_t(position));
  return Refusal{ErrorKind::Late, ahead.emptyAt - now};
}

bool Scheduler::remove(uint32_t slot) {
  return std::erase_if(jobs, [&](const Job &job) { return job.slot == slot; });
}

void Scheduler::take(Clock::time_point now, std::vector<Job> &batch,
                     std::vector<Job> &dropped) {
  batch.clear();
  dropped.clear();
  dropHopeless(now, dropped);
  if (jobs.empty())
    return;
  taken.assign(jobs.size(), 0);
  pick(0, {startOfNext(now)}, kBatchMargin);
  for (uint32_t position : picked) {
    batch.push_back(jobs[position]);
    taken[position] = 1;
  }
  size_t position = 0;
  std::erase_if(jobs, [&](const Job &) { return taken[position++] != 0; });
}

void Scheduler::dropHopeless(Clock::time_point now, std::vector<Job> &dropped) {
  const Clock::time_point start = startOfNext(now);
  std::erase_if(jobs, [&](const Job &job) {
    const bool hopeless = start + predictAlone(job).mean > job.deadline;
    if (hopeless)
      dropped.push_back(job);
    return hopeless;
  });
}

ServiceTime Scheduler::pick(size_t first, const Moment &start, double margin) {
  grow(first, start, margin);
  const size_t count = smallestGoodBatch();
  picked.resize(count);
  return times[count - 1];
}

void Scheduler::grow(size_t first, const Moment &start, double margin) {
  ModelSchedule *model = jobs[first].model;
  int64_t windows = jobs[first].windows, events = jobs[first].events;
  Clock::time_point latestEnd = jobs[first].deadline;
  picked.assign(1, uint32_t(first));
  times.assign(1, predictAlone(jobs[first]));
  windowsUpTo.assign(1, windows);
  for (size_t i = first + 1; i < jobs.size(); ++i) {
    const Job &job = jobs[i];
    if (taken[i])
      continue;
    if (job.model != model) {
      // It is passed over now, so that it must still be possible afterwards.
      latestEnd = std::min(latestEnd, job.deadline - predictAlone(job).mean);
      continue;
    }
    windows += job.windows;
    events += job.events;
    latestEnd = std::min(latestEnd, job.deadline);
    const ServiceTime time = model->times.predict(windows, events);
    if (!model->fits(windows, events) ||
        start.after(time).latest(margin) > latestEnd)
      return;
    picked.push_back(uint32_t(i));
    times.push_back(time);
    windowsUpTo.push_back(windows);
  }
}

size_t Scheduler::smallestGoodBatch() const {
  auto rate = [&](size_t count) {
    return double(windowsUpTo[count - 1]) /
           double(std::max<int64_t>(times[count - 1].mean.count(), 1));
  };
  double best = 0;
  for (size_t count = 1; count <= picked.size(); ++count)
    best = std::max(best, rate(count));
  // Few sizes to choose from, so that measurements that waver do not change the
  // choice, and with it the batches that later jobs were promised.
  for (size_t count = 1; count < picked.size(); count *= 2)
    if (rate(count) >= kGoodEnough * best)
      return count;
  return picked.size();
}

Scheduler::Forecast Scheduler::forecast(size_t from, Priority priority,
                                        Clock::time_point now) {
  Forecast result;
  Moment end = {startOfNext(now)};
  taken.assign(jobs.size(), 0);
  for (size_t first = 0; first < jobs.size(); ++first) {
    if (taken[first])
      continue;
    const ServiceTime time = pick(first, end, kAdmissionMargin);
    end = end.after(time);
    // What later comes or is learned may move a job from one batch to the next.
    const std::chrono::nanoseconds slip(first > 0 ? time.mean.count() : 0);
    const bool matters = picked.back() >= from;
    for (uint32_t position : picked) {
      taken[position] = 1;
      const Job &job = jobs[position];
      result.isLate |= matters && job.priority <= priority &&
                       end.latest(kAdmissionMargin) + slip > job.deadline;
    }
  }
  result.emptyAt = end.mean;
  return result;
}

} // namespace betz::serve
