// A sweep whose jobs without hope end early, through the coordinator.

#include <gmock/gmock.h>

#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class StoppingTest : public CoordinatorTest {
 protected:
  static PreparedSweep SweepOf(int variants, int seeds) {
    PreparedSweep sweep = MakeSweep("rates", variants, seeds);
    sweep.record.stop_early = {.rule = "asha", .metric = "v/loss_sample", .grace = 100};
    for (PreparedVariant& variant : sweep.variants) variant.baseline = -1;
    return sweep;
  }
  /// A worker that holds the next job.
  LeaseReply Take(const std::string& incarnation) {
    EXPECT_TRUE(Register("w-" + incarnation, incarnation).ok());
    const auto lease = Acquire(incarnation);
    EXPECT_TRUE(lease.ok() && lease->has_value());
    return lease.ok() && lease->has_value() ? **lease : LeaseReply{};
  }
  void ReportLoss(const LeaseReply& lease, const std::string& incarnation, int64_t sequence,
                  int64_t tokens, double loss) {
    const auto answer =
        Report(Ref(lease, incarnation), sequence, {{"v/loss_sample", tokens / 10, tokens, loss}});
    EXPECT_TRUE(answer.ok()) << answer.status();
  }
  WorkerDesire Desire(const LeaseReply& lease, const std::string& incarnation) {
    HeldAttempt held{.job = lease.job_id, .number = lease.attempt};
    held.epoch = lease.epoch;
    const auto reply = Beat(incarnation, {held});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->front() : WorkerDesire::kDrop;
  }
  std::string Stopped() { return Sql("SELECT id FROM jobs WHERE stop_reason <> ''"); }
};

