#include <gmock/gmock.h>

#include <cmath>

#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LifeOfJobs : public CoordinatorTest {
 protected:
  /// A worker "w" with incarnation "w1" that holds the first job.
  LeaseReply Leased(int variants = 1, int seeds = 1) {
    EXPECT_TRUE(Submit(MakeSweep("s", variants, seeds)).ok());
    EXPECT_TRUE(Register("w", "w1").ok());
    return Again();
  }
  LeaseReply Again(const std::string& incarnation = "w1") {
    auto lease = Acquire(incarnation);
    EXPECT_TRUE(lease.ok() && lease->has_value()) << lease.status();
    return lease.ok() && *lease ? **lease : LeaseReply{};
  }
};

TEST_F(LifeOfJobs, FromSubmissionToComparison) {
  const auto submitted = Submit(MakeSweep("s", 2, 2));
  ASSERT_TRUE(submitted.ok()) << submitted.status();
  EXPECT_EQ(submitted->jobs, 4);
  EXPECT_EQ(submitted->reused, 0);
  ASSERT_TRUE(Register("w", "w1").ok());
  for (int job = 1; job <= 4; ++job) {
    const LeaseReply lease = Again();
    EXPECT_EQ(lease.job_id, job);  // seed by seed
    EXPECT_EQ(lease.attempt, 1);
    EXPECT_EQ(lease.variant, job % 2 == 1 ? "a" : "b");
    const AttemptRef ref = Ref(lease, "w1");
    ASSERT_TRUE(
        Report(ref, 1, {{"austen/loss", 5, 500, 2.0 + job}, {"train/loss", 1, 10, 3}}).ok());
    ASSERT_TRUE(Report(ref, 2, {{"austen/loss", 10, 1000, 1.0 * job}}).ok());
    ASSERT_TRUE(Finish(ref, AttemptOutcome::kSucceeded, 2).ok());
  }
  EXPECT_FALSE(Acquire("w1")->has_value());
  EXPECT_EQ(Jobs(), "1|SUCCEEDED; 2|SUCCEEDED; 3|SUCCEEDED; 4|SUCCEEDED");
  EXPECT_EQ(Sql("SELECT sweep, variant, n, mean, round(std, 12) FROM comparison WHERE metric = "
                "'austen/loss'"),
            "s|a|2|2.0|1.414213562373; s|b|2|3.0|1.414213562373");
  EXPECT_EQ(Sql("SELECT variant, seed, step, value FROM final WHERE metric = 'austen/loss' ORDER "
                "BY 1, 2"),
            "a|0|10|1.0; a|1|10|3.0; b|0|10|2.0; b|1|10|4.0");
  EXPECT_EQ(Sql("SELECT count(*) FROM curves"), "12");
  EXPECT_EQ(Sql("SELECT kind FROM events WHERE sweep_id = 1 ORDER BY id DESC LIMIT 1"),
            "sweep_finished");
  EXPECT_EQ(Sweep("s").jobs.succeeded, 4);
  EXPECT_EQ(Sweep("s").tokens_done, 4000);
}

TEST_F(LifeOfJobs, ALeaseCarriesTheTrainersJob) {
  const LeaseReply lease = Leased();
  const Json job = Json::parse(lease.job);
  EXPECT_EQ(job,
            Json::parse(R"({"config": {"model": {"hidden_size": 8}}, "seed": 0, "key": "key-a0",
      "datasets": {"train": "train-hash", "validation": {"austen": "validation-hash"}}, "initial_weights": ""})"));
  EXPECT_EQ(lease.checkpoint_hash, "");
  EXPECT_EQ(lease.lease, Millis(12000));
}

