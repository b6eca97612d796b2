#include "coordinator/retry.h"

#include <algorithm>
#include <array>

#include "base/random.h"

namespace gyre {
namespace {

std::string Times(int count) {
  return count == 1 ? "once" : count == 2 ? "twice" : std::to_string(count) + " times";
}

RetryDecision AfterFailure(const EndedAttempt& ended, const Strikes& strikes, int retry_attempts,
                           Millis backoff) {
  const int tries = std::max(retry_attempts, 1);
  int count = strikes.failures, limit = tries;
  switch (CauseOf(ended.code, ended.error)) {
    case FailureCause::kBadInput:
      return {.error = ended.error, .why_not = "the same job would be as wrong the next time"};
    case FailureCause::kDiskFull:
      return {.again = true, .pause = Jittered(kDiskFullPause, ended.job, ended.number)};
    case FailureCause::kMemory:
      count = strikes.memory_failures;
      limit = std::min(tries, strikes.can_be_smaller ? kMemoryLimit : kMemoryLimit - 1);
      if (count >= limit) {
        return {.error = ended.error,
                .why_not = "it ran out of memory " + Times(count) +
                           ", and would the next time; it needs less memory or gets more"};
      }
      break;
    case FailureCause::kError:
      if (count >= limit) {
        return {.error = ended.error,
                .why_not = "it failed " + Times(count) + ", and retry.attempts is " +
                           std::to_string(tries)};
      }
      break;
  }
  return {.again = true, .pause = Jittered(BackoffAfter(count, backoff), ended.job, ended.number)};
}

}  // namespace

FailureCause CauseOf(std::string_view code, std::string_view error) {
  if (code == StatusCodeName(StatusCode::kInvalidArgument)) return FailureCause::kBadInput;
  if (code != StatusCodeName(StatusCode::kResourceExhausted)) return FailureCause::kError;
  // Of errno, and our own words.
  constexpr std::array<std::string_view, 3> kDiskWords = {"No space left", "Disk quota exceeded",
                                                          "disk is full"};
  for (const std::string_view words : kDiskWords) {
    if (error.find(words) != std::string_view::npos) return FailureCause::kDiskFull;
  }
  return FailureCause::kMemory;
}

Millis BackoffAfter(int failures, Millis backoff) {
  if (failures <= 0 || backoff <= Millis(0)) return Millis(0);
  const Millis longest = std::max(kLongestBackoff, backoff);
  Millis pause = backoff;
  for (int i = 1; i < failures && pause < longest; ++i) pause *= 2;
  return std::min(pause, longest);
}

Millis Jittered(Millis longest, int64_t job, int attempt) {
  if (longest <= Millis(0)) return Millis(0);
  const Random random(static_cast<uint64_t>(job), "retry");
  return Millis(static_cast<int64_t>(
      random.Below(static_cast<uint64_t>(longest.count()) + 1, static_cast<uint64_t>(attempt), 0)));
}

bool IsStrikeOfNode(AttemptState state, FailureCause cause) {
  if (state == AttemptState::kLost) return true;
  return state == AttemptState::kFailed && cause != FailureCause::kBadInput &&
         cause != FailureCause::kDiskFull;
}

int SmallerMicroBatch(int rows, int memory_failures) {
  return rows > 1 && memory_failures >= kMemoryFailuresUntilSmaller ? rows / 2 : 0;
}

RetryDecision DecideRetry(const EndedAttempt& ended, const Strikes& strikes, int retry_attempts,
                          Millis backoff) {
  switch (ended.state) {
    case AttemptState::kFailed:
      return AfterFailure(ended, strikes, retry_attempts, backoff);
    case AttemptState::kLost:
      if (strikes.losses >= kLossLimit) {
        return {.error = "lost " + std::to_string(strikes.losses) +
                         " times in a row without a new checkpoint; the last time: " + ended.error,
                .why_not = "something ends it each time before it gets anywhere"};
      }
      return {.again = true};
    case AttemptState::kStopped:
      return {.again = true};
    case AttemptState::kLeased:
    case AttemptState::kRunning:
    case AttemptState::kSucceeded:
      break;
  }
  return {.error = "an attempt that is " + std::string(Name(ended.state)) + " is not retried"};
}

}  // namespace gyre