TEST_F(StoppingTest, TheWorstIsToldToStopAndEndsStoppedEarlyWithItsReason) {
  ASSERT_TRUE(Submit(SweepOf(3, 1)).ok());
  const LeaseReply a = Take("a"), b = Take("b"), c = Take("c");
  ReportLoss(a, "a", 1, 100, 2);
  ReportLoss(b, "b", 1, 100, 1);
  ReportLoss(c, "c", 1, 90, 9);
  EXPECT_EQ(Stopped(), "");
  ReportLoss(c, "c", 2, 100, 9);
  EXPECT_EQ(Stopped(), "3");
  EXPECT_EQ(Desire(c, "c"), WorkerDesire::kStop);
  EXPECT_EQ(Desire(b, "b"), WorkerDesire::kContinue);
  ASSERT_TRUE(Finish(Ref(c, "c"), AttemptOutcome::kStopped, 2).ok());
  EXPECT_EQ(Jobs(), "1|RUNNING; 2|RUNNING; 3|STOPPED_EARLY");
  EXPECT_EQ(Sql("SELECT kind, details ->> '$.reason' LIKE 'asha: at 100 tokens%' FROM events "
                "WHERE kind LIKE 'job_stop%'"),
            "job_stop_requested|1; job_stopped_early|1");
  const SweepReply sweep = Sweep("rates");
  EXPECT_EQ(sweep.jobs.stopped_early, 1);
  ASSERT_EQ(sweep.stopped_early.size(), 1u);
  EXPECT_THAT(sweep.stopped_early[0].error, HasSubstr("number 3 of the 3 jobs of its seed"));
  const auto job = Get<JobReply>([&](const Moment& at) { return coordinator_->GetJob(3, at); });
  ASSERT_TRUE(job.ok());
  EXPECT_THAT(job->why, HasSubstr("it was stopped early, by asha: at 100 tokens"));
  const auto retry =
      Get<TargetReply>([&](const Moment& at) { return coordinator_->Retry({.job = 3}, at); });
  EXPECT_EQ(retry.status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(StoppingTest, CurvesAreThereAfterARestartAndTheDecisionToo) {
  ASSERT_TRUE(Submit(SweepOf(3, 1)).ok());
  const LeaseReply a = Take("a"), b = Take("b"), c = Take("c");
  ReportLoss(a, "a", 1, 100, 2);
  ReportLoss(b, "b", 1, 100, 1);
  Restart();
  ReportLoss(c, "c", 1, 100, 9);
  EXPECT_EQ(Stopped(), "3");
  Restart();
  EXPECT_EQ(Desire(c, "c"), WorkerDesire::kStop);
  // Its worker dies before it hears of it: it is not trained again.
  ASSERT_TRUE(Register("w-c", "c2").ok());
  EXPECT_EQ(Jobs(), "1|RUNNING; 2|RUNNING; 3|STOPPED_EARLY");
}

TEST_F(StoppingTest, OneThatIsThroughBeforeItHearsHasSucceeded) {
  ASSERT_TRUE(Submit(SweepOf(3, 1)).ok());
  const LeaseReply a = Take("a"), b = Take("b"), c = Take("c");
  ReportLoss(a, "a", 1, 100, 2);
  ReportLoss(b, "b", 1, 100, 1);
  ReportLoss(c, "c", 1, 100, 9);
  ASSERT_TRUE(Finish(Ref(c, "c"), AttemptOutcome::kSucceeded, 1).ok());
  EXPECT_EQ(Sql("SELECT state, stop_reason FROM jobs WHERE id = 3"), "SUCCEEDED|");
}

TEST_F(StoppingTest, NobodyIsJudgedAtItsEndNorBesideAnotherSeed) {
  ASSERT_TRUE(Submit(SweepOf(2, 2)).ok());
  const LeaseReply a = Take("a"), b = Take("b"), c = Take("c"), d = Take("d");
  ReportLoss(a, "a", 1, 100, 1);
  ReportLoss(b, "b", 1, 100, 2);
  ReportLoss(c, "c", 1, 100, 9);  // of another seed
  ReportLoss(d, "d", 1, 100, 9.5);
  EXPECT_EQ(Stopped(), "");
  ASSERT_TRUE(Submit(SweepOf(3, 1), /*replace=*/true, /*fresh=*/true).ok());
  const LeaseReply e = Take("e"), f = Take("f"), g = Take("g");
  ReportLoss(e, "e", 1, 1000, 1);
  ReportLoss(f, "f", 1, 1000, 2);
  ReportLoss(g, "g", 1, 1000, 3);
  EXPECT_EQ(Stopped(), "");
}

TEST_F(StoppingTest, WhatOthersAreComparedWithIsNeverStopped) {
  PreparedSweep sweep = SweepOf(3, 1);
  sweep.variants[0].baseline = sweep.variants[1].baseline = 2;
  ASSERT_TRUE(Submit(std::move(sweep)).ok());
  const LeaseReply a = Take("a"), b = Take("b"), c = Take("c");
  ReportLoss(a, "a", 1, 100, 1);
  ReportLoss(b, "b", 1, 100, 2);
  ReportLoss(c, "c", 1, 100, 9);
  EXPECT_EQ(Stopped(), "");
  ReportLoss(b, "b", 2, 200, 2);
  EXPECT_EQ(Stopped(), "2");
}

TEST_F(StoppingTest, CanceledCountsForMore) {
  ASSERT_TRUE(Submit(SweepOf(3, 1)).ok());
  const LeaseReply a = Take("a"), b = Take("b"), c = Take("c");
  ReportLoss(a, "a", 1, 100, 1);
  ReportLoss(b, "b", 1, 100, 2);
  ReportLoss(c, "c", 1, 100, 9);
  ASSERT_TRUE(Get<int>([&](const Moment& at) { return coordinator_->CancelJob(3, at); }).ok());
  ASSERT_TRUE(Finish(Ref(c, "c"), AttemptOutcome::kStopped, 1).ok());
  EXPECT_EQ(Jobs(), "1|RUNNING; 2|RUNNING; 3|CANCELED");
}

// As after a restart, when curves come from the file.
TEST_F(StoppingTest, WhatAJobReportsAfterItWasToldToStopCountsForTheOthers) {
  PreparedSweep sweep = SweepOf(4, 1);
  sweep.record.stop_early->reduction = 2;
  ASSERT_TRUE(Submit(std::move(sweep)).ok());
  const LeaseReply a = Take("a"), b = Take("b"), c = Take("c"), d = Take("d");
  ReportLoss(a, "a", 1, 200, 1);
  ReportLoss(b, "b", 1, 100, 9);
  EXPECT_EQ(Stopped(), "2");
  ReportLoss(b, "b", 2, 200, 8);
  ReportLoss(c, "c", 1, 200, 7);
  ReportLoss(d, "d", 1, 200, 2);  // the second of four, of whom two go on
  EXPECT_EQ(Stopped(), "2; 3");
}

// Told to stop, then canceled, then wanted again: it begins as every job that is retried.
TEST_F(StoppingTest, ARetryForgetsWhyItWasToldToStop) {
  ASSERT_TRUE(Submit(SweepOf(3, 1)).ok());
  const LeaseReply a = Take("a"), b = Take("b"), c = Take("c");
  ReportLoss(a, "a", 1, 100, 2);
  ReportLoss(b, "b", 1, 100, 1);
  ReportLoss(c, "c", 1, 100, 9);
  EXPECT_EQ(Stopped(), "3");
  ASSERT_TRUE(
      Get<int>([&](const Moment& at) { return coordinator_->CancelJob(c.job_id, at); }).ok());
  ASSERT_TRUE(Finish(Ref(c, "c"), AttemptOutcome::kStopped, 1).ok());
  ASSERT_TRUE(Get<TargetReply>([&](const Moment& at) {
                return coordinator_->Retry({"", c.job_id}, at);
              }).ok());
  EXPECT_EQ(Stopped(), "");
  const LeaseReply again = Take("d");
  EXPECT_EQ(again.job_id, c.job_id);
  EXPECT_EQ(Desire(again, "d"), WorkerDesire::kContinue);
  ReportLoss(again, "d", 1, 110, 8);
  EXPECT_EQ(Stopped(), "3") << "judged anew";
}

}  // namespace
}  // namespace gyre
