// What an attempt reports while its coordinator is away.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "base/ids.h"
#include "base/log.h"
#include "tests/worker/fake_coordinator.h"
#include "worker/uploader.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

class UploaderSpoolTest : public ::testing::Test {
 protected:
  UploaderSpoolTest() { SetLogLevel(LogLevel::kOff); }
  ~UploaderSpoolTest() override { std::filesystem::remove_all(path_); }

  /// Of what changes without a call.
  static bool Await(const std::function<bool()>& condition) {
    std::promise<void> never;
    const Millis deadline = Clock::Real().Now() + Millis(20000);
    while (!condition()) {
      if (Clock::Real().Now() > deadline) return false;
      never.get_future().wait_for(std::chrono::milliseconds(5));
      never = {};
    }
    return true;
  }
  static Point At(int64_t step) { return {"m", step, step, 0.5}; }
  UploaderOptions Options(int64_t bytes = 1 << 20) {
    UploaderOptions options{.batch_points = 10, .batch_wait = Millis(1), .max_waiting = 20};
    options.spool = std::make_shared<Spool>(path_, kAttempt, bytes);
    return options;
  }
  void Disconnect() {
    for (const char* call : {"ReportPoints", "ReportCheckpoint", "FinishAttempt"}) {
      coordinator_.Fail(call, Unavailable("no connection"), 100000);
    }
  }
  void Reconnect() {
    for (const char* call : {"ReportPoints", "ReportCheckpoint", "FinishAttempt"}) {
      coordinator_.Recover(call);
    }
  }
  void ExpectSteps(int64_t last) {
    std::vector<int64_t> expected;
    for (int64_t step = 1; step <= last; ++step) expected.push_back(step);
    EXPECT_EQ(coordinator_.Get(1).Steps(), expected);
  }

  const AttemptId kAttempt{1, 1, "epoch"};
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("gyre-uploader-" + NewId() + ".spool");
  FakeCoordinator coordinator_;
  std::unique_ptr<CoordinatorClient> client_ = coordinator_.Client();
};

// skypilot-org/skypilot#10155: who cannot reach its coordinator trains on.
TEST_F(UploaderSpoolTest, TrainingGoesOnThroughAnAbsenceAndNothingIsLostOrDoubled) {
  Disconnect();
  coordinator_.LoseAnswer("ReportPoints");
  {
    Uploader uploader(kAttempt, *client_, Options());
    for (int64_t step = 1; step <= 500; ++step) ASSERT_TRUE(uploader.AddPoint(At(step)));
    ASSERT_TRUE(uploader.AddCheckpoint({.step = 500, .hash = "h"}));
    EXPECT_TRUE(std::filesystem::exists(path_));  // far more than memory takes
    EXPECT_EQ(uploader.Problem(), "");
    Reconnect();
    ASSERT_TRUE(uploader.AddPoint(At(501)));
    ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded}).ok());
  }
  ExpectSteps(501);
  const auto record = coordinator_.Get(1);
  ASSERT_EQ(record.checkpoints.size(), 1u);
  EXPECT_EQ(record.checkpoints[0].sequence + 1, record.end->last_sequence);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UploaderSpoolTest, ItGoesBackToMemoryOnceEverythingIsAnswered) {
  Disconnect();
  Uploader uploader(kAttempt, *client_, Options());
  for (int64_t step = 1; step <= 100; ++step) ASSERT_TRUE(uploader.AddPoint(At(step)));
  Reconnect();
  ASSERT_TRUE(Await([&] { return !std::filesystem::exists(path_); }));
  ASSERT_TRUE(uploader.AddPoint(At(101)));
  ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded}).ok());
  ExpectSteps(101);
}

TEST_F(UploaderSpoolTest, AFullSpoolHasTrainingWaitAndSaysSo) {
  Disconnect();
  Uploader uploader(kAttempt, *client_, Options(/*bytes=*/5000));
  auto adding = std::async(std::launch::async, [&] {
    for (int64_t step = 1; step <= 2000; ++step) EXPECT_TRUE(uploader.AddPoint(At(step)));
  });
  ASSERT_TRUE(Await([&] { return uploader.Problem() != ""; }));
  EXPECT_THAT(uploader.Problem(), HasSubstr("training waits"));
  EXPECT_EQ(adding.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_LT(std::filesystem::file_size(path_), 6000u);
  Reconnect();
  adding.wait();
  EXPECT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded}).ok());
  EXPECT_EQ(uploader.Problem(), "");
  ExpectSteps(2000);
}

TEST_F(UploaderSpoolTest, WhoeverLeavesKeepsEveryPointThatWasTaken) {
  constexpr int64_t kRoom = 64 << 20;  // never full
  int64_t taken = 0;
  for (int moment = 0; moment < 50; ++moment) {
    Disconnect();
    auto spool = std::make_shared<Spool>(path_, kAttempt, kRoom);
    if (std::filesystem::exists(path_)) {
      auto left = Spool::Open(path_, kRoom);
      ASSERT_TRUE(left.ok()) << left.status().ToString();
      spool = *std::move(left);
    }
    UploaderOptions options = Options();
    options.batch_wait = Millis(0);
    options.spool = spool;
    Uploader uploader(kAttempt, *client_, options);
    auto adding = std::async(std::launch::async, [&] {
      for (int i = 0; i < 1000 && uploader.AddPoint(At(taken + 1)); ++i) ++taken;
    });
    // Some are on their way to the spool, or between two threads.
    for (int i = 0; i < moment; ++i) std::this_thread::yield();
    uploader.Leave();
    adding.wait();
  }
  Reconnect();
  auto left = Spool::Open(path_, kRoom);
  ASSERT_TRUE(left.ok()) << left.status().ToString();
  UploaderOptions options = Options();
  options.spool = *std::move(left);
  Uploader uploader(kAttempt, *client_, options);
  ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded}).ok());
  ExpectSteps(taken);
}

