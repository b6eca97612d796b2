// Who holds an attempt: epochs, suspicion before loss, what supersedes a late call, and what a
// worker's new process takes over from its old one.

#include <gmock/gmock.h>

#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

class Leases : public CoordinatorTest {
 protected:
  /// A worker "w" with incarnation "w1" that holds the first job.
  void SetUp() override {
    ASSERT_TRUE(Submit(MakeSweep("s", 1, 1)).ok());
    ASSERT_TRUE(Register("w", "w1").ok());
    lease_ = Lease("w1");
  }
  LeaseReply Lease(const std::string& incarnation) {
    auto lease = Acquire(incarnation);
    EXPECT_TRUE(lease.ok() && lease->has_value()) << lease.status();
    return lease.ok() && *lease ? **lease : LeaseReply{};
  }
  HeldAttempt Held() const { return {lease_.job_id, lease_.attempt, {}, lease_.epoch}; }
  AttemptRef Mine() const { return Ref(lease_, "w1"); }
  std::string Events() {
    return Sql("SELECT kind FROM events WHERE kind LIKE 'attempt_%' ORDER BY id");
  }
  Superseded Late(const AttemptRef& attempt) {
    EXPECT_EQ(Report(attempt, 1, {}).status().code(), StatusCode::kFailedPrecondition);
    Superseded superseded;
    EXPECT_TRUE(Do([&](const Moment&) {
                  superseded = coordinator_->WhySuperseded(attempt);
                  return OkStatus();
                }).ok());
    return superseded;
  }
  Result<RegisterReply> Attach(const std::string& incarnation, std::vector<LeftAttempt> left) {
    RegisterCall call{.name = "w", .incarnation = incarnation, .slots = 1, .left = std::move(left)};
    call.protocol = kProtocolVersion;
    return Get<RegisterReply>([&](const Moment& at) { return coordinator_->Register(call, at); });
  }

  LeaseReply lease_;
};

// skypilot-org/skypilot#10155, skypilot-org/skypilot#10157, determined-ai/determined#5704: who
// cannot be reached for a while is not dead.
TEST_F(Leases, ASuspectedAttemptThatIsHeardOfGoesOn) {
  ASSERT_TRUE(Report(Mine(), 1, {{"m", 1, 10, 1}}).ok());
  const std::function<void()> words[] = {
      [&] { EXPECT_THAT(*Beat("w1", {Held()}), ElementsAre(WorkerDesire::kContinue)); },
      [&] {
        EXPECT_TRUE(Report(Mine(), 2, {{"m", 2, 20, 2}}).ok());
      },
      [&] { EXPECT_TRUE(Save(Mine(), 2, "h2").ok()); }};
  for (const auto& word : words) {
    Advance(Millis(12000));
    ASSERT_THAT(Sweep("s").running, SizeIs(1));
    EXPECT_EQ(Sweep("s").running[0].suspected_at, Sql("SELECT suspected_at FROM attempts"));
    const auto job = Get<JobReply>([&](const Moment& at) { return coordinator_->GetJob(1, at); });
    EXPECT_THAT(job->why, HasSubstr("nothing is heard of its worker w"));
    EXPECT_THAT(job->why, HasSubstr("for another 12 s"));
    EXPECT_NE(job->attempts[0].suspected_at, "");
    Advance(Millis(11999));
    word();
    EXPECT_EQ(Sql("SELECT state, suspected_at FROM attempts"), "RUNNING|NULL");
    EXPECT_EQ(Sweep("s").running[0].suspected_at, "");
  }
  EXPECT_EQ(Events(),
            "attempt_leased; attempt_running; attempt_suspected; attempt_back; attempt_suspected; "
            "attempt_back; attempt_suspected; attempt_back");
  EXPECT_TRUE(Finish(Mine(), AttemptOutcome::kSucceeded, 2).ok());
  EXPECT_EQ(Sql("SELECT attempt, losses FROM jobs"), "1|0");
}

// A coordinator that was stopped for an hour has not heard anybody, and condemns nobody for that.
TEST_F(Leases, TheGraceBeginsWhenTheSilenceIsNoticed) {
  Advance(Millis(3'600'000));
  EXPECT_EQ(Jobs(), "1|RUNNING");
  Advance(Millis(11999));
  EXPECT_THAT(*Beat("w1", {Held()}), ElementsAre(WorkerDesire::kContinue));
}

