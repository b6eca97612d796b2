#include "worker/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>

#include "base/files.h"
#include "base/ids.h"
#include "base/log.h"
#include "tests/worker/fake_coordinator.h"
#include "worker/process_tree.h"
#include "worker/trainer_process.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Millis kDeadline{10000};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    SetLogLevel(LogLevel::kOff);
    options_.home = std::filesystem::temp_directory_path() / ("gyre-agent-" + NewId());
    options_.trainer = GYRE_FAKE_TRAINER;
    options_.slots = 1;
    options_.affinity.clear();
    options_.exit_grace = Millis(1000);
  }
  ~AgentTest() override {
    if (worker_ != nullptr) worker_->Shutdown(Millis(0));
    std::filesystem::remove_all(options_.home);
  }

  void Start() {
    auto worker = Worker::Start(options_, coordinator_.Client());
    ASSERT_TRUE(worker.ok()) << worker.status();
    worker_ = *std::move(worker);
  }
  /// Runs one job to its end.
  FakeCoordinator::Record RunScript(const std::string& script) {
    coordinator_.Offer(1, script);
    Start();
    EXPECT_TRUE(coordinator_.AwaitEnd(1));
    return coordinator_.Get(1);
  }
  /// From what the trainer wrote into its log, which the coordinator has by then.
  int TrainerPid(int64_t job_id) {
    const std::string log = Log(job_id);
    return std::atoi(log.c_str() + log.find("pid ") + 4);
  }
  std::string Log(int64_t job_id) {
    coordinator_.Await(
        [&] { return coordinator_.Seen(job_id).log.find("pid ") != std::string::npos; });
    return coordinator_.Get(job_id).log;
  }

  WorkerOptions options_;
  FakeCoordinator coordinator_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(AgentTest, AJobComesBackAsPointsACheckpointAndAnOutcome) {
  const auto record = RunScript(R"(["points:3", "nan", "checkpoint", "point", "done"])");
  EXPECT_THAT(record.Steps(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(record.batches[0].points[1].value, 2 / 3.0);
  EXPECT_TRUE(std::isnan(record.batches[0].points[3].value));
  EXPECT_EQ(record.batches[0].fingerprint, R"({"backend":"cpu","threads":1})");
  ASSERT_EQ(record.checkpoints.size(), 1u);
  EXPECT_EQ(record.checkpoints[0].checkpoint.step, 4);
  EXPECT_EQ(record.checkpoints[0].sequence, 1);
  EXPECT_EQ(record.end->outcome, Outcome::kSucceeded);
  EXPECT_EQ(record.end->last_sequence, 2);
  EXPECT_EQ(record.end->step, 5);
  EXPECT_EQ(record.end->peak_memory_bytes, 1000);
  EXPECT_EQ(coordinator_.LastRegistration().slots, 1);
  EXPECT_EQ(coordinator_.LastRegistration().name, worker_->name());
}

TEST_F(AgentTest, OneTrainerRunsOneJobAfterAnotherAndEachHasItsLog) {
  for (int job = 1; job <= 3; ++job) coordinator_.Offer(job, R"(["point", "done"])");
  Start();
  for (int job = 1; job <= 3; ++job) ASSERT_TRUE(coordinator_.AwaitEnd(job));
  worker_->Shutdown(kDeadline);
  EXPECT_THAT(Log(1), HasSubstr("threads 1"));
  EXPECT_EQ(Log(1), Log(3));  // the same pid
}

TEST_F(AgentTest, ASlotGoesOnWithTheLeaseThatItsOutcomeBrought) {
  coordinator_.Offer(1, R"(["point", "done"])");
  for (int job = 2; job <= 4; ++job) coordinator_.OfferInPlace(job, R"(["point", "done"])");
  coordinator_.OfferInPlace(5, R"(["point", "progress", "wait"])");
  Start();
  for (int job = 1; job <= 4; ++job) {
    ASSERT_TRUE(coordinator_.AwaitEnd(job)) << job;
    EXPECT_EQ(coordinator_.Get(job).end->outcome, Outcome::kSucceeded);
    EXPECT_THAT(coordinator_.Get(job).Steps(), ElementsAre(1));
  }
  ASSERT_TRUE(coordinator_.AwaitHeld([](const std::vector<HeldLease>& held) {
    return held.size() == 1 && held[0].attempt == AttemptId{5, 1} && held[0].progress.loss == 2.5;
  }));
  EXPECT_EQ(TrainerPid(5), TrainerPid(1));
  coordinator_.Wish({5, 1}, Desire::kStop);
  ASSERT_TRUE(coordinator_.AwaitEnd(5));
  EXPECT_EQ(coordinator_.Get(5).end->outcome, Outcome::kStopped);
  coordinator_.Offer(6, R"(["done"])");  // then it asks, as ever
  ASSERT_TRUE(coordinator_.AwaitEnd(6));
}

// What a failure has left of the machine is looked at before anything else is taken.
TEST_F(AgentTest, AfterAFailureASlotAsksAnew) {
  coordinator_.Offer(1, R"(["point", "error"])");
  coordinator_.OfferInPlace(2, R"(["done"])");
  coordinator_.Offer(3, R"(["done"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitEnd(1) && coordinator_.AwaitEnd(2));
  EXPECT_FALSE(coordinator_.Get(1).end->wants_next);
  EXPECT_TRUE(coordinator_.Get(3).end->wants_next);
}

TEST_F(AgentTest, ALostAnswerCostsTheSlotNothing) {
  coordinator_.LoseAnswer("FinishAttempt");
  coordinator_.Offer(1, R"(["done"])");
  coordinator_.OfferInPlace(2, R"(["done"])");  // whose lease is in that answer
  Start();
  ASSERT_TRUE(coordinator_.AwaitCalls("FinishAttempt", 2));
  coordinator_.Offer(3, R"(["done"])");
  ASSERT_TRUE(coordinator_.AwaitEnd(3));
  EXPECT_FALSE(coordinator_.Get(2).end);
  EXPECT_TRUE(coordinator_.AwaitHeld([](const auto& held) { return held.empty(); }));
}

// The outcome is on its way when the worker is told to end: what its answer brings goes back, and
// nobody waits for it.
TEST_F(AgentTest, AShutdownGivesTheNextLeaseBack) {
  coordinator_.Fail("FinishAttempt", Unavailable("no connection"), 1000);
  coordinator_.Offer(1, R"(["point", "done"])");
  coordinator_.OfferInPlace(2, R"(["point", "wait"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitCalls("FinishAttempt", 1));
  auto stopping = std::async(std::launch::async, [&] { worker_->Shutdown(Millis(3600000)); });
  coordinator_.Recover("FinishAttempt");
  ASSERT_EQ(stopping.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kSucceeded);
  if (coordinator_.Get(1).end->wants_next) {
    ASSERT_TRUE(coordinator_.Get(2).end.has_value());
    EXPECT_EQ(coordinator_.Get(2).end->outcome, Outcome::kStopped);
  }
}

TEST_F(AgentTest, AStopOfAnAttemptThatHasEndedDoesNotStopTheNext) {
  coordinator_.Fail("FinishAttempt", Unavailable("no connection"), 2);
  coordinator_.Offer(1, R"(["point", "done"])");
  coordinator_.OfferInPlace(2, R"(["point", "done"])");
  coordinator_.Wish({1, 1}, Desire::kContinue);
  Start();
  ASSERT_TRUE(coordinator_.AwaitCalls("FinishAttempt", 1));
  coordinator_.Wish({1, 1}, Desire::kStop);
  ASSERT_TRUE(coordinator_.AwaitEnd(2));
  EXPECT_EQ(coordinator_.Get(2).end->outcome, Outcome::kSucceeded);
}

TEST_F(AgentTest, EachJobOfATrainerHasItsOwnThreads) {
  options_.cpus = 4;
  coordinator_.Offer(1, R"(["point", "done"])", 1);
  coordinator_.Offer(2, R"(["point", "done"])", 3);
  Start();
  ASSERT_TRUE(coordinator_.AwaitEnd(1) && coordinator_.AwaitEnd(2));
  worker_->Shutdown(kDeadline);
  EXPECT_THAT(Log(1), HasSubstr("threads 1"));
  EXPECT_THAT(Log(2), HasSubstr("threads 3"));
  EXPECT_EQ(TrainerPid(1), TrainerPid(2));
  EXPECT_EQ(coordinator_.Get(2).batches[0].fingerprint, R"({"backend":"cpu","threads":3})");
}

TEST_F(AgentTest, WhatTheTrainerCallsAnErrorFailsTheAttemptAndTheTrainerGoesOn) {
  coordinator_.Offer(1, R"(["point", "error"])");
  coordinator_.Offer(2, R"(["done"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitEnd(1) && coordinator_.AwaitEnd(2));
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kFailed);
  EXPECT_EQ(coordinator_.Get(1).end->error, NotFound("no data set"));
  EXPECT_THAT(coordinator_.Get(1).Steps(), ElementsAre(1));
  EXPECT_EQ(coordinator_.Get(2).end->outcome, Outcome::kSucceeded);
}

TEST_F(AgentTest, ACrashFailsTheAttemptWithTheSignalAndTheSlotWorksOn) {
  coordinator_.Offer(1, R"(["point", "kill:11"])");
  coordinator_.Offer(2, R"(["exit:7"])");
  coordinator_.Offer(3, R"(["done"])");
  Start();
  for (int job = 1; job <= 3; ++job) ASSERT_TRUE(coordinator_.AwaitEnd(job));
  const auto crash = coordinator_.Get(1);
  EXPECT_EQ(crash.end->outcome, Outcome::kFailed);
  EXPECT_THAT(crash.end->error.message(), HasSubstr("SIGSEGV"));
  EXPECT_THAT(crash.end->error.message(), HasSubstr("job begins"));
  EXPECT_THAT(crash.Steps(), ElementsAre(1));
  const auto exit = coordinator_.Get(2);
  EXPECT_EQ(exit.end->outcome, Outcome::kFailed);
  EXPECT_THAT(exit.end->error.message(), HasSubstr("code 7"));
  const std::string message = exit.end->error.message();  // the first line is all a table shows
  EXPECT_THAT(message.substr(0, message.find('\n')), HasSubstr("something is wrong here"));
  EXPECT_EQ(coordinator_.Get(3).end->outcome, Outcome::kSucceeded);
}

TEST_F(AgentTest, KilledFromOutsideIsLost) {
  EXPECT_EQ(RunScript(R"(["point", "kill:9"])").end->outcome, Outcome::kLost);
}

TEST_F(AgentTest, WhatIsNoMessageFailsTheAttempt) {
  coordinator_.Offer(1, R"(["garbage", "wait"])");
  coordinator_.Offer(2, R"(["huge"])");
  coordinator_.Offer(3, R"(["silence"])");
  coordinator_.Offer(4, R"(["stubborn", "silence"])");
  coordinator_.OfferLease({.attempt = {5, 1}, .job = "no json"});
  Start();
  for (int job = 1; job <= 5; ++job) {
    ASSERT_TRUE(coordinator_.AwaitEnd(job)) << job;
    EXPECT_EQ(coordinator_.Get(job).end->outcome, Outcome::kFailed) << job;
  }
  EXPECT_THAT(coordinator_.Get(1).end->error.message(), HasSubstr("this is no message"));
  EXPECT_THAT(coordinator_.Get(2).end->error.message(), HasSubstr("longer than"));
  EXPECT_THAT(coordinator_.Get(3).end->error.message(), HasSubstr("code 0"));
  EXPECT_THAT(coordinator_.Get(4).end->error.message(), HasSubstr("did not exit"));
}

TEST_F(AgentTest, ATrainerOfAnotherProtocolIsNotUsed) {
  setenv("FAKE_TRAINER_PROTOCOL", "3", 1);
  const auto record = RunScript(R"(["done"])");
  unsetenv("FAKE_TRAINER_PROTOCOL");
  EXPECT_EQ(record.end->outcome, Outcome::kFailed);
  EXPECT_THAT(record.end->error.message(), HasSubstr("speaks protocol 3, this worker 2"));
}

TEST_F(AgentTest, HeartbeatsListWhatIsHeldWithItsProgress) {
  coordinator_.Offer(1, R"(["point", "progress", "wait"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitHeld([](const std::vector<HeldLease>& held) {
    return held.size() == 1 && held[0].attempt == AttemptId{1, 1} && held[0].progress.loss == 2.5;
  }));
  worker_->Shutdown(kDeadline);
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kStopped);
}

TEST_F(AgentTest, CheckpointIsDesiredThenStop) {
  coordinator_.Offer(1, R"(["point", "wait"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  coordinator_.Wish({1, 1}, Desire::kCheckpoint);
  ASSERT_TRUE(coordinator_.AwaitCheckpoint(1));
  EXPECT_FALSE(coordinator_.Get(1).end);
  coordinator_.Wish({1, 1}, Desire::kStop);
  ASSERT_TRUE(coordinator_.AwaitEnd(1));
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kStopped);
  EXPECT_TRUE(coordinator_.Get(1).end->error.ok());
}

TEST_F(AgentTest, DesiresForAnotherAttemptAreNotObeyed) {
  coordinator_.Offer(1, R"(["point", "wait"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  coordinator_.Wish({1, 2}, Desire::kStop);
  coordinator_.Wish({2, 1}, Desire::kDrop);
  ASSERT_TRUE(coordinator_.AwaitCalls("Heartbeat", coordinator_.Calls("Heartbeat") + 3));
  EXPECT_EQ(coordinator_.Held().size(), 1u);
}

TEST_F(AgentTest, ATrainerThatIgnoresStopIsKilledWithAllItsProcesses) {
  options_.stop_grace = Millis(100);
  coordinator_.Offer(1, R"(["point", "child", "deaf"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  coordinator_.Wish({1, 1}, Desire::kStop);
  ASSERT_TRUE(coordinator_.AwaitEnd(1));
  const auto record = coordinator_.Get(1);
  EXPECT_EQ(record.end->outcome, Outcome::kStopped);
  EXPECT_THAT(record.end->error.message(), HasSubstr("did not stop within 100 ms"));
  EXPECT_FALSE(ProcessGroupRuns(TrainerPid(1)));
}

// microsoft/nni#558, microsoft/nni#2080: what a canceled trial had started lived on and held its
// memory. Here the trainer lives on for the next job, and what it started is gone before the slot
// is free, however it tried to get away.
TEST_F(AgentTest, WhatAJobHasStartedIsGoneBeforeItsSlotIsFree) {
  coordinator_.Offer(1, R"(["child", "daemon", "point", "wait"])");
  coordinator_.Offer(2, R"(["done"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  ASSERT_TRUE(coordinator_.Await(
      [&] { return coordinator_.Seen(1).log.find("daemon ") != std::string::npos; }));
  const std::string log = Log(1);
  const int trainer = TrainerPid(1);
  const int daemon = std::atoi(log.c_str() + log.find("daemon ") + 7);
  ASSERT_EQ(kill(daemon, 0), 0);
  EXPECT_EQ(FindOffspring(trainer, "").size(), 2u);
  coordinator_.Wish({1, 1}, Desire::kStop);
  ASSERT_TRUE(coordinator_.AwaitEnd(1));
  EXPECT_TRUE(FindOffspring(trainer, "").empty());
  ASSERT_TRUE(coordinator_.AwaitEnd(2));
  EXPECT_EQ(TrainerPid(2), trainer);
}

TEST_F(AgentTest, WhatATrainerThatCrashedHadStartedIsGoneToo) {
  coordinator_.Offer(1, R"(["child", "point", "kill:11"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitEnd(1));
  EXPECT_FALSE(ProcessGroupRuns(TrainerPid(1)));
  EXPECT_GT(coordinator_.Get(1).end->peak_memory_bytes, 0);
}

TEST_F(AgentTest, TheLogReachesACoordinatorThatWasAway) {
  coordinator_.Fail("AppendLog", Unavailable("no connection"), 2);
  coordinator_.LoseAnswer("AppendLog");
  const auto record = RunScript(R"(["log:1000", "done"])");
  ASSERT_TRUE(coordinator_.Await(
      [&] { return coordinator_.Seen(1).log.find("line 999\n") != std::string::npos; }));
  const std::string log = Log(1);
  EXPECT_THAT(log, HasSubstr("line 0\nline 1\n"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1001);  // nothing twice
  worker_->Shutdown(kDeadline);
  EXPECT_TRUE(std::filesystem::is_empty(options_.home / "logs"));
}

TEST_F(AgentTest, ALogThatIsNotWantedHoldsNothingUp) {
  coordinator_.Fail("AppendLog", Unimplemented("an older coordinator"), 10);
  EXPECT_EQ(RunScript(R"(["log:1000", "point", "done"])").end->outcome, Outcome::kSucceeded);
}

TEST_F(AgentTest, AnAttemptThatIsNotOursAnyMoreIsDroppedAndTheSlotAsksForWork) {
  coordinator_.Offer(1, R"(["point", "deaf"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  coordinator_.Wish({1, 1}, Desire::kDrop);
  coordinator_.Offer(2, R"(["done"])");
  ASSERT_TRUE(coordinator_.AwaitEnd(2));
  EXPECT_FALSE(coordinator_.Get(1).end);
  EXPECT_FALSE(ProcessGroupRuns(TrainerPid(1)));

  coordinator_.Fail("ReportPoints", FailedPrecondition("attempt 1 of job 3 is over"));
  coordinator_.Offer(3, R"(["point", "deaf"])");
  coordinator_.Offer(4, R"(["done"])");
  ASSERT_TRUE(coordinator_.AwaitEnd(4));
  EXPECT_FALSE(coordinator_.Get(3).end);
}

TEST_F(AgentTest, ATrainerThatIsDoneOutlivesAnAttemptThatIsOver) {
  coordinator_.Fail("FinishAttempt", Unavailable("no connection"), 3);
  coordinator_.Offer(1, R"(["point", "done"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitCalls("FinishAttempt", 1));
  coordinator_.Wish({1, 1}, Desire::kDrop);  // say, because the call did come through
  coordinator_.Offer(2, R"(["point", "done"])");
  ASSERT_TRUE(coordinator_.AwaitEnd(2));
  EXPECT_EQ(TrainerPid(1), TrainerPid(2));
}

TEST_F(AgentTest, AReportThatIsRefusedForGoodFailsTheAttempt) {
  coordinator_.Fail("ReportPoints", InvalidArgument("a number was left out"));
  const auto record = RunScript(R"(["point", "deaf"])");
  EXPECT_EQ(record.end->outcome, Outcome::kFailed);
  EXPECT_EQ(record.end->last_sequence, 0);
  EXPECT_THAT(record.end->error.message(), HasSubstr("a number was left out"));
}

TEST_F(AgentTest, NothingIsLostOrDoubledThroughAnAbsenceOfTheCoordinator) {
  for (const char* call : {"Register", "AcquireLease", "Heartbeat", "ReportPoints",
                           "ReportCheckpoint", "FinishAttempt"}) {
    coordinator_.Fail(call, Unavailable("no connection"));
    coordinator_.LoseAnswer(call == std::string("AcquireLease") ? "Heartbeat" : call);
  }
  const auto record = RunScript(R"(["points:2500", "checkpoint", "points:10", "done"])");
  std::vector<int64_t> expected(2510);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int64_t>(i + 1);
  EXPECT_EQ(record.Steps(), expected);
  EXPECT_EQ(record.end->outcome, Outcome::kSucceeded);
  EXPECT_EQ(record.end->last_sequence, static_cast<int64_t>(record.batches.size()));
}

// It4innovations/hyperqueue#249, skypilot-org/skypilot#6133: the worker ends, too, while its
// coordinator is away.
TEST_F(AgentTest, TheNextProcessOfAWorkerDeliversWhatHasFinished) {
  coordinator_.Offer(1, R"(["points:2500", "checkpoint", "done"])");
  coordinator_.Offer(2, R"(["points:3", "checkpoint", "progress", "deaf"])");
  options_.slots = 2;
  options_.name = "w";
  for (const char* call : {"ReportPoints", "ReportCheckpoint", "FinishAttempt"}) {
    coordinator_.Fail(call, Unavailable("no connection"), 100000);
  }
  Start();
  ASSERT_TRUE(coordinator_.AwaitHeld([](const std::vector<HeldLease>& held) {
    return held.size() == 2 && (held[0].outcome || held[1].outcome) &&
           (held[0].progress.step == 3 || held[1].progress.step == 3);
  }));
  worker_->Shutdown(Millis(0));
  worker_.reset();
  for (const char* call : {"ReportPoints", "ReportCheckpoint", "FinishAttempt"}) {
    coordinator_.Recover(call);
  }
  Start();
  ASSERT_TRUE(coordinator_.AwaitEnd(1) && coordinator_.AwaitEnd(2));
  const auto first = coordinator_.Get(1), second = coordinator_.Get(2);
  EXPECT_EQ(first.Steps().size(), 2500u);
  EXPECT_EQ(first.checkpoints.size(), 1u);
  EXPECT_EQ(first.end->outcome, Outcome::kSucceeded);
  EXPECT_EQ(first.end->last_sequence, static_cast<int64_t>(first.batches.size()));
  EXPECT_THAT(second.Steps(), ElementsAre(1, 2, 3));
  EXPECT_EQ(second.checkpoints.size(), 1u);  // from which the next attempt goes on
  EXPECT_EQ(second.end->outcome, Outcome::kLost);
  coordinator_.Offer(3, R"(["done"])");
  ASSERT_TRUE(coordinator_.AwaitEnd(3));
  worker_->Shutdown(kDeadline);
  EXPECT_TRUE(std::filesystem::is_empty(options_.home / "workers" / "w.spool"));
}

// snakemake/snakemake-executor-plugin-slurm#109: a job that was queued again and started anew runs
// twice.
TEST_F(AgentTest, WhatTheCoordinatorHasGivenToOthersIsDroppedAtTheFirstWord) {
  coordinator_.Fail("ReportPoints", Unavailable("no connection"), 100000);
  options_.name = "w";
  coordinator_.Offer(1, R"(["points:30", "wait"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportPoints", 3));
  worker_->Shutdown(Millis(0));
  worker_.reset();
  EXPECT_FALSE(std::filesystem::is_empty(options_.home / "workers" / "w.spool"));
  coordinator_.Recover("ReportPoints");
  coordinator_.Wish({1, 1}, Desire::kDrop);
  Start();
  coordinator_.Offer(2, R"(["done"])");
  ASSERT_TRUE(coordinator_.AwaitEnd(2));
  worker_->Shutdown(kDeadline);
  EXPECT_TRUE(coordinator_.Get(1).batches.empty());
  EXPECT_TRUE(std::filesystem::is_empty(options_.home / "workers" / "w.spool"));
}

TEST_F(AgentTest, AFullSpoolIsAProblemThatHeartbeatsTell) {
  options_.spool_bytes = 10000;
  coordinator_.Fail("ReportPoints", Unavailable("the disk is full"), 100000);
  coordinator_.Offer(1, R"(["points:40000", "done"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitProblem([](const std::string& problem) {
    return problem.find("training waits") != std::string::npos;
  }));
  coordinator_.Recover("ReportPoints");
  ASSERT_TRUE(coordinator_.AwaitEnd(1));
  EXPECT_EQ(coordinator_.Get(1).Steps().size(), 40000u);
  EXPECT_TRUE(
      coordinator_.AwaitProblem([](const std::string& problem) { return problem.empty(); }));
}

TEST_F(AgentTest, AWorkerThatIsNotKnownRegistersAgain) {
  for (const char* call : {"AcquireLease", "Heartbeat", "ReportPoints", "FinishAttempt"}) {
    coordinator_.Fail(call, NotFound("no such worker"));
  }
  EXPECT_EQ(RunScript(R"(["point", "done"])").end->outcome, Outcome::kSucceeded);
  EXPECT_GT(coordinator_.Calls("Register"), 1);
}

TEST_F(AgentTest, AWorkerThatIsRefusedSaysSo) {
  coordinator_.Fail("Register", FailedPrecondition("protocol 1 is not protocol 9"));
  Start();
  const Status status = worker_->Wait(std::stop_token());
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("protocol 9"));
}

TEST_F(AgentTest, ShutdownHasJobsStopAndReportsThem) {
  options_.slots = 2;
  coordinator_.Offer(1, R"(["point", "wait"])");
  coordinator_.Offer(2, R"(["point", "wait"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1) && coordinator_.AwaitPoint(2));
  worker_->Shutdown(kDeadline);
  for (int job = 1; job <= 2; ++job) {
    EXPECT_EQ(coordinator_.Get(job).checkpoints.size(), 1u);
    EXPECT_EQ(coordinator_.Get(job).end->outcome, Outcome::kStopped);
    EXPECT_FALSE(ProcessGroupRuns(TrainerPid(job)));
  }
}

TEST_F(AgentTest, ShutdownKillsWhatTakesTooLong) {
  coordinator_.Offer(1, R"(["point", "stubborn", "deaf"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  worker_->Shutdown(Millis(50));
  EXPECT_FALSE(coordinator_.Get(1).end);
  EXPECT_FALSE(ProcessGroupRuns(TrainerPid(1)));
}

TEST_F(AgentTest, AShutdownThatTakesLongIsEndedByAbandon) {
  coordinator_.Offer(1, R"(["point", "deaf"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  auto stopping = std::async(std::launch::async, [&] { worker_->Shutdown(Millis(3600000)); });
  worker_->Abandon();
  EXPECT_EQ(stopping.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_FALSE(ProcessGroupRuns(TrainerPid(1)));
}

TEST_F(AgentTest, ShutdownDoesNotWaitForACoordinatorBeyondItsDeadline) {
  coordinator_.Fail("ReportPoints", Unavailable("no connection"), 1000);
  coordinator_.Offer(1, R"(["point", "done"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitCalls("ReportPoints", 1));
  worker_->Shutdown(Millis(50));
  EXPECT_FALSE(coordinator_.Get(1).end);
}

TEST_F(AgentTest, ObsoleteObjectsAreDeleted) {
  const std::string hash(64, 'b');
  ASSERT_TRUE(MakeFolders(options_.home / "objects").ok());
  const auto object = options_.home / "objects" / hash, other = options_.home / "other";
  ASSERT_TRUE(WriteFileAtomically(object, "x").ok() && WriteFileAtomically(other, "x").ok());
  coordinator_.SetObsolete({hash, "../other", std::string(64, 'c')});
  EXPECT_EQ(RunScript(R"(["checkpoint", "done"])").end->outcome, Outcome::kSucceeded);
  EXPECT_FALSE(std::filesystem::exists(object));
  EXPECT_TRUE(std::filesystem::exists(other));
}

TEST_F(AgentTest, TwoWorkersOfOneHomeHaveTwoNamesAndTheNextOneTheFirstAgain) {
  FakeCoordinator other;
  Start();
  const std::string name = worker_->name();
  {
    auto second = Worker::Start(options_, other.Client());
    ASSERT_TRUE(second.ok());
    EXPECT_NE((*second)->name(), name);
    options_.name = name;
    EXPECT_EQ(Worker::Start(options_, other.Client()).status().code(), StatusCode::kAlreadyExists);
  }
  worker_.reset();
  options_.name.clear();
  Start();
  EXPECT_EQ(worker_->name(), name);
}

TEST_F(AgentTest, OptionsThatMakeNoSenseAreRefused) {
  options_.slots = -1;
  EXPECT_EQ(Worker::Start(options_, coordinator_.Client()).status().code(),
            StatusCode::kInvalidArgument);
  options_.slots = 1;
  options_.name = "a name";
  EXPECT_EQ(Worker::Start(options_, coordinator_.Client()).status().code(),
            StatusCode::kInvalidArgument);
  options_.name.clear();
  options_.trainer = "/nowhere/gyre-trainer";
  EXPECT_EQ(Worker::Start(options_, coordinator_.Client()).status().code(), StatusCode::kNotFound);
}

// Else the next job of a slot whose attempt was dropped is lost with the process that dies.
TEST(TrainerProcessTest, AKilledOneTakesNoOtherJob) {
  const std::filesystem::path log =
      std::filesystem::temp_directory_path() / ("trainer-process-" + std::to_string(getpid()));
  auto trainer = TrainerProcess::Start(GYRE_FAKE_TRAINER,
                                       std::make_unique<TrainerLog>(log, [](std::string_view) {}));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  ASSERT_TRUE((*trainer)->Greet(Millis(20000)).ok());
  EXPECT_TRUE((*trainer)->Running());
  (*trainer)->Kill();
  EXPECT_FALSE((*trainer)->Running());
  (*trainer)->End(Millis(0));
  std::filesystem::remove(log);
}

}  // namespace
}  // namespace gyre
