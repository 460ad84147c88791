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

} // namespace betz
