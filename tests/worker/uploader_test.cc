#include "worker/uploader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/log.h"
#include "tests/worker/fake_coordinator.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;

constexpr AttemptId kAttempt{1, 1};

class UploaderTest : public ::testing::Test {
 protected:
  UploaderTest() { SetLogLevel(LogLevel::kOff); }

  static Point At(int64_t step) { return {"m", step, step, 0.5}; }
  /// One character a piece, as much as it has; points are dots.
  static std::string Shape(const PointBatch& batch) {
    std::string shape(batch.points.size(), '.');
    for (const StatisticsText& statistics : batch.statistics) shape += statistics.json.front();
    return shape;
  }

  FakeCoordinator coordinator_;
  std::unique_ptr<CoordinatorClient> client_ = coordinator_.Client();
};

TEST_F(UploaderTest, AFullBatchGoesAtOnceAndALonePointAfterAWhile) {
  Uploader uploader(kAttempt, *client_, {.batch_points = 3, .batch_wait = Millis(3600000)});
  for (int step = 1; step <= 5; ++step) ASSERT_TRUE(uploader.AddPoint(At(step)));
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  EXPECT_THAT(coordinator_.Get(1).Steps(), ElementsAre(1, 2, 3));

  Uploader hasty({2, 1}, *client_, {.batch_points = 3, .batch_wait = Millis(1)});
  ASSERT_TRUE(hasty.AddPoint(At(1)));
  ASSERT_TRUE(coordinator_.AwaitPoint(2));
  EXPECT_TRUE(hasty.Finish({}).ok());
}

TEST_F(UploaderTest, StatisticsGoInBatchesOfBoundedSizeInTheirPlaceAmongPoints) {
  coordinator_.Fail("ReportPoints", Unavailable("no connection"));  // until all are there
  Uploader uploader(kAttempt, *client_, {.batch_bytes = 10000, .batch_wait = Millis(3600000)});
  ASSERT_TRUE(uploader.AddStatistics({"x"}));
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 0}));
  ASSERT_TRUE(uploader.AddPoint(At(1)));
  ASSERT_TRUE(uploader.AddStatistics({std::string(4000, 'a')}));
  ASSERT_TRUE(uploader.AddStatistics({std::string(4000, 'b')}));
  ASSERT_TRUE(uploader.AddStatistics({std::string(4000, 'c')}));
  ASSERT_TRUE(uploader.AddPoint(At(2)));
  ASSERT_TRUE(uploader.AddStatistics({std::string(50000, 'd')}));  // by itself, and no other
  ASSERT_TRUE(uploader.AddStatistics({"e"}));
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 2}));
  ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded}).ok());
  const auto record = coordinator_.Get(1);
  std::vector<std::string> shapes;
  for (const PointBatch& batch : record.batches) shapes.push_back(Shape(batch));
  EXPECT_THAT(shapes, ElementsAre("x", ".ab", ".c", "d", "e"));
  EXPECT_EQ(record.batches.back().sequence, 5);
  ASSERT_EQ(record.checkpoints.size(), 2u);
  EXPECT_EQ(record.checkpoints[0].sequence, 1);
  EXPECT_EQ(record.checkpoints[1].sequence, 5);
  EXPECT_EQ(record.end->last_sequence, 5);
}

TEST_F(UploaderTest, TheNextLeaseComesWithTheAnswerToTheOutcomeOnce) {
  coordinator_.OfferInPlace(2, "[]");
  Uploader plain({3, 1}, *client_, {});
  ASSERT_TRUE(plain.Finish({.outcome = Outcome::kSucceeded}).ok());
  EXPECT_FALSE(plain.TakeNext().has_value());  // it did not ask
  coordinator_.Fail("FinishAttempt", Unavailable("no connection"));
  Uploader uploader(kAttempt, *client_, {});
  ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded, .wants_next = true}).ok());
  const std::optional<Lease> next = uploader.TakeNext();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->attempt, (AttemptId{2, 1}));
  EXPECT_FALSE(uploader.TakeNext().has_value());
}

TEST_F(UploaderTest, ARefusedReportAsksForNoNextLease) {
  coordinator_.OfferInPlace(2, "[]");
  coordinator_.Fail("ReportPoints", InvalidArgument("a number was left out"));
  Uploader uploader(kAttempt, *client_, {.batch_wait = Millis(1)});
  (void)uploader.AddPoint(At(1));
  ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded, .wants_next = true}).ok());
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kFailed);
  EXPECT_FALSE(coordinator_.Get(1).end->wants_next);
  EXPECT_FALSE(uploader.TakeNext().has_value());
}

