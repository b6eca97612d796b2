#pragma once

// The only way to the time. Durations and deadlines come from Now(), which never jumps; WallTime()
// is for people and for the database. Code that decides takes times as arguments instead of a
// Clock.

#include <chrono>
#include <string>

namespace gyre {

using Millis = std::chrono::milliseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic, from an arbitrary origin.
  virtual Millis Now() const = 0;
  /// Since 1970-01-01 UTC.
  virtual Millis WallTime() const = 0;

  /// The machine's clock. Thread-safe.
  static const Clock& Real();
};

/// "2026-11-30T09:02:35.123Z".
std::string FormatUtc(Millis since_epoch);

}  // namespace gyre
