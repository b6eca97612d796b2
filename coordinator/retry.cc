#include "coordinator/retry.h"

#include <algorithm>

namespace gyre {

Millis BackoffAfter(int failures, Millis backoff) {
  if (failures <= 0 || backoff <= Millis(0)) return Millis(0);
  const Millis longest = std::max(kLongestBackoff, backoff);
  Millis pause = backoff;
  for (int i = 1; i < failures && pause < longest; ++i) pause *= 2;
  return std::min(pause, longest);
}

RetryDecision DecideRetry(AttemptState ended, const Strikes& strikes, int retry_attempts,
                          Millis backoff, std::string_view code, const std::string& error) {
  switch (ended) {
    case AttemptState::kFailed:
      // The same job would be as wrong the next time.
      if (code == StatusCodeName(StatusCode::kInvalidArgument)) return {.error = error};
      if (strikes.failures >= std::max(retry_attempts, 1)) return {.error = error};
      return {.again = true, .pause = BackoffAfter(strikes.failures, backoff)};
    case AttemptState::kLost:
      if (strikes.losses >= kLossLimit) {
        return {.error = "lost " + std::to_string(strikes.losses) +
                         " times in a row without a new checkpoint; the last time: " + error};
      }
      return {.again = true};
    case AttemptState::kStopped:
      return {.again = true};
    case AttemptState::kLeased:
    case AttemptState::kRunning:
    case AttemptState::kSucceeded:
      break;
  }
  return {.error = "an attempt that is " + std::string(Name(ended)) + " is not retried"};
}

}  // namespace gyre
