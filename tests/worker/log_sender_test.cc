#include "worker/log_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/worker/fake_coordinator.h"

namespace gyre {
namespace {

constexpr Millis kLong{20000};

TEST(LogSender, WhatCannotBeSentInTimeIsLeftOutFromItsBeginning) {
  FakeCoordinator coordinator;
  coordinator.Fail("AppendLog", Unavailable("away"), 2);
  const auto client = coordinator.Client();
  LogSender sender({1, 1}, *client, {.max_waiting = 10, .chunk = 4, .pause = Millis(0)});
  ASSERT_TRUE(coordinator.AwaitCalls("AppendLog", 0));
  sender.Append("0123456789");
  ASSERT_TRUE(coordinator.AwaitCalls("AppendLog", 1));  // and refused: nothing has arrived
  sender.Append("abcde");
  EXPECT_TRUE(sender.Finish(kLong));
  EXPECT_EQ(coordinator.Get(1).log, "?????56789abcde");
}

TEST(LogSender, AnAnswerThatIsLostDoublesNothing) {
  FakeCoordinator coordinator;
  coordinator.LoseAnswer("AppendLog");
  const auto client = coordinator.Client();
  LogSender sender({1, 1}, *client, {.pause = Millis(0)});
  sender.Append("hello\n");
  EXPECT_TRUE(sender.Finish(kLong));
  EXPECT_EQ(coordinator.Get(1).log, "hello\n");
}

TEST(LogSender, ACoordinatorThatIsAwayIsNotWaitedFor) {
  FakeCoordinator coordinator;
  coordinator.Fail("AppendLog", Unavailable("away"), 1000);
  const auto client = coordinator.Client();
  {
    LogSender sender({1, 1}, *client);
    sender.Append("hello\n");
    EXPECT_FALSE(sender.Finish(Millis(1)));
  }
  EXPECT_LT(coordinator.Calls("AppendLog"), 10);  // nor does its end wait
}

TEST(LogSender, ACallThatTheCoordinatorBreaksOffAtItsEndIsMadeAgain) {
  FakeCoordinator coordinator;
  coordinator.Fail("AppendLog", Cancelled("it shuts down"), 1);
  const auto client = coordinator.Client();
  LogSender sender({1, 1}, *client, {.pause = Millis(0)});
  sender.Append("hello\n");
  EXPECT_TRUE(sender.Finish(kLong));
  EXPECT_EQ(coordinator.Get(1).log, "hello\n");
}

}  // namespace
}  // namespace gyre