TEST_F(UploaderTest, ACheckpointComesAfterThePointsBeforeIt) {
  Uploader uploader(kAttempt, *client_, {.batch_wait = Millis(3600000)});
  ASSERT_TRUE(uploader.AddPoint(At(1)));
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 1}));
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 2}));
  ASSERT_TRUE(uploader.AddPoint(At(3)));
  ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded}).ok());
  const auto record = coordinator_.Get(1);
  EXPECT_EQ(record.batches.size(), 2u);
  ASSERT_EQ(record.checkpoints.size(), 2u);
  EXPECT_EQ(record.checkpoints[0].sequence, 1);
  EXPECT_EQ(record.checkpoints[1].sequence, 1);
  EXPECT_EQ(record.end->last_sequence, 2);
}

// The coordinator keeps its objects elsewhere: what it lacks is sent before it hears of it.
class SendingUploaderTest : public UploaderTest {
 protected:
  UploaderOptions Options() {
    UploaderOptions options{.batch_wait = Millis(1)};
    options.send_object = [this](const std::string& hash, std::stop_token stop) -> Status {
      std::unique_lock lock(mutex_);
      sent_.push_back(hash);
      if (!result_.ok()) return result_;
      return opened_.wait(lock, stop, [&] { return open_; }) ? OkStatus() : Cancelled("dropped");
    };
    options.on_unsent = [this](const std::string& hash) {
      const std::lock_guard lock(mutex_);
      unsent_.push_back(hash);
    };
    return options;
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable_any opened_;
  bool open_ = false;  // guarded by mutex_, as all below
  Status result_;
  std::vector<std::string> sent_, unsent_;
};

TEST_F(SendingUploaderTest, PointsOvertakeAnObjectOnItsWayAndTheOutcomeWaitsForIt) {
  coordinator_.Fail("ReportCheckpoint", DataLoss("not here"));
  Uploader uploader(kAttempt, *client_, Options());
  ASSERT_TRUE(uploader.AddPoint(At(1)));
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 1, .hash = "weights", .weights_only = true}));
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportCheckpoint", 1));
  ASSERT_TRUE(uploader.AddPoint(At(2)));
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportPoints", 2));
  auto finished = std::async(std::launch::async,
                             [&] { return uploader.Finish({.outcome = Outcome::kSucceeded}); });
  EXPECT_EQ(coordinator_.Calls("FinishAttempt"), 0);
  EXPECT_TRUE(coordinator_.Get(1).checkpoints.empty());
  Open();
  EXPECT_TRUE(finished.get().ok());
  EXPECT_THAT(sent_, ElementsAre("weights"));
  ASSERT_EQ(coordinator_.Get(1).checkpoints.size(), 1u);
  EXPECT_EQ(coordinator_.Get(1).checkpoints[0].sequence, 1);
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kSucceeded);
}

TEST_F(SendingUploaderTest, ACheckpointThatANewerOneHasOvertakenIsNotSent) {
  coordinator_.Fail("ReportCheckpoint", DataLoss("not here"), 1);
  Uploader uploader(kAttempt, *client_, Options());
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 1, .hash = "a"}));
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportCheckpoint", 1));  // and on its way
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 2, .hash = "b"}));
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 3, .hash = "c"}));
  ASSERT_TRUE(uploader.AddPoint(At(4)));
  ASSERT_TRUE(coordinator_.AwaitPoint(1));  // so that all three wait
  Open();
  ASSERT_TRUE(uploader.Finish({.outcome = Outcome::kStopped}).ok());
  const auto reports = coordinator_.Get(1).checkpoints;
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].checkpoint.hash, "a");
  EXPECT_EQ(reports[1].checkpoint.hash, "c");
  EXPECT_THAT(unsent_, ElementsAre("b"));
}

