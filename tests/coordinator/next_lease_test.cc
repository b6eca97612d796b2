// The lease that comes with the answer to an outcome: one transaction for both, nothing twice and
// nothing lost when the answer does not arrive, and nobody passed over by it.

#include <gmock/gmock.h>

#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::ElementsAre;

constexpr int64_t kGiB = int64_t{1} << 30;

class NextLease : public CoordinatorTest {
 protected:
  struct Answer {
    Status status = Internal("not answered");
    bool asked = false;  // the scheduler was
    std::optional<LeaseReply> lease;
  };

  void SubmitJobs(const std::string& name, int jobs, const Resources& needs = {},
                  const std::string& submitter = "") {
    PreparedSweep sweep = MakeSweep(name, 1, jobs);
    for (Job& job : sweep.jobs) job.key = name + job.key;
    sweep.record.resources = needs;
    sweep.record.submitted_by = submitter;
    sweep.record.retry_backoff_ms = 0;
    ASSERT_TRUE(Submit(std::move(sweep)).ok());
  }
  void RegisterMachine(const std::string& name, const std::string& incarnation, int slots,
                       int64_t memory_bytes = 16 * kGiB, std::vector<DeviceRecord> devices = {}) {
    const RegisterCall call{.name = name,
                            .incarnation = incarnation,
                            .protocol = kProtocolVersion,
                            .slots = slots,
                            .cpus = slots,
                            .memory_bytes = memory_bytes,
                            .devices = std::move(devices)};
    ASSERT_TRUE(Get<RegisterReply>([&](const Moment& moment) {
                  return coordinator_->Register(call, moment);
                }).ok());
  }
  /// What the worker offers is the machine's; it does not wait.
  std::optional<LeaseReply> Ask(const AcquireCall& call) {
    std::optional<LeaseReply> lease;
    EXPECT_TRUE(Do([&](const Moment& moment) {
                  return coordinator_->Acquire(
                      ++offers_, call,
                      [&](const std::optional<LeaseReply>& reply) { lease = reply; }, moment);
                }).ok());
    return lease;
  }
  LeaseReply Lease(const std::string& incarnation) {
    auto lease = Ask({.incarnation = incarnation, .slots = 1, .cpus = 1});
    EXPECT_TRUE(lease.has_value());
    return lease.value_or(LeaseReply{});
  }

  static FinishAttemptCall Wanting(AttemptRef attempt,
                                   AttemptOutcome outcome = AttemptOutcome::kSucceeded) {
    FinishAttemptCall call;
    call.attempt = std::move(attempt);
    call.outcome = outcome;
    call.wants_next = true;
    return call;
  }
  Call FinishCall(const FinishAttemptCall& finish, Answer* answer) {
    const int64_t offer = ++offers_;
    return {[=, this](const Moment& moment) {
              return coordinator_
                  ->FinishAttempt(
                      finish, offer,
                      [answer](const std::optional<LeaseReply>& lease) {
                        answer->asked = true;
                        answer->lease = lease;
                      },
                      moment)
                  .status();
            },
            [answer](const Status& status) { answer->status = status; }};
  }
  Answer FinishFor(const FinishAttemptCall& call) {
    Answer answer;
    coordinator_->Execute({FinishCall(call, &answer)}, at());
    const Status invariants = coordinator_->CheckInvariants();
    EXPECT_TRUE(invariants.ok()) << invariants;
    return answer;
  }
  static int64_t JobOf(const std::optional<LeaseReply>& lease) { return lease ? lease->job_id : 0; }
  void Change(Result<TargetReply> (Coordinator::*call)(const Target&, const Moment&),
              const std::string& sweep) {
    ASSERT_TRUE(Get<TargetReply>([&](const Moment& moment) {
                  return (coordinator_.get()->*call)({sweep}, moment);
                }).ok());
  }
};

TEST_F(NextLease, OneTransactionEndsAnAttemptAndLeasesTheNext) {
  SubmitJobs("s", 3);
  RegisterMachine("w", "w1", 1);
  const LeaseReply first = Lease("w1");
  const Answer answer = FinishFor(Wanting(Ref(first, "w1")));
  ASSERT_TRUE(answer.status.ok()) << answer.status;
  ASSERT_TRUE(answer.lease.has_value());
  EXPECT_EQ(answer.lease->job_id, 2);
  EXPECT_EQ(answer.lease->epoch, coordinator_->epoch());
  EXPECT_EQ(answer.lease->device, "cpu");
  EXPECT_EQ(Jobs(), "1|SUCCEEDED; 2|RUNNING; 3|QUEUED");
  EXPECT_EQ(Sql("SELECT count(DISTINCT at) FROM events WHERE kind IN "
                "('attempt_succeeded', 'job_succeeded', 'attempt_leased') AND id > "
                "(SELECT max(id) - 3 FROM events)"),
            "1");
  // The lease is like any other.
  EXPECT_THAT(*Beat("w1", {{2, 1, {}}}), ElementsAre(WorkerDesire::kContinue));
  EXPECT_TRUE(Report(Ref(*answer.lease, "w1"), 1, {{"m", 1, 10, 1}}).ok());
  EXPECT_EQ(JobOf(FinishFor(Wanting(Ref(*answer.lease, "w1"))).lease), 3);
}