TEST_F(Leases, SuspicionOutlivesARestartAndEndsWithTheGraceAfterTheFirst) {
  Advance(Millis(12000));
  Restart();
  ASSERT_THAT(Sweep("s").running, SizeIs(1));
  EXPECT_NE(Sweep("s").running[0].suspected_at, "");
  Advance(Timing().first_grace + Timing().suspect_grace - Millis(1));  // of both
  EXPECT_EQ(Jobs(), "1|RUNNING");
  Advance(Millis(1));
  EXPECT_EQ(Jobs(), "1|QUEUED");
}

TEST_F(Leases, AStartIsAnEpochOfWhichLeasesTell) {
  const std::string first = coordinator_->epoch();
  EXPECT_EQ(lease_.epoch, first);
  Restart();
  EXPECT_NE(coordinator_->epoch(), first);
  EXPECT_EQ(Sql("SELECT count(*) FROM coordinators WHERE version <> ''"), "2");
  EXPECT_EQ(Sql("SELECT id FROM coordinators ORDER BY epoch DESC LIMIT 1"), coordinator_->epoch());
  // The attempt goes on under the epoch of its lease.
  EXPECT_THAT(*Beat("w1", {Held()}), ElementsAre(WorkerDesire::kContinue));
  EXPECT_TRUE(Report(Mine(), 1, {{"m", 1, 10, 1}}).ok());
  EXPECT_EQ(Sql("SELECT epoch FROM attempts"), first);
}

