#pragma once

// What becomes of a job whose attempt has ended without success: again, after which pause, or not
// at all. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "coordinator/lifecycle.h"

namespace gyre {

/// Losses in a row without a new checkpoint that a job survives are one fewer than this.
inline constexpr int kLossLimit = 5;
inline constexpr Millis kLongestBackoff{300'000};

/// What counts, after the attempt was counted.
struct Strikes {
  int failures = 0;  // of the trainer
  int losses = 0;    // in a row without a new checkpoint
};

struct RetryDecision {
  bool again = false;
  Millis pause{0};
  std::string error;  // of the job, when it is not tried again
};

/// `ended` is FAILED, LOST or STOPPED; `code` and `error` are the trainer's.
RetryDecision DecideRetry(AttemptState ended, const Strikes& strikes, int retry_attempts,
                          Millis backoff, std::string_view code, const std::string& error);

/// backoff, 2 backoff, 4 backoff, ... after the 1st, 2nd, 3rd failure, at most kLongestBackoff (or
/// the backoff itself, where that is longer).
Millis BackoffAfter(int failures, Millis backoff);

}  // namespace gyre