// A worker of before does not ask, and an answer without a lease is one to it.
TEST_F(NextLease, OnlyForThoseWhoWantOneAndWhenThereIsOne) {
  SubmitJobs("s", 2);
  RegisterMachine("w", "w1", 1);
  FinishAttemptCall call = Wanting(Ref(Lease("w1"), "w1"));
  call.wants_next = false;
  const Answer unasked = FinishFor(call);
  EXPECT_TRUE(unasked.status.ok());
  EXPECT_FALSE(unasked.asked);
  EXPECT_EQ(Jobs(), "1|SUCCEEDED; 2|QUEUED");
  const Answer last = FinishFor(Wanting(Ref(Lease("w1"), "w1")));
  EXPECT_TRUE(last.status.ok());
  EXPECT_TRUE(last.asked);
  EXPECT_FALSE(last.lease.has_value());
}

TEST_F(NextLease, WhatIsRefusedLeasesNothing) {
  SubmitJobs("s", 2);
  RegisterMachine("w", "w1", 1);
  const LeaseReply lease = Lease("w1");
  FinishAttemptCall early = Wanting(Ref(lease, "w1"));
  early.last_sequence = 3;  // none of these is in
  FinishAttemptCall other = Wanting(Ref(lease, "w1"));
  other.attempt.epoch = "another";
  FinishAttemptCall strange = Wanting(Ref(lease, "somebody"));
  for (const auto& call : {early, other, strange}) {
    const Answer answer = FinishFor(call);
    EXPECT_FALSE(answer.status.ok());
    EXPECT_FALSE(answer.asked);
  }
  EXPECT_EQ(Jobs(), "1|RUNNING; 2|QUEUED");
}

// The answer was lost: the same call comes again. The job that it had brought is of nobody, until
// the second heartbeat that does not list it, and has lost nothing by it.
TEST_F(NextLease, ARepetitionLeasesNothingAndWhatItsLostAnswerLeasedIsQueuedAgain) {
  for (const bool restarts : {false, true}) {
    SCOPED_TRACE(restarts);
    const std::string sweep = restarts ? "t" : "s";
    SubmitJobs(sweep, 3);
    RegisterMachine(sweep, sweep, 1);
    const LeaseReply first = Lease(sweep);
    const FinishAttemptCall call = Wanting(Ref(first, sweep));
    const int64_t lost = JobOf(FinishFor(call).lease);
    ASSERT_EQ(lost, first.job_id + 1);
    if (restarts) Restart();
    for (int i = 0; i < 2; ++i) {
      const Answer again = FinishFor(call);
      EXPECT_TRUE(again.status.ok()) << again.status;
      EXPECT_FALSE(again.lease.has_value());
    }
    // The slot goes on with another.
    const LeaseReply third = Lease(sweep);
    EXPECT_EQ(third.job_id, first.job_id + 2);
    const HeldAttempt held{third.job_id, third.attempt, {}, third.epoch};
    EXPECT_THAT(*Beat(sweep, {held}), ElementsAre(WorkerDesire::kContinue));
    EXPECT_THAT(*Beat(sweep, {held}), ElementsAre(WorkerDesire::kContinue));
    EXPECT_EQ(Sql("SELECT state, losses FROM jobs WHERE id = " + std::to_string(lost)), "QUEUED|0");
    const Answer then = FinishFor(Wanting(Ref(third, sweep)));
    EXPECT_EQ(JobOf(then.lease), lost);
    EXPECT_EQ(then.lease->attempt, 2);
    EXPECT_TRUE(FinishFor(Wanting(Ref(*then.lease, sweep))).status.ok());
    EXPECT_EQ(Sql("SELECT count(*) FROM attempts WHERE state = 'SUCCEEDED' AND job_id = " +
                  std::to_string(lost)),
              "1");
  }
}

