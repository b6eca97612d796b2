// Pausing, resuming and trying again: sweeps and single jobs.

#include <gmock/gmock.h>

#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class IntentTest : public CoordinatorTest {
 protected:
  IntentTest() {
    EXPECT_TRUE(Submit(MakeSweep("s", 2, 2)).ok());
    EXPECT_TRUE(Register("w", "w1", 4).ok());
  }

  Result<TargetReply> Pause(const Target& target) {
    return Get<TargetReply>([&](const Moment& at) { return coordinator_->Pause(target, at); });
  }
  Result<TargetReply> Resume(const Target& target) {
    return Get<TargetReply>([&](const Moment& at) { return coordinator_->Resume(target, at); });
  }
  Result<TargetReply> Retry(const Target& target) {
    return Get<TargetReply>([&](const Moment& at) { return coordinator_->Retry(target, at); });
  }
  Status Cancel(const std::string& sweep) {
    return Get<int>([&](const Moment& at) { return coordinator_->CancelSweep(sweep, at); })
        .status();
  }
  LeaseReply Take() {
    const auto lease = Acquire("w1");
    EXPECT_TRUE(lease.ok() && lease->has_value()) << lease.status();
    return lease.ok() && *lease ? **lease : LeaseReply{};
  }
  bool GetsAJob() {
    const auto lease = Acquire("w1");
    return lease.ok() && lease->has_value();
  }
  /// Fails its job for good: INVALID_ARGUMENT is not tried again.
  void FailForGood(const LeaseReply& lease, const std::string& error = "wrong") {
    ASSERT_TRUE(
        Finish(Ref(lease, "w1"), AttemptOutcome::kFailed, 0, error, "INVALID_ARGUMENT").ok());
  }
};

TEST_F(IntentTest, APausedSweepGivesItsSlotsBackAndGoesOnFromItsCheckpoint) {
  const LeaseReply lease = Take();
  const auto paused = Pause({"s"});
  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_EQ(paused->jobs, 4);
  EXPECT_EQ(paused->running, 1);
  EXPECT_FALSE(GetsAJob());
  EXPECT_THAT(*Beat("w1", {{lease.job_id, 1, {}}}), ElementsAre(WorkerDesire::kStop));
  ASSERT_TRUE(Save(Ref(lease, "w1"), 5, "checkpoint").ok());
  ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kStopped).ok());
  EXPECT_EQ(Sweep("s").jobs.queued, 4);
  EXPECT_FALSE(GetsAJob());
  Restart();
  ASSERT_TRUE(Register("w", "w1", 4).ok());
  EXPECT_FALSE(GetsAJob());
  EXPECT_EQ(Sql("SELECT intent, pause_reason FROM sweeps"), "PAUSED|");

  ASSERT_TRUE(Resume({"s"}).ok());
  const LeaseReply again = Take();
  EXPECT_EQ(again.job_id, lease.job_id);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_EQ(again.checkpoint_hash, "checkpoint");
  EXPECT_EQ(Sql("SELECT failures, losses FROM jobs WHERE id = 1"), "0|0");
}

TEST_F(IntentTest, AResumeThatComesBeforeTheWorkerHasStoppedLetsItGoOn) {
  const LeaseReply lease = Take();
  ASSERT_TRUE(Pause({"s"}).ok());
  ASSERT_TRUE(Resume({"s"}).ok());
  EXPECT_THAT(*Beat("w1", {{lease.job_id, 1, {}}}), ElementsAre(WorkerDesire::kContinue));
}

TEST_F(IntentTest, RepeatingChangesNothing) {
  ASSERT_TRUE(Pause({"s"}).ok());
  ASSERT_TRUE(Pause({"", 2}).ok());
  const std::string events = Sql("SELECT count(*) FROM events");
  ASSERT_TRUE(Pause({"s"}).ok());
  ASSERT_TRUE(Pause({"", 2}).ok());
  EXPECT_EQ(Sql("SELECT count(*) FROM events"), events);
  ASSERT_TRUE(Resume({"s"}).ok());
  const std::string resumed = Sql("SELECT count(*) FROM events");
  ASSERT_TRUE(Resume({"s"}).ok());
  EXPECT_EQ(Retry({"s"})->jobs, 0);
  EXPECT_EQ(Sql("SELECT count(*) FROM events"), resumed);
}

