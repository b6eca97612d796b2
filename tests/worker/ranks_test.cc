// A job that runs in several trainers: they begin together, end together, and the one that failed
// is named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "base/ids.h"
#include "base/log.h"
#include "tests/worker/fake_coordinator.h"
#include "worker/agent.h"
#include "worker/other_ranks.h"
#include "worker/process_tree.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RanksTest : public ::testing::Test {
 protected:
  RanksTest() {
    SetLogLevel(LogLevel::kOff);
    options_.home = std::filesystem::temp_directory_path() / ("gyre-ranks-" + NewId());
    options_.trainer = GYRE_FAKE_TRAINER;
    options_.slots = 1;
    options_.cpus = 7;
    options_.cpu_ranks = 3;
    options_.affinity.clear();
    options_.exit_grace = Millis(1000);
  }
  ~RanksTest() override {
    if (worker_ != nullptr) worker_->Shutdown(Millis(0));
    std::filesystem::remove_all(options_.home);
  }
  void Start() {
    auto worker = Worker::Start(options_, coordinator_.Client());
    ASSERT_TRUE(worker.ok()) << worker.status();
    worker_ = *std::move(worker);
  }
  AttemptEnd EndOf(const std::string& script) {
    coordinator_.Offer(1, script, 7);
    coordinator_.Offer(2, R"(["meet", "@0 point", "done"])");
    Start();
    EXPECT_TRUE(coordinator_.AwaitEnd(1) && coordinator_.AwaitEnd(2));
    EXPECT_EQ(coordinator_.Get(2).end->outcome, Outcome::kSucceeded) << "the slot works on";
    EXPECT_TRUE(AwaitPids(2));
    ExpectAllEnded(1);
    return *coordinator_.Get(1).end;
  }
  /// Of the trainers whose pids are in the job's log.
  std::vector<int> Pids(int64_t job) { return PidsIn(coordinator_.Get(job).log); }
  /// Of a job whose ranks meet: else rank 0 may be done, and the others ended, before they write.
  bool AwaitPids(int64_t job) {
    return coordinator_.Await([&] { return PidsIn(coordinator_.Seen(job).log).size() == 3; });
  }
  static std::vector<int> PidsIn(const std::string& log) {
    static const std::regex pid("pid ([0-9]+)\n");
    std::vector<int> pids;
    for (std::sregex_iterator at(log.begin(), log.end(), pid), end; at != end; ++at) {
      pids.push_back(std::stoi((*at)[1]));
    }
    return pids;
  }
  void ExpectAllEnded(int64_t job) {
    const std::vector<int> kept = Pids(2);  // rank 0's trainer may serve the next job
    for (const int pid : Pids(job)) {
      const bool serves = std::find(kept.begin(), kept.end(), pid) != kept.end();
      EXPECT_TRUE(serves || !ProcessGroupRuns(pid)) << pid;
    }
  }

  WorkerOptions options_;
  FakeCoordinator coordinator_;
  std::unique_ptr<Worker> worker_;
};

TEST_F(RanksTest, EveryRankGetsTheJobAndRankZeroSpeaks) {
  const AttemptEnd end = EndOf(R"(["meet", "@0 points:2", "@0 checkpoint", "done"])");
  EXPECT_EQ(end.outcome, Outcome::kSucceeded) << end.error;
  EXPECT_TRUE(AwaitPids(1));
  const auto record = coordinator_.Get(1);
  EXPECT_THAT(record.Steps(), ElementsAre(1, 2));
  EXPECT_EQ(record.checkpoints.size(), 1u);
  EXPECT_EQ(end.fingerprint, R"({"backend":"cpu","ranks":3,"threads":2})");
  EXPECT_THAT(record.log, HasSubstr("rank 0 of 3 in " + (options_.home / "tmp").string()));
  for (const char* rank : {"1", "2"}) {
    EXPECT_THAT(record.log, HasSubstr(std::string("[rank ") + rank + "] rank " + rank + " of 3"));
  }
  worker_->Shutdown(Millis(10000));
  EXPECT_TRUE(std::filesystem::is_empty(options_.home / "tmp")) << "folders of attempts stay";
  EXPECT_TRUE(std::filesystem::is_empty(options_.home / "logs")) << "logs that have been sent stay";
}