// The repetition is of an attempt whose job runs again on the same worker: no place is free.
TEST_F(NextLease, ARepetitionIsNotTakenForTheEndOfALaterAttempt) {
  SubmitJobs("s", 2);
  RegisterMachine("w", "w1", 1);
  const FinishAttemptCall call = Wanting(Ref(Lease("w1"), "w1"), AttemptOutcome::kStopped);
  const Answer first = FinishFor(call);
  ASSERT_EQ(JobOf(first.lease), 1);
  EXPECT_EQ(first.lease->attempt, 2);
  const Answer again = FinishFor(call);
  EXPECT_TRUE(again.status.ok()) << again.status;
  EXPECT_FALSE(again.asked);
  EXPECT_EQ(Jobs(), "1|RUNNING; 2|QUEUED");
}

TEST_F(NextLease, NothingOfASweepThatIsPausedOrCanceledMeanwhile) {
  SubmitJobs("s", 3);
  SubmitJobs("t", 3);
  RegisterMachine("w", "w1", 2);
  const LeaseReply one = Lease("w1"), two = Lease("w1");
  Change(&Coordinator::Pause, "s");
  // In the same transaction, and after the outcome.
  Answer answer;
  std::vector<Call> calls = {FinishCall(Wanting(Ref(one, "w1")), &answer)};
  calls.push_back(
      {[&](const Moment& moment) { return coordinator_->CancelSweep("t", moment).status(); },
       [](const Status& status) { EXPECT_TRUE(status.ok()); }});
  coordinator_->Execute(calls, at());
  EXPECT_TRUE(answer.status.ok());
  EXPECT_FALSE(answer.lease.has_value());
  Change(&Coordinator::Resume, "s");
  EXPECT_EQ(FinishFor(Wanting(Ref(two, "w1"))).lease->sweep, "s");
}

// A worker that was started anew in between gets nothing under its old name.
TEST_F(NextLease, NothingForAProcessThatIsReplacedInTheSameMoment) {
  SubmitJobs("s", 2);
  RegisterMachine("w", "w1", 1);
  Answer answer;
  std::vector<Call> calls = {FinishCall(Wanting(Ref(Lease("w1"), "w1")), &answer)};
  const RegisterCall anew{
      .name = "w", .incarnation = "w2", .protocol = kProtocolVersion, .slots = 1, .cpus = 1};
  calls.push_back(
      {[&](const Moment& moment) { return coordinator_->Register(anew, moment).status(); },
       [](const Status& status) { EXPECT_TRUE(status.ok()); }});
  coordinator_->Execute(calls, at());
  EXPECT_TRUE(answer.status.ok());
  EXPECT_FALSE(answer.lease.has_value());
  EXPECT_EQ(Jobs(), "1|SUCCEEDED; 2|QUEUED");
}

TEST_F(NextLease, TwoSlotsThatEndTogetherAndOneThatAsksEachGetTheirOwn) {
  SubmitJobs("s", 5);
  RegisterMachine("w", "w1", 3);
  const LeaseReply one = Lease("w1"), two = Lease("w1");
  Answer first, second;
  std::optional<LeaseReply> asked;
  std::vector<Call> calls = {FinishCall(Wanting(Ref(one, "w1")), &first),
                             FinishCall(Wanting(Ref(two, "w1")), &second)};
  calls.push_back({[&](const Moment& moment) {
                     return coordinator_->Acquire(
                         ++offers_, {.incarnation = "w1", .slots = 1, .cpus = 1},
                         [&](const std::optional<LeaseReply>& lease) { asked = lease; }, moment);
                   },
                   [](const Status& status) { EXPECT_TRUE(status.ok()); }});
  coordinator_->Execute(calls, at());
  EXPECT_THAT((std::vector<int64_t>{JobOf(first.lease), JobOf(second.lease), JobOf(asked)}),
              testing::UnorderedElementsAre(3, 4, 5));
}

TEST_F(NextLease, SubmittersTakeTurns) {
  SubmitJobs("long", 4, {}, "ada");
  SubmitJobs("short", 2, {}, "bob");
  RegisterMachine("w", "w1", 1);
  std::string order;
  for (std::optional<LeaseReply> lease = Lease("w1"); lease;) {
    order += lease->sweep + " ";
    lease = FinishFor(Wanting(Ref(*lease, "w1"))).lease;
  }
  EXPECT_EQ(order, "long short long short long long ");
}

