#include "coordinator/retry.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

constexpr Millis kBackoff{10'000};

TEST(Retry, FailuresCountAgainstTheTries) {
  RetryDecision retry =
      DecideRetry(AttemptState::kFailed, {.failures = 1}, 3, kBackoff, "INTERNAL", "no");
  EXPECT_TRUE(retry.again);
  EXPECT_EQ(retry.pause, kBackoff);
  retry = DecideRetry(AttemptState::kFailed, {.failures = 2}, 3, kBackoff, "INTERNAL", "no");
  EXPECT_TRUE(retry.again);
  EXPECT_EQ(retry.pause, 2 * kBackoff);
  retry = DecideRetry(AttemptState::kFailed, {.failures = 3}, 3, kBackoff, "INTERNAL", "no");
  EXPECT_FALSE(retry.again);
  EXPECT_EQ(retry.error, "no");
}

TEST(Retry, WhatTheUserMustFixIsNotTriedAgain) {
  EXPECT_FALSE(
      DecideRetry(AttemptState::kFailed, {.failures = 1}, 3, kBackoff, "INVALID_ARGUMENT", "no")
          .again);
}

TEST(Retry, LossesHaveALimitOfTheirOwn) {
  const Strikes four{.failures = 2, .losses = kLossLimit - 1};
  RetryDecision retry = DecideRetry(AttemptState::kLost, four, 1, kBackoff, "", "silent");
  EXPECT_TRUE(retry.again);
  EXPECT_EQ(retry.pause, Millis(0));
  retry = DecideRetry(AttemptState::kLost, {.losses = kLossLimit}, 1, kBackoff, "", "silent");
  EXPECT_FALSE(retry.again);
  EXPECT_EQ(retry.error, "lost 5 times in a row without a new checkpoint; the last time: silent");
}

TEST(Retry, StoppedWithoutHavingBeenAskedIsFree) {
  const Strikes many{.failures = 2, .losses = 4};
  EXPECT_TRUE(DecideRetry(AttemptState::kStopped, many, 3, kBackoff, "", "").again);
}

TEST(Retry, PausesDoubleUpToFiveMinutes) {
  EXPECT_EQ(BackoffAfter(0, kBackoff), Millis(0));
  EXPECT_EQ(BackoffAfter(1, kBackoff), Millis(10'000));
  EXPECT_EQ(BackoffAfter(5, kBackoff), Millis(160'000));
  EXPECT_EQ(BackoffAfter(1000, kBackoff), kLongestBackoff);
  EXPECT_EQ(BackoffAfter(3, Millis(0)), Millis(0));
  EXPECT_EQ(BackoffAfter(2, Millis(600'000)), Millis(600'000));
}

}  // namespace
}  // namespace gyre