TEST_F(SendingUploaderTest, WhatCannotBeSentCostsTheCheckpointAndTheAttemptOnlyIfItIsTheLast) {
  result_ = DataLoss("the disk has forgotten it");
  coordinator_.Fail("ReportCheckpoint", DataLoss("not here"), 2);
  std::promise<void> ended;
  UploaderOptions options = Options();
  options.on_ended = [&] { ended.set_value(); };
  Uploader uploader(kAttempt, *client_, options);
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 1, .hash = "a"}));
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportCheckpoint", 1));
  ASSERT_TRUE(uploader.AddPoint(At(2)));
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 2, .hash = "weights", .weights_only = true}));
  ended.get_future().wait();
  EXPECT_TRUE(uploader.Finish({.outcome = Outcome::kSucceeded}).ok());
  EXPECT_THAT(unsent_, ElementsAre("a"));
  const auto end = coordinator_.Get(1).end;
  EXPECT_EQ(end->outcome, Outcome::kFailed);
  EXPECT_EQ(end->error.code(), StatusCode::kInternal);
  EXPECT_THAT(end->error.message(), ::testing::HasSubstr("the disk has forgotten it"));
}

TEST_F(SendingUploaderTest, DropBreaksATransferOff) {
  coordinator_.Fail("ReportCheckpoint", DataLoss("not here"));
  Uploader uploader(kAttempt, *client_, Options());
  ASSERT_TRUE(uploader.AddCheckpoint({.step = 1, .hash = "a"}));
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportCheckpoint", 1));
  uploader.Drop();
  EXPECT_EQ(uploader.Finish({}).code(), StatusCode::kCancelled);
}

TEST_F(UploaderTest, MemoryIsBoundedByHavingTheCallerWait) {
  coordinator_.Fail("ReportPoints", Unavailable("no connection"), 3);
  Uploader uploader(kAttempt, *client_,
                    {.batch_points = 2, .batch_wait = Millis(1), .max_waiting = 4});
  auto adding = std::async(std::launch::async, [&] {
    for (int step = 1; step <= 50; ++step) EXPECT_TRUE(uploader.AddPoint(At(step)));
  });
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportPoints",
                                      2));  // on its second try, with at most 2 + 4 taken from us
  EXPECT_EQ(adding.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  adding.wait();
  EXPECT_TRUE(uploader.Finish({}).ok());
  EXPECT_EQ(coordinator_.Get(1).Steps().size(), 50u);
}

TEST_F(UploaderTest, MemoryIsBoundedInBytesToo) {
  coordinator_.Fail("ReportPoints", Unavailable("no connection"), 3);
  Uploader uploader(kAttempt, *client_,
                    {.batch_bytes = 1000, .batch_wait = Millis(1), .max_waiting_bytes = 5000});
  auto adding = std::async(std::launch::async, [&] {
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(uploader.AddStatistics({std::string(2000, 'x')}));
    // More than may wait at all: it waits alone.
    EXPECT_TRUE(uploader.AddStatistics({std::string(20000, 'y')}));
  });
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportPoints", 2));
  EXPECT_EQ(adding.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  adding.wait();
  EXPECT_TRUE(uploader.Finish({}).ok());
  EXPECT_EQ(coordinator_.Get(1).batches.size(), 11u);
}

TEST_F(UploaderTest, DropFreesACallerThatWaits) {
  coordinator_.Fail("ReportPoints", Unavailable("no connection"), 1000);
  Uploader uploader(kAttempt, *client_, {.batch_points = 1, .max_waiting = 1});
  auto adding = std::async(std::launch::async, [&] {
    while (uploader.AddPoint(At(1))) {
    }
  });
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportPoints", 1));
  uploader.Drop();
  adding.wait();
  EXPECT_EQ(uploader.Finish({}).code(), StatusCode::kCancelled);
  EXPECT_FALSE(coordinator_.Get(1).end);
}

TEST_F(UploaderTest, NotOursAnyMoreEndsItAndSaysSo) {
  coordinator_.Fail("ReportPoints", FailedPrecondition("over"));
  std::promise<void> ended;
  Uploader uploader(kAttempt, *client_,
                    {.batch_wait = Millis(1), .on_ended = [&] { ended.set_value(); }});
  ASSERT_TRUE(uploader.AddPoint(At(1)));
  ended.get_future().wait();
  EXPECT_FALSE(uploader.AddPoint(At(2)));
  EXPECT_FALSE(uploader.AddCheckpoint({}));
  EXPECT_EQ(uploader.Finish({}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(coordinator_.Calls("ReportPoints"), 1);
  EXPECT_EQ(coordinator_.Calls("FinishAttempt"), 0);
}

}  // namespace
}  // namespace gyre
