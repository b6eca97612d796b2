// Failures told apart: want of memory, a full disk, a sweep whose first jobs all fail alike; and
// what people are told about it.

#include <gmock/gmock.h>

#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class FailureTest : public CoordinatorTest {
 protected:
  void Start(int variants, int seeds) {
    ASSERT_TRUE(Submit(MakeSweep("s", variants, seeds)).ok());
    ASSERT_TRUE(Register("w", "w1", 8).ok());
  }
  LeaseReply Take() {
    const auto lease = Acquire("w1");
    EXPECT_TRUE(lease.ok() && lease->has_value()) << lease.status();
    return lease.ok() && *lease ? **lease : LeaseReply{};
  }
  /// Takes a job and fails it.
  void Fail(const std::string& error, const std::string& code) {
    ASSERT_TRUE(Finish(Ref(Take(), "w1"), AttemptOutcome::kFailed, 0, error, code).ok());
  }
  bool GetsAJob() {
    const auto lease = Acquire("w1");
    return lease.ok() && lease->has_value();
  }
  JobReply Explain(int64_t job) {
    const auto reply =
        Get<JobReply>([&](const Moment& at) { return coordinator_->GetJob(job, at); });
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : JobReply{};
  }
  Status Change(Result<TargetReply> (Coordinator::*call)(const Target&, const Moment&)) {
    return Get<TargetReply>(
               [&](const Moment& at) { return (coordinator_.get()->*call)({"s"}, at); })
        .status();
  }
};

// ray-project/ray#30013: at most one retry for want of memory, then an end with numbers.
TEST_F(FailureTest, WantOfMemoryEndsAfterOneRetryWithNumbers) {
  Start(1, 1);
  FinishAttemptCall call;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    call.attempt = Ref(Take(), "w1");
    call.error = "the trainer was killed while the machine was out of memory";
    call.error_code = "RESOURCE_EXHAUSTED";
    call.peak_memory_bytes = int64_t{3} << 29;
    ASSERT_TRUE(Get<ObsoleteObjects>([&](const Moment& at) {
                  return coordinator_->FinishAttempt(call, at);
                }).ok());
    Advance(Millis(10'000));
  }
  EXPECT_EQ(Sql("SELECT state, failures, memory_failures FROM jobs"), "FAILED|0|2");
  EXPECT_THAT(Sql("SELECT error FROM jobs"),
              HasSubstr("(the trainer took up to 1.50 GiB; w has 1.00 GiB for 8 slots)"));
  const JobReply job = Explain(1);
  EXPECT_THAT(job.why, HasSubstr("it ran out of memory twice"));
  EXPECT_THAT(job.next.front(), HasSubstr("train.micro_batch"));
  ASSERT_EQ(job.attempts.size(), 2u);
  EXPECT_EQ(job.attempts[0].after, "attempt 2 began anew");
  EXPECT_EQ(job.attempts[1].peak_memory_bytes, int64_t{3} << 29);
}

TEST_F(FailureTest, AFullDiskOfAWorkerCostsNoTry) {
  Start(1, 1);
  for (int i = 0; i < 6; ++i) {
    Fail("cannot write a checkpoint: No space left on device", "RESOURCE_EXHAUSTED");
    Advance(kDiskFullPause);
  }
  EXPECT_EQ(Sql("SELECT state, failures, memory_failures, losses FROM jobs"), "QUEUED|0|0|0");
  EXPECT_TRUE(GetsAJob());
}

TEST_F(FailureTest, ASweepWhoseFirstJobsFailAlikePausesItselfAndResumeGoesOn) {
  Start(2, 5);
  Fail("no file /data/1a2b3c4d5e in 17 s", "INVALID_ARGUMENT");
  Fail("no file /data/99ffee11aa in 3 s", "INVALID_ARGUMENT");
  EXPECT_EQ(Sweep("s").sweep.intent, SweepIntent::kActive);
  Fail("no file /data/0123456789 in 4 s\nand its log", "INVALID_ARGUMENT");
  const SweepReply paused = Sweep("s");
  EXPECT_EQ(paused.sweep.intent, SweepIntent::kPaused);
  EXPECT_EQ(paused.sweep.pause_reason,
            "its first 3 jobs failed alike, and none has succeeded: no file /data/0123456789 in 4 "
            "s");
  EXPECT_FALSE(GetsAJob());
  EXPECT_THAT(Sql("SELECT details FROM events WHERE kind = 'sweep_paused'"),
              HasSubstr("failed alike"));
  EXPECT_THAT(Explain(4).why, HasSubstr("has paused itself: its first 3 jobs"));

  Restart();
  ASSERT_TRUE(Register("w", "w1", 8).ok());
  EXPECT_FALSE(GetsAJob());
  Advance(Millis(1000));
  ASSERT_TRUE(Change(&Coordinator::Resume).ok());
  // What failed before does not pause it again at once.
  Fail("no file /data/5 in 4 s", "INVALID_ARGUMENT");
  EXPECT_EQ(Sweep("s").sweep.intent, SweepIntent::kActive);
  ASSERT_TRUE(Change(&Coordinator::Retry).ok());
  EXPECT_EQ(Take().job_id, 1);
  EXPECT_EQ(Sweep("s").jobs.failed, 0);
}

TEST_F(FailureTest, SubmittingAgainAfterTheCauseIsGoneGoesOn) {
  Start(2, 5);
  for (int i = 0; i < 3; ++i) Fail("no data", "INVALID_ARGUMENT");
  const auto again = Submit(MakeSweep("s", 2, 5));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->requeued, 3);
  EXPECT_EQ(Sweep("s").sweep.intent, SweepIntent::kActive);
  EXPECT_EQ(Take().job_id, 1);
}