// pytorch/pytorch#17113, pytorch/pytorch#42107: the others go on, or hang.
TEST_F(RanksTest, ARankThatIsKilledEndsTheAttempt) {
  const AttemptEnd end = EndOf(R"(["@0 points:2", "@2 kill:9", "wait"])");
  EXPECT_EQ(end.outcome, Outcome::kLost);
  EXPECT_EQ(end.error.message(), "the trainer of rank 2 was killed from outside (SIGKILL)");
}

TEST_F(RanksTest, ARankThatCrashesEndsTheAttemptWithItsLastWords) {
  const AttemptEnd end = EndOf(R"(["@1 kill:11", "wait"])");
  EXPECT_EQ(end.outcome, Outcome::kFailed);
  EXPECT_THAT(end.error.message(), StartsWith("the trainer of rank 1 crashed: SIGSEGV"));
  EXPECT_THAT(end.error.message(), HasSubstr("job begins"));
}

TEST_F(RanksTest, RankZeroIsARankToo) {
  const AttemptEnd end = EndOf(R"(["@0 kill:11", "wait"])");
  EXPECT_THAT(end.error.message(), StartsWith("the trainer of rank 0 crashed: SIGSEGV"));
}

// Rank 0 hears of another's failure first, and its word for it says less.
TEST_F(RanksTest, TheCauseIsToldAndNotItsConsequences) {
  const AttemptEnd end = EndOf(R"(["@0 peer", "@2 peer", "@1 error", "wait"])");
  EXPECT_EQ(end.outcome, Outcome::kFailed);
  EXPECT_EQ(end.error, NotFound("rank 1: no data set"));
}

TEST_F(RanksTest, AnErrorOfRankZeroIsTheAttempts) {
  const AttemptEnd end = EndOf(R"(["@0 error", "peer"])");
  EXPECT_EQ(end.error, NotFound("no data set"));
}

TEST_F(RanksTest, WhatIsNoMessageFailsTheAttempt) {
  const AttemptEnd end = EndOf(R"(["@1 garbage", "wait"])");
  EXPECT_EQ(end.outcome, Outcome::kFailed);
  EXPECT_THAT(end.error.message(), StartsWith("rank 1: the trainer said what is no JSON object"));
}

TEST_F(RanksTest, TheyStopTogether) {
  coordinator_.Offer(1, R"(["@0 point", "wait"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  coordinator_.Wish({1, 1}, Desire::kStop);
  ASSERT_TRUE(coordinator_.AwaitEnd(1));
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kStopped);
  EXPECT_EQ(coordinator_.Get(1).checkpoints.size(), 1u);
}

TEST_F(RanksTest, RanksThatDoNotStopAreKilled) {
  options_.stop_grace = Millis(100);
  coordinator_.Offer(1, R"(["@0 point", "deaf"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  coordinator_.Wish({1, 1}, Desire::kStop);
  ASSERT_TRUE(coordinator_.AwaitEnd(1));
  EXPECT_EQ(coordinator_.Get(1).end->outcome, Outcome::kStopped);
  ExpectAllEnded(1);
}

TEST_F(RanksTest, AJobThatIsNotOursAnyMoreIsDroppedByAll) {
  coordinator_.Offer(1, R"(["@0 point", "deaf"])");
  coordinator_.Offer(2, R"(["done"])");
  Start();
  ASSERT_TRUE(coordinator_.AwaitPoint(1));
  ASSERT_TRUE(coordinator_.Await([&] {
    const std::string& log = coordinator_.Seen(1).log;
    return log.find("rank 1 of 3") != log.npos && log.find("rank 2 of 3") != log.npos;
  }));
  coordinator_.Wish({1, 1}, Desire::kDrop);
  ASSERT_TRUE(coordinator_.AwaitEnd(2));
  EXPECT_FALSE(coordinator_.Get(1).end.has_value());
  for (const int pid : Pids(1)) EXPECT_FALSE(ProcessGroupRuns(pid)) << pid;
}

TEST(RanksOfALease, AreItsGpus) {
  EXPECT_EQ(RanksOf({}, 1), 1);
  EXPECT_EQ(RanksOf({.gpus = 1}, 1), 1);
  EXPECT_EQ(RanksOf({.gpus = 4}, 1), 4);
  EXPECT_EQ(RanksOf({}, 3), 3);
  EXPECT_EQ(RanksOf({.gpus = 1}, 3), 1);
}

}  // namespace
}  // namespace gyre