// skypilot-org/skypilot#6133: what has finished while the controller was away is not run again.
TEST_F(UploaderSpoolTest, TheNextProcessDeliversWhatThisOneCouldNot) {
  Disconnect();
  {
    Uploader uploader(kAttempt, *client_, Options());
    for (int64_t step = 1; step <= 300; ++step) ASSERT_TRUE(uploader.AddPoint(At(step)));
    ASSERT_TRUE(uploader.AddCheckpoint({.step = 300, .hash = "weights", .weights_only = true}));
    auto finished = std::async(std::launch::async, [&] {
      return uploader.Finish({.outcome = Outcome::kSucceeded, .step = 300});
    });
    ASSERT_TRUE(coordinator_.AwaitCalls("ReportPoints", 3));
    uploader.Leave();
    EXPECT_EQ(finished.get().code(), StatusCode::kCancelled);
  }
  Reconnect();
  auto left = Spool::Open(path_, 1 << 20);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ((*left)->attempt(), kAttempt);
  EXPECT_EQ((*left)->summary().step, 300);
  EXPECT_EQ((*left)->summary().outcome, Outcome::kSucceeded);
  {
    UploaderOptions options;
    options.spool = *std::move(left);
    Uploader next(kAttempt, *client_, std::move(options));
    EXPECT_TRUE(next.Finish({.outcome = Outcome::kLost}).ok());  // the outcome that is there stands
  }
  ExpectSteps(300);
  EXPECT_EQ(coordinator_.Get(1).checkpoints.size(), 1u);
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kSucceeded);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(UploaderSpoolTest, AProcessThatLeavesBeforeItKnewOfTheAbsenceLeavesAllTheSame) {
  coordinator_.Fail("ReportPoints", Unavailable("no connection"));
  {
    UploaderOptions options = Options();
    options.batch_wait = Millis(3600000);  // so that most is not even in a batch
    Uploader uploader(kAttempt, *client_, std::move(options));
    for (int64_t step = 1; step <= 15; ++step) ASSERT_TRUE(uploader.AddPoint(At(step)));
    uploader.Leave();
  }
  auto left = Spool::Open(path_, 1 << 20);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ((*left)->summary().step, 15);
  EXPECT_FALSE((*left)->summary().outcome);
  UploaderOptions options;
  options.spool = *std::move(left);
  Uploader next(kAttempt, *client_, std::move(options));
  EXPECT_TRUE(next.Finish({.outcome = Outcome::kLost}).ok());
  ExpectSteps(15);
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kLost);
}

TEST_F(UploaderSpoolTest, AnOutcomeThatComesAfterLeavingIsKept) {
  Disconnect();
  {
    Uploader uploader(kAttempt, *client_, Options());
    ASSERT_TRUE(uploader.AddPoint(At(1)));
    uploader.Leave();
    EXPECT_EQ(uploader.Finish({.outcome = Outcome::kSucceeded}).code(), StatusCode::kCancelled);
  }
  const auto left = Spool::Open(path_, 1 << 20);
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ((*left)->summary().outcome, Outcome::kSucceeded);
  EXPECT_EQ((*left)->summary().last_sequence, 1);
}

TEST_F(UploaderSpoolTest, WhatIsSupersededIsGoneFromTheDisk) {
  coordinator_.Fail("ReportPoints", Unavailable("no connection"), 3);
  coordinator_.Fail("ReportPoints", FailedPrecondition("attempt 1 was given up"));
  {
    Uploader uploader(kAttempt, *client_, Options());
    for (int64_t step = 1; step <= 100; ++step) (void)uploader.AddPoint(At(step));
    EXPECT_EQ(uploader.Finish({}).code(), StatusCode::kFailedPrecondition);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(coordinator_.Get(1).end);
}

// wandb/wandb#293: a client hangs because it asks again and again what is refused for good.
TEST_F(UploaderSpoolTest, WhatIsRefusedForGoodIsNotSentAgain) {
  coordinator_.Fail("ReportPoints", InvalidArgument("a point needs a metric"), 5);
  Uploader uploader(kAttempt, *client_, Options());
  ASSERT_TRUE(uploader.AddPoint(At(1)));
  ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded}).ok());
  EXPECT_EQ(coordinator_.Calls("ReportPoints"), 1);
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kFailed);
  EXPECT_THAT(coordinator_.Get(1).end->error.message(), HasSubstr("a point needs a metric"));
}

// ray-project/ray#18903: results come faster than they are taken.
TEST_F(UploaderSpoolTest, TheNextBatchWaitsAsLongAsTheCoordinatorAsks) {
  constexpr Millis kPause{300};
  coordinator_.SetPause(kPause);
  Uploader uploader(kAttempt, *client_, Options());
  const Millis begin = Clock::Real().Now();
  for (int64_t step = 1; step <= 20; ++step) ASSERT_TRUE(uploader.AddPoint(At(step)));
  ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded}).ok());
  EXPECT_GE(Clock::Real().Now() - begin, kPause);
  ExpectSteps(20);
}

}  // namespace
}  // namespace gyre
