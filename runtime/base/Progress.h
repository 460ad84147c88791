//===- Progress.h - A line that says a long task is alive -----------------===//
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace betz {

/// One line on stderr, redrawn at most five times a second, shown only when
/// stderr is a terminal and the task has run for over two seconds; erased when
/// the object dies. Not thread-safe: one thread owns it.
class Progress {
public:
  /// `total` in `unit`s; 0 means unknown.
  Progress(std::string what, int64_t total, std::string unit);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void update(int64_t done);

private:
  using Clock = std::chrono::steady_clock;
  std::string what;
  std::string unit;
  int64_t total;
  Clock::time_point start;
  Clock::time_point lastDraw;
  bool terminal;
  bool drawn = false;
};

/// The same for a task that cannot say how far it is: "compiling m (5 s)",
/// redrawn every second by a thread of its own while the object lives.
class BusyLine {
public:
  explicit BusyLine(std::string what);
  ~BusyLine();
  BusyLine(const BusyLine &) = delete;
  BusyLine &operator=(const BusyLine &) = delete;

private:
  void draw(const std::string &what);

  std::mutex mutex;
  std::condition_variable ended;
  bool done = false; // guarded by mutex
  std::thread thread;
};

} // namespace betz
