#include "runtime/base/Log.h"
#include "runtime/base/Options.h"

#include <cstdio>
#include <mutex>
#include <string>

namespace betz {
namespace {
constexpr std::string_view kNames[] = {"error", "warning", "info", "debug"};

LogLevel threshold() {
  static const LogLevel level = [] {
    std::string_view text = environment().logLevel;
    for (size_t i = 0; i < std::size(kNames); ++i)
      if (kNames[i] == text)
        return static_cast<LogLevel>(i);
    return LogLevel::Warn;
  }();
  return level;
}
} // namespace

bool logEnabled(LogLevel level) { return level <= threshold(); }

void logLine(LogLevel level, std::string_view channel,
             std::string_view message) {
  if (!logEnabled(level))
    return;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::string_view name = kNames[static_cast<size_t>(level)];
  std::string line = fmt::format("betz: {}: [{}] {}\n", name, channel, message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

} // namespace betz