// ray-project/ray#3348, wandb/wandb#3405, wandb/wandb#1526, wandb/wandb#6779: what is shown as
// running does not run, or weeks after its death; what runs is shown as crashed.
TEST_F(LifeOfJobs, HeartbeatsKeepALeaseAndSilenceLosesIt) {
  const LeaseReply lease = Leased();
  const HeldAttempt held{lease.job_id, lease.attempt, {5, 50, 100, 2.5}};
  for (int beat = 0; beat < 10; ++beat) {
    Advance(Millis(3000));
    EXPECT_THAT(*Beat("w1", {held}), ElementsAre(WorkerDesire::kContinue));
  }
  EXPECT_EQ(Sql("SELECT state FROM attempts"), "RUNNING");
  ASSERT_THAT(Sweep("s").running, testing::SizeIs(1));
  EXPECT_EQ(Sweep("s").running[0].progress.step, 5);
  Advance(Millis(11999));
  EXPECT_EQ(Sql("SELECT state, suspected_at FROM attempts"), "RUNNING|NULL");
  Advance(Millis(1));
  EXPECT_NE(Sql("SELECT suspected_at FROM attempts"), "NULL");
  Advance(Millis(11999));
  EXPECT_EQ(Jobs(), "1|RUNNING");
  Advance(Millis(1));
  EXPECT_EQ(Jobs(), "1|QUEUED");
  EXPECT_EQ(Sql("SELECT state, error FROM attempts"),
            "LOST|its worker was silent for longer than its lease and the grace after it");
  EXPECT_EQ(Sql("SELECT state FROM workers"), "GONE");
  EXPECT_EQ(Sql("SELECT job_state, attempt_state, worker FROM failures"), "QUEUED|LOST|w");

  // The worker comes back with what it held: too late, and visibly so.
  EXPECT_THAT(*Beat("w1", {held}), ElementsAre(WorkerDesire::kDrop));
  EXPECT_EQ(Sql("SELECT state FROM workers"), "ACTIVE");
  const Result<int64_t> late = Report(Ref(lease, "w1"), 1, {{"m", 1, 10, 1}});
  EXPECT_EQ(late.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(late.status().message(),
            "attempt 1 of job 1 was given up: its worker was silent for longer than its lease and "
            "the grace after it; the job is QUEUED, its latest attempt 1");
  EXPECT_EQ(Sql("SELECT count(*) FROM points"), "0");
  EXPECT_EQ(Sql("SELECT job_id, attempt, details ->> 'call' FROM events WHERE kind = "
                "'stale_call_refused'"),
            "1|1|ReportPoints");
}

// trinodb/trino#3730, stackhpc/ansible-slurm-appliance#114: a clock that is 0.76 s off drops all
// workers.
TEST_F(LifeOfJobs, AClockThatIsSetTouchesNoLease) {
  const LeaseReply lease = Leased();
  const HeldAttempt held{lease.job_id, lease.attempt, {}};
  constexpr Millis kDay = std::chrono::hours(24);
  for (const Millis skew : {kDay, -kDay, 4000 * kDay, Millis(0)}) {
    wall_skew_ = skew;
    Advance(Millis(3000));
    EXPECT_THAT(*Beat("w1", {held}), ElementsAre(WorkerDesire::kContinue)) << skew.count();
  }
  // Nor does one that is set back keep a lease alive.
  wall_skew_ = -kDay;
  LoseAll();
  EXPECT_EQ(Sql("SELECT state FROM attempts"), "LOST");
}

TEST_F(LifeOfJobs, ALostJobGoesOnFromItsCheckpointElsewhere) {
  const LeaseReply first = Leased();
  ASSERT_TRUE(Report(Ref(first, "w1"), 1, {{"m", 1, 10, 1.5}, {"m", 2, 20, 2.5}}).ok());
  ASSERT_TRUE(Save(Ref(first, "w1"), 1, "hash-1").ok());
  ASSERT_TRUE(Register("v", "v1").ok());
  LoseAll();
  EXPECT_TRUE(Register("v", "v1").ok());
  const LeaseReply second = Again("v1");
  EXPECT_EQ(second.job_id, first.job_id);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_EQ(second.checkpoint_hash, "hash-1");
  EXPECT_EQ(second.checkpoint_step, 1);
  // The zombie is fenced off, whatever it says.
  EXPECT_EQ(Report(Ref(first, "w1"), 2, {{"m", 3, 30, 99}}).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(Save(Ref(first, "w1"), 3, "hash-x").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Finish(Ref(first, "w1"), AttemptOutcome::kSucceeded, 1).status().code(),
            StatusCode::kFailedPrecondition);
  // Its number with another's incarnation does not help either.
  EXPECT_EQ(Report({second.job_id, 2, "w1", second.epoch}, 1, {}).status().code(),
            StatusCode::kFailedPrecondition);

  ASSERT_TRUE(Report(Ref(second, "v1"), 1, {{"m", 2, 20, 2.5}, {"m", 3, 30, 3.5}}).ok());
  ASSERT_TRUE(Finish(Ref(second, "v1"), AttemptOutcome::kSucceeded, 1).ok());
  EXPECT_EQ(Sql("SELECT step, value, attempt FROM points"), "1|1.5|1; 2|2.5|2; 3|3.5|2");
  EXPECT_EQ(Sql("SELECT number, state, resumed_from_step FROM attempts"),
            "1|LOST|NULL; 2|SUCCEEDED|1");
  EXPECT_EQ(Sql("SELECT count(*) FROM events WHERE kind = 'nondeterminism'"), "0");
}

TEST_F(LifeOfJobs, AnotherValueUnderTheSameFingerprintIsAnEvent) {
  const LeaseReply first = Leased();
  ASSERT_TRUE(
      Report(Ref(first, "w1"), 1, {{"m", 1, 10, 1.5}, {"m", 2, 20, NAN}, {"m", 3, 30, 3}}).ok());
  ASSERT_TRUE(Finish(Ref(first, "w1"), AttemptOutcome::kStopped, 1).ok());
  const LeaseReply second = Again();
  ASSERT_TRUE(
      Report(Ref(second, "w1"), 1, {{"m", 1, 10, 1.25}, {"m", 2, 20, INFINITY}, {"m", 3, 30, 3}})
          .ok());
  EXPECT_EQ(Sql("SELECT value FROM points"), "1.25; NULL; 3.0");
  EXPECT_EQ(Sql("SELECT details ->> 'metric', details ->> 'step', details -> 'before', details -> "
                "'after' "
                "FROM events WHERE kind = 'nondeterminism'"),
            R"(m|1|{"attempt":1,"value":1.5}|{"attempt":2,"value":1.25})");
  EXPECT_EQ(Sweep("s").differing_points, 1);
  const auto job = Get<JobReply>([&](const Moment& at) { return coordinator_->GetJob(1, at); });
  ASSERT_THAT(job->warnings, testing::SizeIs(1));
  EXPECT_THAT(job->warnings[0],
              HasSubstr("1 point came again with another value under the same fingerprint, first m "
                        "at step 1: 1.5 in attempt 1, 1.25 in attempt 2"));
  ASSERT_TRUE(Finish(Ref(second, "w1"), AttemptOutcome::kStopped, 1).ok());
  // Another machine may compute other bits: that is no news.
  const LeaseReply third = Again();
  ASSERT_TRUE(Report(Ref(third, "w1"), 1, {{"m", 1, 10, 1.125}}, "gpu").ok());
  EXPECT_EQ(Sql("SELECT count(*) FROM events WHERE kind = 'nondeterminism'"), "1");
  EXPECT_EQ(Sql("SELECT value, attempt FROM points WHERE step = 1"), "1.125|3");
  Restart();
  EXPECT_EQ(Sweep("s").differing_points, 1);
}

TEST_F(LifeOfJobs, BatchesComeOnceAndInOrder) {
  const AttemptRef ref = Ref(Leased(), "w1");
  EXPECT_EQ(Report(ref, 2, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(*Report(ref, 1, {{"m", 1, 10, 1}}), 1);
  EXPECT_EQ(*Report(ref, 1, {{"m", 1, 10, 77}}), 1);  // a replay changes nothing
  EXPECT_EQ(*Report(ref, 2, {{"m", 2, 20, 2}}), 2);
  EXPECT_EQ(*Report(ref, 1, {{"m", 1, 10, 77}}), 2);
  EXPECT_EQ(Report(ref, 4, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Sql("SELECT step, value FROM points"), "1|1.0; 2|2.0");
  EXPECT_EQ(Finish(ref, AttemptOutcome::kSucceeded, 3).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Jobs(), "1|RUNNING");
  EXPECT_TRUE(Finish(ref, AttemptOutcome::kSucceeded, 2).ok());
  EXPECT_TRUE(Finish(ref, AttemptOutcome::kSucceeded, 2).ok());  // its answer was lost
  EXPECT_EQ(Finish(ref, AttemptOutcome::kFailed, 2).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(Sql("SELECT count(*) FROM events WHERE kind = 'job_succeeded'"), "1");
}

TEST_F(LifeOfJobs, CheckpointsNameWhatIsObsolete) {
  const LeaseReply lease = Leased(1, 2);
  const AttemptRef ref = Ref(lease, "w1");
  EXPECT_THAT(*Save(ref, 1, "h1"), IsEmpty());
  EXPECT_THAT(*Save(ref, 2, "h2"), IsEmpty());
  EXPECT_THAT(*Save(ref, 3, "h3"), ElementsAre("h1"));
  EXPECT_THAT(*Save(ref, 3, "h3"), ElementsAre("h1"));  // its answer was lost
  EXPECT_EQ(Sql("SELECT step, hash FROM checkpoints"), "2|h2; 3|h3");
  EXPECT_THAT(*Save(ref, 4, "weights", true), IsEmpty());
  EXPECT_THAT(*Finish(ref, AttemptOutcome::kSucceeded), ElementsAre("h2", "h3"));
  EXPECT_EQ(Sql("SELECT step, hash, weights_only FROM checkpoints"), "4|weights|1");
  // Another job with the same content: its rows keep the objects.
  const AttemptRef other = Ref(Again(), "w1");
  EXPECT_THAT(*Save(other, 1, "weights"), IsEmpty());
  EXPECT_THAT(*Save(other, 2, "o2"), IsEmpty());
  EXPECT_THAT(*Save(other, 3, "o3"), IsEmpty());  // "weights" is still the first job's
  EXPECT_THAT(*Save(other, 4, "o4"), ElementsAre("o2"));
}

TEST_F(LifeOfJobs, ADamagedCheckpointGivesWayToTheOneBefore) {
  const AttemptRef first = Ref(Leased(), "w1");
  ASSERT_TRUE(Save(first, 1, "h1").ok());
  ASSERT_TRUE(Save(first, 2, "h2").ok());
  ASSERT_TRUE(Finish(first, AttemptOutcome::kStopped).ok());
  const LeaseReply second = Again();
  EXPECT_EQ(second.checkpoint_hash, "h2");
  ASSERT_TRUE(Finish(Ref(second, "w1"), AttemptOutcome::kFailed, 0, "damaged", "DATA_LOSS").ok());
  Advance(Millis(10000));
  EXPECT_EQ(Again().checkpoint_hash, "h1");
}

TEST_F(LifeOfJobs, FailuresAreTriedAgainAfterAPauseAndThenNoMore) {
  AttemptRef ref = Ref(Leased(), "w1");
  ASSERT_TRUE(Finish(ref, AttemptOutcome::kFailed, 0, "out of luck", "INTERNAL").ok());
  EXPECT_EQ(Jobs(), "1|QUEUED");
  EXPECT_FALSE(Acquire("w1")->has_value());
  const Millis first = Jittered(Millis(10'000), 1, 1);
  Advance(first - Millis(1));
  EXPECT_FALSE(Acquire("w1")->has_value());
  Advance(Millis(1));
  ASSERT_TRUE(
      Finish(Ref(Again(), "w1"), AttemptOutcome::kFailed, 0, "out of luck", "INTERNAL").ok());
  const Millis second = Jittered(Millis(20'000), 1, 2);  // of a pause twice as long
  Advance(second - Millis(1));
  EXPECT_FALSE(Acquire("w1")->has_value());
  Advance(Millis(1));
  ASSERT_TRUE(
      Finish(Ref(Again(), "w1"), AttemptOutcome::kFailed, 0, "out of luck", "INTERNAL").ok());
  EXPECT_EQ(Jobs(), "1|FAILED");
  ASSERT_THAT(Sweep("s").failures, testing::SizeIs(1));
  EXPECT_EQ(Sweep("s").failures[0].error, "out of luck");
  EXPECT_EQ(Sql("SELECT kind FROM events ORDER BY id DESC LIMIT 1"), "sweep_finished");
}

TEST_F(LifeOfJobs, WhatTheUserMustFixFailsAtOnce) {
  ASSERT_TRUE(
      Finish(Ref(Leased(), "w1"), AttemptOutcome::kFailed, 0, "p is 2", "INVALID_ARGUMENT").ok());
  EXPECT_EQ(Jobs(), "1|FAILED");
}

TEST_F(LifeOfJobs, FiveLossesInARowWithoutACheckpointFail) {
  LeaseReply lease = Leased();
  for (int loss = 1; loss <= 4; ++loss) {
    ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kLost, 0, "killed").ok());
    EXPECT_EQ(Jobs(), "1|QUEUED");
    lease = Again();
  }
  ASSERT_TRUE(Save(Ref(lease, "w1"), 7, "h7").ok());  // progress: the count starts anew
  for (int loss = 1; loss <= 4; ++loss) {
    ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kLost, 0, "killed").ok());
    lease = Again();
    ASSERT_TRUE(Save(Ref(lease, "w1"), 7, "h7").ok());  // the same again is none
  }
  ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kLost, 0, "killed").ok());
  EXPECT_EQ(Jobs(), "1|FAILED");
  EXPECT_THAT(Sql("SELECT error FROM jobs"), HasSubstr("lost 5 times in a row"));
}

TEST_F(LifeOfJobs, ANewIncarnationEndsTheOldOnesLeasesAtOnce) {
  const LeaseReply lease = Leased();
  ASSERT_TRUE(Register("w", "w1").ok());  // the same again: nothing
  EXPECT_EQ(Jobs(), "1|RUNNING");
  ASSERT_TRUE(Register("w", "w2").ok());
  EXPECT_EQ(Jobs(), "1|QUEUED");
  EXPECT_EQ(Sql("SELECT state, error FROM attempts"), "LOST|its worker was started anew");
  EXPECT_EQ(Sql("SELECT name, incarnation FROM workers"), "w|w2");
  // The old process, if it still lives, is told to end.
  EXPECT_EQ(Beat("w1", {}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Acquire("w1").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Register("w", "w1").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Beat("w2", {{lease.job_id, lease.attempt, {}}})->front(), WorkerDesire::kDrop);
}

TEST_F(LifeOfJobs, AnUnknownWorkerIsAskedToRegister) {
  EXPECT_EQ(Beat("nobody", {}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Acquire("nobody").status().code(), StatusCode::kNotFound);
  RegisterCall call{.name = "w", .incarnation = "w1", .protocol = 99, .slots = 1};
  const auto answer =
      Get<RegisterReply>([&](const Moment& at) { return coordinator_->Register(call, at); });
  EXPECT_EQ(answer.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(answer.status().message(), HasSubstr("99"));
}

TEST_F(LifeOfJobs, ALostAnswerIsNoticedByTheSecondHeartbeatAndCostsNothing) {
  for (int round = 0; round < 7; ++round) {
    const LeaseReply lease = round == 0 ? Leased() : Again();
    ASSERT_EQ(lease.attempt, round + 1);
    ASSERT_TRUE(Beat("w1", {}).ok());  // may have crossed the answer
    EXPECT_EQ(Jobs(), "1|RUNNING");
    ASSERT_TRUE(Beat("w1", {}).ok());
    EXPECT_EQ(Jobs(), "1|QUEUED");
  }
  EXPECT_EQ(Sql("SELECT losses, failures FROM jobs"), "0|0");
}

TEST_F(LifeOfJobs, AWaitingWorkerGetsAJobWhenOneIsSubmitted) {
  ASSERT_TRUE(Register("w", "w1").ok());
  std::vector<std::optional<LeaseReply>> answers;
  const auto ask = [&](int64_t offer) {
    return Do([&](const Moment& at) {
      return coordinator_->Acquire(
          offer, {"w1", Millis(20000), 1, 1, 0},
          [&](const std::optional<LeaseReply>& lease) { answers.push_back(lease); }, at);
    });
  };
  ASSERT_TRUE(ask(1).ok());
  EXPECT_THAT(answers, IsEmpty());
  ASSERT_TRUE(ask(2).ok());  // asks again: the first wait is over
  ASSERT_THAT(answers, ElementsAre(testing::Eq(std::nullopt)));
  ASSERT_TRUE(Submit(MakeSweep("s", 1, 2)).ok());
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1]->job_id, 1);

  ASSERT_TRUE(ask(3).ok());  // granted at once
  ASSERT_EQ(answers.size(), 3u);
  ASSERT_TRUE(ask(4).ok());
  ASSERT_TRUE(Beat("w1", {{1, 1, {}}, {2, 1, {}}}).ok());
  Advance(Millis(11000));
  ASSERT_TRUE(Beat("w1", {{1, 1, {}}, {2, 1, {}}}).ok());
  EXPECT_EQ(answers.size(), 3u);
  Advance(Millis(9000));
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_FALSE(answers[3].has_value());

  ASSERT_TRUE(ask(5).ok());
  ASSERT_TRUE(Do([&](const Moment&) {
                coordinator_->Withdraw(5);
                return OkStatus();
              }).ok());
  ASSERT_TRUE(Submit(MakeSweep("t", 1, 1)).ok());
  EXPECT_EQ(answers.size(), 4u);  // who has hung up gets no job
  EXPECT_EQ(Sql("SELECT state FROM jobs WHERE id = 3"), "QUEUED");
}

TEST_F(LifeOfJobs, ATimeLimitStopsAndFailsTheJob) {
  PreparedSweep sweep = MakeSweep("s", 1, 1);
  sweep.record.timeout_ms = 60000;
  ASSERT_TRUE(Submit(sweep).ok());
  ASSERT_TRUE(Register("w", "w1").ok());
  LeaseReply lease = Again();
  Advance(Millis(10000));
  ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kStopped).ok());  // 10 s are gone
  lease = Again();
  for (int second = 0; second < 50; second += 5) {
    EXPECT_EQ(Beat("w1", {{1, 2, {}}})->front(), WorkerDesire::kContinue);
    Advance(Millis(5000));
  }
  EXPECT_EQ(Beat("w1", {{1, 2, {}}})->front(), WorkerDesire::kStop);
  ASSERT_TRUE(Finish(Ref(lease, "w1"), AttemptOutcome::kStopped).ok());
  EXPECT_EQ(Sql("SELECT state, error FROM jobs"), "FAILED|timed out after 1 min");
}

TEST_F(LifeOfJobs, ADivergedJobHasSucceededAndIsLeftOutOfMeans) {
  const LeaseReply first = Leased(1, 2);
  ASSERT_TRUE(Report(Ref(first, "w1"), 1, {{"m", 9, 90, NAN}}).ok());
  FinishAttemptCall call;
  call.attempt = Ref(first, "w1");
  call.outcome = AttemptOutcome::kSucceeded;
  call.last_sequence = 1;
  call.diverged_at_step = 9;
  ASSERT_TRUE(Get<ObsoleteObjects>([&](const Moment& at) {
                return coordinator_->FinishAttempt(call, at);
              }).ok());
  const LeaseReply second = Again();
  ASSERT_TRUE(Report(Ref(second, "w1"), 1, {{"m", 9, 90, 4}}).ok());
  ASSERT_TRUE(Finish(Ref(second, "w1"), AttemptOutcome::kSucceeded, 1).ok());
  EXPECT_EQ(Sql("SELECT state, diverged_at_step FROM jobs"), "SUCCEEDED|9; SUCCEEDED|NULL");
  EXPECT_EQ(Sql("SELECT n, mean, std FROM comparison"), "1|4.0|NULL");
}

}  // namespace
}  // namespace gyre