TEST_F(FailureTest, ASuccessOrOtherErrorsKeepASweepGoing) {
  Start(2, 5);
  Fail("one thing", "INVALID_ARGUMENT");
  Fail("another", "INVALID_ARGUMENT");
  Fail("a third", "INVALID_ARGUMENT");
  ASSERT_TRUE(Finish(Ref(Take(), "w1"), AttemptOutcome::kSucceeded).ok());
  for (int i = 0; i < 4; ++i) Fail("one thing", "INVALID_ARGUMENT");
  EXPECT_EQ(Sweep("s").sweep.intent, SweepIntent::kActive);
}

// optuna/optuna#5860: pre-emption and exceptions share one state.
TEST_F(FailureTest, CausesAreToldApart) {
  Start(1, 3);
  const LeaseReply lost = Take();
  ASSERT_TRUE(Finish(Ref(lost, "w1"), AttemptOutcome::kLost, 0, "killed", "UNAVAILABLE").ok());
  EXPECT_EQ(Take().job_id, lost.job_id);
  EXPECT_EQ(Explain(1).attempts[0].after, "attempt 2 began anew");
  Fail("bad", "INVALID_ARGUMENT");
  EXPECT_THAT(Explain(2).why, HasSubstr("the same job would be as wrong the next time"));
  EXPECT_THAT(Explain(3).why, HasSubstr("it is next"));
  EXPECT_THAT(Explain(1).why, HasSubstr("it runs"));
  EXPECT_EQ(Sql("SELECT group_concat(state || ' ' || error_code) FROM attempts WHERE state IN "
                "('LOST', 'FAILED')"),
            "LOST UNAVAILABLE,FAILED INVALID_ARGUMENT");
}

TEST_F(FailureTest, ADivergedLossIsAResult) {
  Start(1, 1);
  FinishAttemptCall call;
  call.attempt = Ref(Take(), "w1");
  call.outcome = AttemptOutcome::kSucceeded;
  call.diverged_at_step = 40;
  ASSERT_TRUE(Get<ObsoleteObjects>([&](const Moment& at) {
                return coordinator_->FinishAttempt(call, at);
              }).ok());
  EXPECT_EQ(Sql("SELECT state, diverged_at_step FROM jobs"), "SUCCEEDED|40");
  EXPECT_THAT(Explain(1).why, HasSubstr("not finite from step 40"));
}

TEST_F(FailureTest, AWaitingJobIsExplainedByWhatTheSchedulerSees) {
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 3)).ok());
  EXPECT_EQ(Explain(1).why, "no worker is connected");
  ASSERT_TRUE(Register("w", "w1", 1).ok());
  Take();
  EXPECT_EQ(Explain(3).why, "the only slot is busy (1 by s); 1 job goes before it");
  EXPECT_EQ(
      Get<JobReply>([&](const Moment& at) { return coordinator_->GetJob(9, at); }).status().code(),
      StatusCode::kNotFound);
}

}  // namespace
}  // namespace gyre