TEST_F(IntentTest, APausedJobWaitsAloneAlsoOverARestart) {
  ASSERT_TRUE(Pause({"", 1}).ok());
  EXPECT_EQ(Take().job_id, 2);
  Restart();
  ASSERT_TRUE(Register("w", "w1", 4).ok());
  EXPECT_EQ(Take().job_id, 3);
  EXPECT_EQ(Sweep("s").jobs.queued, 2);
  ASSERT_TRUE(Resume({"", 1}).ok());
  EXPECT_EQ(Take().job_id, 1);
}

TEST_F(IntentTest, ResumingASweepResumesItsJobs) {
  ASSERT_TRUE(Pause({"", 1}).ok());
  ASSERT_TRUE(Pause({"s"}).ok());
  const auto refused = Resume({"", 1});
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("gyre resume s"));
  ASSERT_TRUE(Resume({"s"}).ok());
  EXPECT_EQ(Take().job_id, 1);
}

TEST_F(IntentTest, SubmittingAgainResumes) {
  ASSERT_TRUE(Pause({"s"}).ok());
  ASSERT_TRUE(Submit(MakeSweep("s", 2, 2)).ok());
  EXPECT_EQ(Sql("SELECT intent FROM sweeps"), "ACTIVE");
  EXPECT_TRUE(GetsAJob());
}

TEST_F(IntentTest, RetryQueuesFailedAndCanceledJobsWithAFreshCount) {
  FailForGood(Take());
  EXPECT_EQ(Sql("SELECT state, failures FROM jobs WHERE id = 1"), "FAILED|1");
  ASSERT_TRUE(Cancel("s").ok());
  EXPECT_FALSE(GetsAJob());
  const auto one = Retry({"", 1});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->jobs, 1);
  EXPECT_EQ(Sql("SELECT state, failures, error, ended_at FROM jobs WHERE id = 1"),
            "QUEUED|0||NULL");
  EXPECT_EQ(Take().attempt, 2);
  EXPECT_FALSE(GetsAJob());
  EXPECT_EQ(Retry({"s"})->jobs, 3);
  EXPECT_EQ(Sql("SELECT intent FROM sweeps"), "ACTIVE");
  EXPECT_EQ(Take().job_id, 2);
}

TEST_F(IntentTest, RetryTakesACancelBackThatHasNotHappenedYet) {
  const LeaseReply lease = Take();
  ASSERT_TRUE(Cancel("s").ok());
  EXPECT_EQ(Retry({"s"})->jobs, 4);
  EXPECT_THAT(*Beat("w1", {{lease.job_id, 1, {}}}), ElementsAre(WorkerDesire::kContinue));
}

// The worker may hear it from the board of leases, which follows events.
TEST_F(IntentTest, RetryOfOneJobTakesItsCancelBackAndSaysSo) {
  const LeaseReply lease = Take();
  ASSERT_TRUE(Cancel("s").ok());
  const HeldAttempt held{.job = lease.job_id, .number = 1, .epoch = lease.epoch};
  const auto desire = [&] { return coordinator_->board().Beat({"w1", {held}}, now_); };
  EXPECT_THAT(*desire(), ElementsAre(WorkerDesire::kStop));
  EXPECT_EQ(Retry({"", lease.job_id})->jobs, 1);
  EXPECT_THAT(*desire(), ElementsAre(WorkerDesire::kContinue));
  EXPECT_EQ(Sql("SELECT kind FROM events ORDER BY id DESC LIMIT 2"), "job_resumed; sweep_resumed");
}

TEST_F(IntentTest, RetryingAJobOfAPausedSweepSaysThatItWaits) {
  FailForGood(Take());
  ASSERT_TRUE(Pause({"s"}).ok());
  EXPECT_THAT(Retry({"", 1})->note, HasSubstr("gyre resume s"));
  EXPECT_FALSE(GetsAJob());
}

TEST_F(IntentTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(Pause({"t"}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Pause({"", 99}).status().code(), StatusCode::kNotFound);
  const LeaseReply lease = Take();
  ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kSucceeded).ok());
  EXPECT_EQ(Pause({"", lease.job_id}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Retry({"", lease.job_id}).status().message(), HasSubstr("has succeeded"));
  ASSERT_TRUE(Cancel("s").ok());
  EXPECT_EQ(Pause({"s"}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Resume({"s"}).status().message(), HasSubstr("gyre retry s"));

  PreparedSweep twins = MakeSweep("twins", 2, 1);
  twins.jobs[1].twin_of = 0;
  ASSERT_TRUE(Submit(std::move(twins), /*replace=*/false, /*fresh=*/true).ok());
  EXPECT_THAT(Pause({"", 6}).status().message(), HasSubstr("the same piece of work as job 5"));
  EXPECT_EQ(Pause({"", 5})->jobs, 2);
}

}  // namespace
}  // namespace gyre
