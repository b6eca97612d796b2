#include "results/sweep_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/results/results_database.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SweepStatusTest : public ::testing::Test {
 protected:
  SweepStatusTest() {
    sweep_ = db_.AddSweep("s", "A");
    const int64_t a = db_.AddVariant(sweep_, "A");
    const int64_t twin = db_.AddVariant(sweep_, "twin");
    const int64_t done = db_.AddFinished(sweep_, a, 0, 5);
    running_ = db_.AddJob(sweep_, a, {.seed = 1, .state = "RUNNING", .tokens_done = 300});
    db_.AddPoint(running_, "train/loss", 2, 200, 2.5);
    db_.AddPoint(running_, "train/loss", 3, 300, 2.25);
    const int64_t worker = db_.AddWorker("host/0");
    db_.AddAttempt(running_, 1, worker, "LOST", 0);
    db_.AddAttempt(running_, 2, worker, "RUNNING", 0);
    db_.AddJob(sweep_, a, {.seed = 2, .state = "QUEUED"});
    db_.AddJob(sweep_, a, {.seed = 3, .state = "FAILED", .error = "out of memory"});
    db_.AddJob(sweep_, twin, {.seed = 0, .reused_from = done});
    const int64_t other = db_.AddSweep("finished");
    db_.AddFinished(other, db_.AddVariant(other, "B"), 0, 5);
  }

  ResultsDatabase db_;
  int64_t sweep_ = 0, running_ = 0;
};

TEST_F(SweepStatusTest, CountsJobsAndTokensOfWhatTrains) {
  const auto sweep = ReadSweepStatus(db_.database(), "s");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(sweep->jobs, (JobCounts{.queued = 1, .running = 1, .succeeded = 2, .failed = 1}));
  EXPECT_EQ(sweep->tokens_budget, 4000);  // without the twin
  EXPECT_EQ(sweep->tokens_done, 1300);
  EXPECT_FALSE(sweep->ended());
  ASSERT_EQ(sweep->running.size(), 1u);
  EXPECT_EQ(sweep->running[0].job_id, running_);
  EXPECT_EQ(sweep->running[0].attempt, 2);
  EXPECT_EQ(sweep->running[0].worker, "host/0");
  EXPECT_EQ(sweep->running[0].step, 3);
  EXPECT_EQ(sweep->running[0].loss, 2.25);
  ASSERT_EQ(sweep->failures.size(), 1u);
  EXPECT_EQ(sweep->failures[0].error, "out of memory");
}

TEST_F(SweepStatusTest, JsonHasTheDocumentedShape) {
  const auto sweep = ReadSweepStatus(db_.database(), "s");
  ASSERT_TRUE(sweep.ok());
  EXPECT_THAT(SweepStatusToJson(*sweep),
              AllOf(HasSubstr("\"sweep\": \"s\",\n  \"intent\": \"ACTIVE\",\n  \"jobs\": {\n"),
                    HasSubstr("\"queued\": 1"), HasSubstr("\"stopped_early\": 0"),
                    HasSubstr("\"error\": \"out of memory\"")));
}

TEST_F(SweepStatusTest, TheClusterHasWorkersAndWhatIsNotFinished) {
  const auto cluster = ReadClusterStatus(db_.database());
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  ASSERT_EQ(cluster->workers.size(), 1u);
  EXPECT_EQ(cluster->workers[0].busy, 1);
  ASSERT_EQ(cluster->sweeps.size(), 1u);
  EXPECT_EQ(cluster->sweeps[0].name, "s");
  EXPECT_EQ(cluster->queued, 1);
  EXPECT_THAT(ClusterStatusToJson(*cluster), HasSubstr("\"workers\": ["));
}

TEST_F(SweepStatusTest, AnUnknownSweepListsTheKnown) {
  const Status status = ReadSweepStatus(db_.database(), "t").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("there are: finished, s"));
}

}  // namespace
}  // namespace gyre
