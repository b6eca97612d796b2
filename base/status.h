#pragma once

// Status and Result<T>: how every fallible function of Gyre reports. The code is for programs, the
// message is for people: it says where, what, and what next. No exceptions cross a function of
// ours.

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace gyre {

enum class StatusCode {
  kOk,
  kInvalidArgument,     // the user can fix it
  kNotFound,            // no such sweep, job, file, data set
  kAlreadyExists,       // a name is taken by something else
  kFailedPrecondition,  // stale attempt, illegal transition
  kResourceExhausted,   // disk full, out of memory, too large
  kUnavailable,         // retry later
  kDeadlineExceeded,
  kCancelled,
  kUnimplemented,
  kDataLoss,  // a file is damaged
  kInternal,  // our bug
};

/// The name as users see it, e.g. "INVALID_ARGUMENT".
std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  /// "INVALID_ARGUMENT: message", or "OK".
  std::string ToString() const;
  /// The same code with "context: " in front of the message; OK stays OK.
  Status WithContext(std::string_view context) const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

std::ostream& operator<<(std::ostream& out, const Status& status);

inline Status OkStatus() { return {}; }
Status InvalidArgument(std::string message);
Status NotFound(std::string message);
Status AlreadyExists(std::string message);
Status FailedPrecondition(std::string message);
Status ResourceExhausted(std::string message);
Status Unavailable(std::string message);
Status DeadlineExceeded(std::string message);
Status Cancelled(std::string message);
Status Unimplemented(std::string message);
Status DataLoss(std::string message);
Status Internal(std::string message);
/// From errno: ENOENT is NOT_FOUND, ENOSPC, EDQUOT and ENOMEM are RESOURCE_EXHAUSTED, the rest
/// INTERNAL.
Status ErrnoStatus(int error, std::string_view what);

/// A value or the reason there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    if (status_.ok()) status_ = Internal("a Result without a value was made from an OK status");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

#define GYRE_CONCAT_INNER(a, b) a##b
#define GYRE_CONCAT(a, b) GYRE_CONCAT_INNER(a, b)

#define GYRE_RETURN_IF_ERROR(expression)                                \
  do {                                                                  \
    if (::gyre::Status gyre_status = (expression); !gyre_status.ok()) { \
      return gyre_status;                                               \
    }                                                                   \
  } while (false)

// GYRE_ASSIGN_OR_RETURN(auto file, OpenFile(path));
#define GYRE_ASSIGN_OR_RETURN(declaration, expression) \
  GYRE_ASSIGN_OR_RETURN_INNER(GYRE_CONCAT(gyre_result_, __LINE__), declaration, expression)
#define GYRE_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                        \
  if (!result.ok()) return result.status();                          \
  declaration = *std::move(result)

}  // namespace gyre
