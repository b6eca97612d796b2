#pragma once

// What becomes of a job whose attempt has ended without success: again, after which pause, or not
// at all. Pure.
//
// Causes are told apart, each with its own count:
//   a failure        up to retry.attempts
//   bad input        never again: the same job would be as wrong the next time
//   want of memory   once more as it is (others may have gone), then once with half the
//                    micro-batch, and never more than retry.attempts
//   a full disk      no strike: the worker takes no work until it heals
//   a loss           up to kLossLimit in a row without a new checkpoint
//   stopped          no strike: the worker was preempted, or somebody paused the job
// Failures and losses also count against the node they happened on (state.h): a job goes elsewhere
// after the second, if there is anywhere.
// A pause is drawn between nothing and the backoff (full jitter), so that jobs that failed together
// do not come back together; it is a function of the job and the attempt, so that a restart and a
// replay come to the same.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "coordinator/lifecycle.h"

namespace gyre {

/// Losses in a row without a new checkpoint that a job survives are one fewer than this.
inline constexpr int kLossLimit = 5;
inline constexpr int kMemoryLimit = 3;
/// From so many failures for want of memory on, a job trains with fewer rows at a time.
inline constexpr int kMemoryFailuresUntilSmaller = 2;
inline constexpr Millis kLongestBackoff{300'000};
inline constexpr Millis kDiskFullPause{30'000};

enum class FailureCause { kError, kBadInput, kMemory, kDiskFull };

/// Of an attempt that FAILED, from what its worker says. RESOURCE_EXHAUSTED is a full disk where
/// the message says so, else want of memory.
FailureCause CauseOf(std::string_view code, std::string_view error);

/// Whether an attempt that ended so speaks against the node that it ran on.
bool IsStrikeOfNode(AttemptState state, FailureCause cause);

/// The micro-batch of the next attempt, of a job whose own is `rows`: half as many after enough
/// failures for want of memory. 0 = as the job says.
int SmallerMicroBatch(int rows, int memory_failures);

/// What counts, after the attempt was counted.
struct Strikes {
  int failures = 0;            // of the trainer, for any other cause
  int memory_failures = 0;     // for want of memory
  int losses = 0;              // in a row without a new checkpoint
  bool can_be_smaller = true;  // its micro-batch has more than one row
};

/// An attempt that FAILED, was LOST or STOPPED.
struct EndedAttempt {
  int64_t job = 0;
  int number = 0;
  AttemptState state = AttemptState::kFailed;
  std::string code, error;  // the worker's
};

struct RetryDecision {
  bool again = false;
  Millis pause{0};
  std::string error;    // of the job, when it is not tried again
  std::string why_not;  // what forbids it, for people
};

RetryDecision DecideRetry(const EndedAttempt& ended, const Strikes& strikes, int retry_attempts,
                          Millis backoff);

/// backoff, 2 backoff, 4 backoff, ... after the 1st, 2nd, 3rd failure, at most kLongestBackoff (or
/// the backoff itself, where that is longer).
Millis BackoffAfter(int failures, Millis backoff);

/// Somewhere in [0, longest], the same for the same job and attempt.
Millis Jittered(Millis longest, int64_t job, int attempt);

}  // namespace gyre
