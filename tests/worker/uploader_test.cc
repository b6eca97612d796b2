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
