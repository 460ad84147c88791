//===- Request.h - What is asked of the engine, and its answer ------------===//
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace betz::serve {

using Clock = std::chrono::steady_clock;

/// Why a request has no result. The comment is the HTTP status that it maps to.
enum class ErrorKind : uint8_t {
  Invalid,      // 400: wrong shapes, ids, splits, or too large for the program
  UnknownModel, // 404
  QueueFull,    // 429, with Retry-After
  Cancelled,    // 499: the caller withdrew it; nobody reads the answer
  Device,       // 503: the device failed the step
  NotReady,     // 503: the model is loading, or the engine is draining
  Late,         // 504: refused at once, as it would have ended too late
  Expired,      // 504: its deadline passed while it waited; it never ran
};
inline constexpr size_t kErrorKinds = 8;

/// "queue_full": what metrics and logs call it.
std::string_view toString(ErrorKind kind);
int httpStatus(ErrorKind kind);

struct Error {
  ErrorKind kind = ErrorKind::Invalid;
  /// One line: what, where, what to do.
  std::string message = {};
  /// For QueueFull and Late: when it is worth asking again.
  std::chrono::nanoseconds retryAfter{0};
};

/// Classes are strict: no Normal request is taken while an Urgent one waits.
/// Within a class the earliest deadline comes first.
enum class Priority : uint8_t { Urgent, Normal, Bulk };
inline constexpr size_t kPriorities = 3;

/// Windows of events as a program takes them: dense arrays of i32, host memory.
/// They stay the caller's.
struct Windows {
  /// [events] each, window after window.
  std::span<const int32_t> neuronId = {};
  std::span<const int32_t> timeBin = {};
  std::span<const int32_t> value = {};
  /// [windows + 1]: window w has the events [rowSplits[w], rowSplits[w + 1]).
  std::span<const int32_t> rowSplits = {};
  /// [windows]: the bin that each window's time counts from; empty for zeros.
  std::span<const int32_t> windowStart = {};

  int64_t windows() const { return int64_t(rowSplits.size()) - 1; }
  int64_t events() const { return int64_t(neuronId.size()); }
};

struct Request {
  std::string_view model = {};
  /// Empty: the newest version that is ready.
  std::string_view version = {};
  Windows windows = {};
  /// Absent: the arrival plus EngineConfig::defaultDeadline.
  std::optional<Clock::time_point> deadline = {};
  Priority priority = Priority::Normal;
};

/// A result, readable until the callback that gets it returns.
struct Decoded {
  /// f32 [windows, columns], row-major.
  std::span<const float> behavior = {};
  int64_t windows = 0;
  int64_t columns = 0;
  /// The version that computed it.
  std::string_view version = {};
  /// From arrival to dispatch; the batch's time from dispatch to its end, and
  /// what was predicted for that.
  std::chrono::nanoseconds queued{0};
  std::chrono::nanoseconds computed{0};
  std::chrono::nanoseconds predicted{0};
  /// The batch that it was part of: equal for all its requests, unique in the
  /// engine's life; and its windows.
  uint64_t batch = 0;
  int64_t batchWindows = 0;
  /// The program gave a NaN or an infinity for one of the windows.
  bool isNonFinite = false;
  /// `behavior` is the stream's last finite row instead of that.
  bool isHeld = false;
};

using Answer = std::variant<Decoded, Error>;

/// Called exactly once for each request, from a thread of the engine or, for
/// what is refused at once, inside submit(). Must not block. A callable of at
/// most two pointers makes a submit() allocate nothing.
using Callback = std::function<void(const Answer &)>;

/// Names a submitted request for cancel(); never reused.
enum class RequestId : uint64_t {};

} // namespace betz::serve
