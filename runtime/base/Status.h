//===- Status.h - The one error type of Betz ------------------------------===//
//
// Everything outside MLIR's own callbacks reports failure by `Status` or
// `Result<T>`; nothing throws through them and nothing exits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cassert>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace betz {

/// What kind of failure; the command line maps it to an exit code.
enum class StatusCode {
  Ok,
  /// A check that the user asked for did not hold (exit 1).
  CheckFailed,
  /// Input, usage or a file's contents are wrong (exit 2).
  InvalidArgument,
  NotFound,
  /// A file is truncated, corrupt or of another kind.
  DataLoss,
  /// What was asked is legal but not possible here (no driver, no space).
  Unavailable,
  ResourceExhausted,
  /// A bug in Betz.
  Internal,
};

std::string_view toString(StatusCode code);

/// Success, or one line that says what, where and what to do. Thread-safe to
/// read; move-only use is cheap, a copy copies the message.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message,
         std::source_location where = std::source_location::current())
      : code(code), text(std::move(message)), where(where) {}

  static Status ok() { return {}; }

  bool isOk() const { return code == StatusCode::Ok; }
  StatusCode getCode() const { return code; }
  const std::string &message() const { return text; }
  /// Where in Betz's own source the failure was raised (for debug logs).
  const std::source_location &location() const { return where; }

  /// Prefixes the message with what was being done: "context: message".
  Status withContext(std::string_view context) &&;

private:
  StatusCode code = StatusCode::Ok;
  std::string text;
  std::source_location where;
};

/// A failed Status of the named kind.
Status
invalidArgument(std::string message,
                std::source_location where = std::source_location::current());
Status notFound(std::string message,
                std::source_location where = std::source_location::current());
Status dataLoss(std::string message,
                std::source_location where = std::source_location::current());
Status
unavailable(std::string message,
            std::source_location where = std::source_location::current());
Status
resourceExhausted(std::string message,
                  std::source_location where = std::source_location::current());
Status
internalError(std::string message,
              std::source_location where = std::source_location::current());
Status
checkFailed(std::string message,
            std::source_location where = std::source_location::current());

/// A value or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Status status) : state(std::move(status)) {
    assert(!std::get<Status>(state).isOk() && "a Result needs a value");
  }

  bool isOk() const { return std::holds_alternative<T>(state); }
  T &value() & { return std::get<T>(state); }
  const T &value() const & { return std::get<T>(state); }
  T &&value() && { return std::get<T>(std::move(state)); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }
  Status status() const & {
    return isOk() ? Status::ok() : std::get<Status>(state);
  }
  Status status() && {
    return isOk() ? Status::ok() : std::get<Status>(std::move(state));
  }

private:
  std::variant<T, Status> state;
};

} // namespace betz

#define BETZ_CONCAT_IMPL(a, b) a##b
#define BETZ_CONCAT(a, b) BETZ_CONCAT_IMPL(a, b)

/// Returns from the enclosing function if `expr` (a Status) failed.
#define BETZ_RETURN_IF_ERROR(expr)                                             \
  do {                                                                         \
    if (::betz::Status betzStatus = (expr); !betzStatus.isOk())                \
      return betzStatus;                                                       \
  } while (false)

/// Declares or assigns `lhs` from a Result, or returns its Status.
#define BETZ_ASSIGN_OR_RETURN(lhs, expr)                                       \
  BETZ_ASSIGN_OR_RETURN_IMPL(BETZ_CONCAT(betzResult, __LINE__), lhs, expr)
#define BETZ_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr)                             \
  auto tmp = (expr);                                                           \
  if (!tmp.isOk())                                                             \
    return std::move(tmp).status();                                            \
  lhs = std::move(tmp).value()
