//===- Progress.h - A line that says a long task is alive -----------------===//
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

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

} // namespace betz