// One with more needs has to be asked for with all that is free.
TEST_F(NextLease, ThePlaceIsWhatTheAttemptHadAndNoMore) {
  SubmitJobs("small", 1, {.memory_bytes = 2 * kGiB});
  RegisterMachine("w", "w1", 4);
  const LeaseReply small = Lease("w1");
  SubmitJobs("wide", 1, {.cpus = 2});
  SubmitJobs("large", 1, {.memory_bytes = 3 * kGiB});
  SubmitJobs("fits", 1, {.memory_bytes = 2 * kGiB});
  const Answer answer = FinishFor(Wanting(Ref(small, "w1")));
  EXPECT_EQ(answer.lease ? answer.lease->sweep : "", "fits");
  EXPECT_EQ(answer.lease ? answer.lease->cpus : 0, 1);
}

// What the worker said was free while the job ran may have been measured before the job had taken
// its memory.
TEST_F(NextLease, WhatIsOfferedBesideThePlaceHasNoneOfItsMemory) {
  SubmitJobs("first", 1, {.memory_bytes = 10 * kGiB});
  RegisterMachine("w", "w1", 2);
  const LeaseReply first = Lease("w1");
  std::optional<LeaseReply> beside;
  ASSERT_TRUE(Do([&](const Moment& moment) {
                return coordinator_->Acquire(
                    ++offers_,
                    {.incarnation = "w1",
                     .wait = Millis(10000),
                     .slots = 1,
                     .cpus = 1,
                     .memory_bytes = 16 * kGiB},
                    [&](const std::optional<LeaseReply>& lease) { beside = lease; }, moment);
              }).ok());
  SubmitJobs("next", 2, {.memory_bytes = 10 * kGiB});
  EXPECT_FALSE(beside.has_value());
  EXPECT_TRUE(FinishFor(Wanting(Ref(first, "w1"))).lease.has_value());
  EXPECT_FALSE(beside.has_value());
  EXPECT_EQ(Jobs(), "1|SUCCEEDED; 2|RUNNING; 3|QUEUED");
}

// Small jobs that follow each other in place do not keep out the one that needs the whole machine.
TEST_F(NextLease, APlaceThatIsKeptForAJobIsNotHandedOn) {
  SubmitJobs("small", 20);
  RegisterMachine("w", "w1", 2);
  const LeaseReply one = Lease("w1"), two = Lease("w1");
  PreparedSweep urgent = MakeSweep("urgent", 1, 1);
  urgent.jobs[0].key = "urgent";
  urgent.record.resources = {.cpus = 2};
  urgent.record.priority = 1;
  ASSERT_TRUE(Submit(std::move(urgent)).ok());
  EXPECT_FALSE(FinishFor(Wanting(Ref(one, "w1"))).lease.has_value());
  EXPECT_FALSE(Ask({.incarnation = "w1", .slots = 1, .cpus = 1}).has_value());
  EXPECT_FALSE(FinishFor(Wanting(Ref(two, "w1"))).lease.has_value());
  const auto whole = Ask({.incarnation = "w1", .slots = 2, .cpus = 2});
  EXPECT_EQ(whole ? whole->sweep : "", "urgent");
}

TEST_F(NextLease, AJobThatAvoidsTheNodeIsNotNext) {
  SubmitJobs("s", 2);
  RegisterMachine("bad", "b", 1);
  RegisterMachine("good", "g", 1);
  for (int i = 0; i < 2; ++i) {
    FinishAttemptCall fails = Wanting(Ref(Lease("b"), "b"), AttemptOutcome::kFailed);
    fails.wants_next = false;
    fails.error = "a cable";
    fails.error_code = "INTERNAL";
    EXPECT_TRUE(FinishFor(fails).status.ok());
  }
  const LeaseReply second = Lease("b");
  EXPECT_EQ(second.job_id, 2);
  EXPECT_FALSE(FinishFor(Wanting(Ref(second, "b"))).lease.has_value());
  EXPECT_EQ(Lease("g").job_id, 1);
}

// Which GPU is free, and with how much, the worker looks at each time.
TEST_F(NextLease, OnAGpuEachJobIsAskedForAnew) {
  SubmitJobs("s", 2);
  RegisterMachine("w", "w1", 1, 16 * kGiB,
                  {{"cpu", "cpu", "Fast 9000", 16 * kGiB}, {"cuda:0", "cuda", "H200", 100 * kGiB}});
  const auto lease = Ask({.incarnation = "w1", .slots = 1, .cpus = 1, .device = "cuda:0"});
  ASSERT_TRUE(lease.has_value());
  const Answer answer = FinishFor(Wanting(Ref(*lease, "w1")));
  EXPECT_TRUE(answer.status.ok());
  EXPECT_FALSE(answer.asked);
}

}  // namespace
}  // namespace gyre