// The same job, number and process, and yet another attempt: the first one's points do not belong
// to it.
TEST_F(Leases, AnAttemptOfARestoredBackupIsAnother) {
  ASSERT_TRUE(Finish(Mine(), AttemptOutcome::kStopped).ok());
  coordinator_.reset();
  const std::filesystem::path backup = folder_ / "backup.db";
  std::filesystem::copy_file(path_, backup);
  Restart();
  const LeaseReply before = Lease("w1");
  ASSERT_TRUE(Report(Ref(before, "w1"), 1, {{"m", 1, 10, 1}}).ok());
  coordinator_.reset();
  std::filesystem::copy_file(backup, path_, std::filesystem::copy_options::overwrite_existing);
  Restart();
  // Not even before the job is leased again.
  EXPECT_EQ(Late(Ref(before, "w1")).reason, Superseded::Reason::kOtherEpoch);
  const LeaseReply after = Lease("w1");
  ASSERT_EQ(after.attempt, before.attempt);
  EXPECT_EQ(Report(Ref(before, "w1"), 1, {{"m", 2, 20, 2}}).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(Save(Ref(before, "w1"), 2, "h2").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Finish(Ref(before, "w1"), AttemptOutcome::kSucceeded, 0).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_THAT(*Beat("w1", {{before.job_id, before.attempt, {}, before.epoch}}),
              ElementsAre(WorkerDesire::kDrop));
  EXPECT_THAT(Late(Ref(before, "w1")).why, HasSubstr("another copy of the database"));
  EXPECT_EQ(Sql("SELECT count(*) FROM points"), "0");
  EXPECT_TRUE(Report(Ref(after, "w1"), 1, {{"m", 1, 10, 1}}).ok());
}

// The database refuses, whatever the memory of the one who asks says.
TEST_F(Leases, TheDatabaseItselfKnowsTheEpochOfAnAttempt) {
  coordinator_.reset();
  auto store = Store::Open(path_);
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Begin().ok());
  auto attempt = (*store)->FindAttempt(1, 1);
  ASSERT_TRUE(attempt.ok() && *attempt);
  EXPECT_TRUE((*store)->Update(**attempt, std::nullopt).ok());
  (*attempt)->epoch = "another";
  EXPECT_EQ((*store)->Update(**attempt, std::nullopt).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ((*store)->SetIncarnation(**attempt, "w2").code(), StatusCode::kFailedPrecondition);
  (*store)->Rollback();
  *store = nullptr;
  Restart();
}

// A lock does not hold everywhere (some network file systems): then the newest epoch does.
TEST_F(Leases, ACoordinatorThatAnotherHasReplacedWritesNothingAnyMore) {
  std::filesystem::remove(path_.string() + ".lock");
  auto store = Store::Open(path_);
  ASSERT_TRUE(store.ok()) << store.status();
  auto second = Coordinator::Open(*std::move(store), {}, nullptr, at());
  ASSERT_TRUE(second.ok()) << second.status();
  checks_invariants_ = false;
  const Status refused = Report(Mine(), 1, {{"m", 1, 10, 1}}).status();
  EXPECT_EQ(refused.code(),
            StatusCode::kUnavailable);  // the worker asks again, and finds the other
  EXPECT_THAT(refused.message(), HasSubstr("another coordinator has started"));
  EXPECT_EQ(Sql("SELECT count(*) FROM points"), "0");
  coordinator_ = *std::move(second);
  EXPECT_TRUE(Report(Mine(), 1, {{"m", 1, 10, 1}}).ok());
}

// optuna/optuna#4234, optuna/optuna#5470: a trial was marked as failed, and its process crashed on
// its late report.
TEST_F(Leases, ALateCallIsToldWhatSupersedesIt) {
  EXPECT_EQ(Late({7, 1, "w1", lease_.epoch}).reason, Superseded::Reason::kNoSuchJob);
  EXPECT_EQ(Late({1, 2, "w1", lease_.epoch}).reason, Superseded::Reason::kOtherEpoch);
  EXPECT_EQ(Late({1, 1, "w0", lease_.epoch}).reason, Superseded::Reason::kOtherIncarnation);
  LoseAll();
  const Superseded lost = Late(Mine());
  EXPECT_EQ(lost.reason, Superseded::Reason::kLost);
  EXPECT_EQ(lost.job_state, "QUEUED");
  EXPECT_THAT(lost.why, HasSubstr("silent"));
  ASSERT_TRUE(Register("v", "v1").ok());
  const LeaseReply second = Lease("v1");
  EXPECT_EQ(Late(Mine()).current_attempt, 2);
  EXPECT_EQ(Late(Mine()).job_state, "RUNNING");
  ASSERT_TRUE(Finish(Ref(second, "v1"), AttemptOutcome::kSucceeded).ok());
  EXPECT_EQ(Late(Ref(second, "v1")).reason, Superseded::Reason::kEnded);
}

// skypilot-org/skypilot#6133: a job that finished while its controller was away was run again.
TEST_F(Leases, ANewProcessOfAWorkerDeliversWhatTheOldOneCouldNot) {
  ASSERT_TRUE(Report(Mine(), 1, {{"m", 1, 10, 1}}).ok());
  Restart();
  const auto answer = Attach("w2", {{Mine(), 2, AttemptOutcome::kSucceeded}});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->left, ElementsAre(WorkerDesire::kContinue));
  EXPECT_EQ(Sql("SELECT state, incarnation FROM attempts"), "RUNNING|w2");
  EXPECT_EQ(Sql("SELECT details ->> 'step', details ->> 'has_ended' FROM events WHERE kind = "
                "'attempt_reattached'"),
            "2|1");
  EXPECT_THAT(Attach("w2", {{Mine(), 2, AttemptOutcome::kSucceeded}})->left,
              ElementsAre(WorkerDesire::kContinue));  // its answer was lost
  const AttemptRef taken = Ref(lease_, "w2");
  EXPECT_THAT(*Beat("w2", {Held()}), ElementsAre(WorkerDesire::kContinue));
  HeldAttempt ended = Held();
  ended.outcome = AttemptOutcome::kSucceeded;
  EXPECT_THAT(*Beat("w2", {ended}), ElementsAre(WorkerDesire::kContinue));
  const auto job = Get<JobReply>([&](const Moment& at) { return coordinator_->GetJob(1, at); });
  EXPECT_THAT(job->why, HasSubstr("its trainer has ended"));
  EXPECT_EQ(Report(Mine(), 2, {}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Report(taken, 2, {{"m", 2, 20, 2}}).ok());
  EXPECT_TRUE(Finish(taken, AttemptOutcome::kSucceeded, 2).ok());
  EXPECT_EQ(Sql("SELECT state, attempt FROM jobs"), "SUCCEEDED|1");
  EXPECT_EQ(Sql("SELECT count(*) FROM points"), "2");
}

TEST_F(Leases, WhatIsNotOfferedIsLostAndWhatIsNotTheWorkersAnyMoreIsDropped) {
  const auto other =
      Attach("w2", {{Ref({.job_id = 1, .attempt = 2, .epoch = lease_.epoch}, ""), 2}});
  ASSERT_TRUE(other.ok());
  EXPECT_THAT(other->left, ElementsAre(WorkerDesire::kDrop));
  EXPECT_EQ(Sql("SELECT state, error FROM attempts"), "LOST|its worker was started anew");
  EXPECT_THAT(Attach("w3", {{Mine(), 2}})->left, ElementsAre(WorkerDesire::kDrop));
  EXPECT_EQ(Jobs(), "1|QUEUED");
}

TEST_F(Leases, AReattachedAttemptThatIsNotHeldAnyMoreIsLost) {
  ASSERT_THAT(Attach("w2", {{Mine(), 2}})->left, ElementsAre(WorkerDesire::kContinue));
  ASSERT_TRUE(Beat("w2", {}).ok());
  ASSERT_TRUE(Beat("w2", {}).ok());
  EXPECT_EQ(Jobs(), "1|QUEUED");
}

// It4innovations/hyperqueue#890: heartbeats come, nobody processes them, and their worker is
// dropped.
TEST_F(Leases, AHeartbeatIsAnsweredWithoutACommitAndCountsFromWhenItCame) {
  LeaseBoard& board = coordinator_->board();
  now_ += Millis(3000);
  EXPECT_THAT(board.Beat({"w1", {Held()}, "the disk is full"}, now_),
              Optional(ElementsAre(WorkerDesire::kContinue)));
  now_ += Millis(8000);
  EXPECT_THAT(board.Beat({"w1", {Held()}, ""}, now_),
              Optional(ElementsAre(WorkerDesire::kContinue)));
  Advance(Millis(11'000));  // so long the disk takes
  EXPECT_EQ(Sql("SELECT state, suspected_at FROM attempts"), "RUNNING|NULL");
  EXPECT_EQ(Sql("SELECT state FROM workers"), "ACTIVE");
  const auto cluster = Get<ClusterReply>([&](const Moment&) { return coordinator_->GetCluster(); });
  EXPECT_EQ(cluster->workers[0].problem, "");  // of the two the newer
  Advance(Millis(999));
  EXPECT_EQ(Sql("SELECT suspected_at FROM attempts"), "NULL");
  Advance(Millis(1));
  EXPECT_NE(Sql("SELECT suspected_at FROM attempts"), "NULL");
}

TEST_F(Leases, TheBoardSaysAtOnceWhatIsWantedAndLeavesTheRestToTheCoordinator) {
  LeaseBoard& board = coordinator_->board();
  const HeartbeatCall beat{"w1", {Held()}};
  ASSERT_TRUE(Do([&](const Moment& at) { return coordinator_->Pause({"s"}, at).status(); }).ok());
  EXPECT_THAT(board.Beat(beat, now_), Optional(ElementsAre(WorkerDesire::kStop)));
  ASSERT_TRUE(Do([&](const Moment& at) { return coordinator_->Resume({"s"}, at).status(); }).ok());
  EXPECT_THAT(board.Beat(beat, now_), Optional(ElementsAre(WorkerDesire::kContinue)));
  ASSERT_TRUE(Get<int>([&](const Moment& at) { return coordinator_->CancelJob(1, at); }).ok());
  EXPECT_THAT(board.Beat(beat, now_), Optional(ElementsAre(WorkerDesire::kStop)));

  EXPECT_EQ(board.Beat({"somebody", {}}, now_), std::nullopt);
  HeldAttempt other = Held();
  other.epoch = "another";
  EXPECT_EQ(board.Beat({"w1", {Held(), other}}, now_), std::nullopt);
  ASSERT_TRUE(Finish(Mine(), AttemptOutcome::kStopped).ok());
  EXPECT_EQ(board.Beat(beat, now_), std::nullopt);
  EXPECT_THAT(board.Beat({"w1", {}}, now_), Optional(SizeIs(0)));
  ASSERT_TRUE(Register("w", "w2").ok());
  EXPECT_EQ(board.Beat({"w1", {}}, now_), std::nullopt);
}

TEST_F(Leases, VersionsOfTheProtocolAreARangeAndARefusalNamesBoth) {
  const auto speak = [&](int oldest, int newest) {
    RegisterCall call{.name = "v", .incarnation = "v1", .version = "9.8.7", .slots = 1};
    call.protocol = newest;
    call.oldest_protocol = oldest;
    return Get<RegisterReply>([&](const Moment& at) { return coordinator_->Register(call, at); });
  };
  EXPECT_EQ(speak(0, kProtocolVersion)->protocol, kProtocolVersion);
  EXPECT_EQ(speak(kProtocolVersion, kProtocolVersion + 3)->protocol, kProtocolVersion);
  EXPECT_EQ(speak(1, kOldestProtocolVersion)->protocol, kOldestProtocolVersion);
  const Status newer = speak(kProtocolVersion + 1, kProtocolVersion + 3).status();
  EXPECT_EQ(newer.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(newer.message(), HasSubstr("the worker (9.8.7) speaks versions 3 to 5"));
  EXPECT_THAT(newer.message(), HasSubstr("and this coordinator ("));
  EXPECT_THAT(newer.message(), HasSubstr(") version 2;"));
  EXPECT_EQ(speak(0, 1).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace gyre
