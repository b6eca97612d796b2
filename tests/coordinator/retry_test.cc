#include "coordinator/retry.h"

#include <gtest/gtest.h>

#include <set>

namespace gyre {
namespace {

constexpr Millis kBackoff{10'000};

EndedAttempt Failed(const std::string& code, const std::string& error = "no") {
  return {7, 1, AttemptState::kFailed, code, error};
}
EndedAttempt Ended(AttemptState state, const std::string& error = "") {
  return {7, 1, state, "", error};
}

TEST(Retry, FailuresCountAgainstTheTries) {
  RetryDecision retry = DecideRetry(Failed("INTERNAL"), {.failures = 1}, 3, kBackoff);
  EXPECT_TRUE(retry.again);
  EXPECT_EQ(retry.pause, Jittered(kBackoff, 7, 1));
  retry = DecideRetry(Failed("INTERNAL"), {.failures = 2}, 3, kBackoff);
  EXPECT_TRUE(retry.again);
  EXPECT_EQ(retry.pause, Jittered(2 * kBackoff, 7, 1));
  retry = DecideRetry(Failed("INTERNAL"), {.failures = 3}, 3, kBackoff);
  EXPECT_FALSE(retry.again);
  EXPECT_EQ(retry.error, "no");
  EXPECT_EQ(retry.why_not, "it failed 3 times, and retry.attempts is 3");
}

TEST(Retry, WhatTheUserMustFixIsNotTriedAgain) {
  EXPECT_FALSE(DecideRetry(Failed("INVALID_ARGUMENT"), {.failures = 1}, 3, kBackoff).again);
}

// ray-project/ray#30013, its PR 28714 and an OasisPlatform loop: want of memory was tried again for
// ever.
TEST(Retry, WantOfMemoryIsTriedOnceMoreThenSmallerAndNotAgain) {
  const EndedAttempt killed = Failed("RESOURCE_EXHAUSTED", "out of memory");
  EXPECT_TRUE(DecideRetry(killed, {.memory_failures = 1}, 10, kBackoff).again);
  EXPECT_EQ(SmallerMicroBatch(8, 1), 0);
  EXPECT_TRUE(DecideRetry(killed, {.memory_failures = 2}, 10, kBackoff).again);
  EXPECT_EQ(SmallerMicroBatch(8, 2), 4);
  const RetryDecision retry = DecideRetry(killed, {.memory_failures = 3}, 10, kBackoff);
  EXPECT_FALSE(retry.again);
  EXPECT_EQ(retry.error, "out of memory");
  EXPECT_FALSE(DecideRetry(killed, {.memory_failures = 1}, 1, kBackoff).again);
  // Of one row there are no fewer.
  EXPECT_EQ(SmallerMicroBatch(1, 2), 0);
  EXPECT_FALSE(
      DecideRetry(killed, {.memory_failures = 2, .can_be_smaller = false}, 10, kBackoff).again);
  // Failures of another kind do not count here, nor these there.
  EXPECT_TRUE(DecideRetry(killed, {.failures = 2, .memory_failures = 1}, 3, kBackoff).again);
  EXPECT_TRUE(
      DecideRetry(Failed("INTERNAL"), {.failures = 1, .memory_failures = 2}, 3, kBackoff).again);
}

// optuna/optuna#5860: a preempted trial and a wrong one ended in the same state.
TEST(Retry, CausesAreToldApartAndOnlySomeSpeakAgainstTheNode) {
  EXPECT_TRUE(IsStrikeOfNode(AttemptState::kLost, FailureCause::kError));
  EXPECT_TRUE(IsStrikeOfNode(AttemptState::kFailed, FailureCause::kError));
  EXPECT_TRUE(IsStrikeOfNode(AttemptState::kFailed, FailureCause::kMemory));
  EXPECT_FALSE(IsStrikeOfNode(AttemptState::kFailed, FailureCause::kBadInput));
  EXPECT_FALSE(IsStrikeOfNode(AttemptState::kFailed, FailureCause::kDiskFull));
  EXPECT_FALSE(IsStrikeOfNode(AttemptState::kStopped, FailureCause::kError));
}

TEST(Retry, AFullDiskIsNoStrike) {
  EXPECT_EQ(CauseOf("RESOURCE_EXHAUSTED", "cannot write x: No space left on device"),
            FailureCause::kDiskFull);
  EXPECT_EQ(CauseOf("RESOURCE_EXHAUSTED", "cannot allocate 3 GiB"), FailureCause::kMemory);
  EXPECT_EQ(CauseOf("INTERNAL", "the disk is full of surprises"), FailureCause::kError);
  const EndedAttempt full = Failed("RESOURCE_EXHAUSTED", "the disk is full");
  EXPECT_TRUE(DecideRetry(full, {.failures = 99, .memory_failures = 99}, 1, kBackoff).again);
}

TEST(Retry, LossesHaveALimitOfTheirOwn) {
  const Strikes four{.failures = 2, .losses = kLossLimit - 1};
  RetryDecision retry = DecideRetry(Ended(AttemptState::kLost, "silent"), four, 1, kBackoff);
  EXPECT_TRUE(retry.again);
  EXPECT_EQ(retry.pause, Millis(0));
  retry = DecideRetry(Ended(AttemptState::kLost, "silent"), {.losses = kLossLimit}, 1, kBackoff);
  EXPECT_FALSE(retry.again);
  EXPECT_EQ(retry.error, "lost 5 times in a row without a new checkpoint; the last time: silent");
}

TEST(Retry, StoppedWithoutHavingBeenAskedIsFree) {
  const Strikes many{.failures = 2, .losses = 4};
  EXPECT_TRUE(DecideRetry(Ended(AttemptState::kStopped), many, 3, kBackoff).again);
}

TEST(Retry, PausesDoubleUpToFiveMinutes) {
  EXPECT_EQ(BackoffAfter(0, kBackoff), Millis(0));
  EXPECT_EQ(BackoffAfter(1, kBackoff), Millis(10'000));
  EXPECT_EQ(BackoffAfter(5, kBackoff), Millis(160'000));
  EXPECT_EQ(BackoffAfter(1000, kBackoff), kLongestBackoff);
  EXPECT_EQ(BackoffAfter(3, Millis(0)), Millis(0));
  EXPECT_EQ(BackoffAfter(2, Millis(600'000)), Millis(600'000));
}

TEST(Retry, JitterSpreadsJobsOverTheWholePauseAndIsTheSameEachTime) {
  std::set<int64_t> pauses;
  int64_t sum = 0;
  for (int64_t job = 1; job <= 1000; ++job) {
    const Millis pause = Jittered(kBackoff, job, 1);
    ASSERT_GE(pause, Millis(0));
    ASSERT_LE(pause, kBackoff);
    EXPECT_EQ(pause, Jittered(kBackoff, job, 1));
    pauses.insert(pause.count());
    sum += pause.count();
  }
  EXPECT_GT(pauses.size(), 900u);
  EXPECT_NEAR(static_cast<double>(sum) / 1000, 5000, 500);
  EXPECT_NE(Jittered(kBackoff, 1, 1), Jittered(kBackoff, 1, 2));
  EXPECT_EQ(Jittered(Millis(0), 1, 1), Millis(0));
}

}  // namespace
}  // namespace gyre
