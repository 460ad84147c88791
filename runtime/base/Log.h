//===- Log.h - One logger: level, channel, one line on stderr -------------===//
#pragma once

#include <fmt/format.h>
#include <string_view>

namespace betz {

enum class LogLevel { Error, Warn, Info, Debug };

/// Writes "betz: level: [channel] message" to stderr. Thread-safe. Warnings
/// and errors always show; info and debug as BETZ_LOG says (see Options.h).
void logLine(LogLevel level, std::string_view channel,
             std::string_view message);
bool logEnabled(LogLevel level);

template <typename... Args>
void logWarn(std::string_view channel, fmt::format_string<Args...> format,
             Args &&...args) {
  logLine(LogLevel::Warn, channel,
          fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void logInfo(std::string_view channel, fmt::format_string<Args...> format,
             Args &&...args) {
  if (logEnabled(LogLevel::Info))
    logLine(LogLevel::Info, channel,
            fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void logDebug(std::string_view channel, fmt::format_string<Args...> format,
              Args &&...args) {
  if (logEnabled(LogLevel::Debug))
    logLine(LogLevel::Debug, channel,
            fmt::format(format, std::forward<Args>(args)...));
}

} // namespace betz
