#include "runtime/base/Progress.h"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace betz {
namespace {
constexpr auto kQuietTime = std::chrono::seconds(2);
constexpr auto kRedrawTime = std::chrono::milliseconds(200);
} // namespace

Progress::Progress(std::string what, int64_t total, std::string unit)
    : what(std::move(what)), unit(std::move(unit)), total(total),
      start(Clock::now()), lastDraw(start), terminal(::isatty(2) == 1) {}

Progress::~Progress() {
  if (drawn)
    std::fputs("\r\x1b[K", stderr);
}

void Progress::update(int64_t done) {
  if (!terminal)
    return;
  Clock::time_point now = Clock::now();
  if (now - start < kQuietTime || (drawn && now - lastDraw < kRedrawTime))
    return;
  lastDraw = now;
  drawn = true;
  double seconds = std::chrono::duration<double>(now - start).count();
  std::string line = fmt::format("\r\x1b[K{}: {}", what, done);
  if (total > 0) {
    double left = done > 0 ? seconds * double(total - done) / double(done) : 0;
    line += fmt::format("/{} {} ({:.0f} %, {:.0f} s left)", total, unit,
                        100.0 * double(done) / double(total), left);
  } else {
    line += fmt::format(" {} ({:.0f} s)", unit, seconds);
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

BusyLine::BusyLine(std::string what) {
  if (::isatty(2) == 1)
    thread = std::thread([this, what = std::move(what)] { draw(what); });
}

BusyLine::~BusyLine() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  ended.notify_one();
  thread.join();
}

void BusyLine::draw(const std::string &what) {
  std::unique_lock lock(mutex);
  auto isDone = [this] { return done; };
  if (ended.wait_for(lock, kQuietTime, isDone))
    return;
  auto seconds = kQuietTime;
  do
    fmt::print(stderr, "\r\x1b[K{} ({} s)", what, (seconds++).count());
  while (!ended.wait_for(lock, std::chrono::seconds(1), isDone));
  fmt::print(stderr, "\r\x1b[K");
}

} // namespace betz
