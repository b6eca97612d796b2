#include "results/job_weights.h"

#include <gmock/gmock.h>

#include "tests/results/results_database.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class JobWeightsTest : public testing::Test {
 protected:
  Result<JobWeights> Find(const std::string& name) {
    return FindJobWeights(
        name, [this](const std::string& sql) { return RunQuery(results_.path(), sql, 0); });
  }
  std::string Error(const std::string& name) { return Find(name).status().message(); }
  void AddCheckpoint(int64_t job, int64_t step, bool weights_only, const std::string& hash) {
    const Status status = results_.database().Execute(
        "INSERT INTO checkpoints (job_id, step, weights_only, hash, tokens, bytes, attempt, "
        "created_at) VALUES (" +
        std::to_string(job) + "," + std::to_string(step) + "," + (weights_only ? "1" : "0") + ",'" +
        hash + "'," + std::to_string(step * 100) + ",7,1,'2026-01-02T03:04:05.678Z')");
    ASSERT_TRUE(status.ok()) << status;
  }

  ResultsDatabase results_;
  const int64_t sweep_ = results_.AddSweep("base@3");
  const int64_t variant_ = results_.AddVariant(sweep_, "p's/half");
  const int64_t done_ = results_.AddFinished(sweep_, variant_, 4, 10);
  const int64_t running_ = results_.AddJob(sweep_, variant_, {.seed = 5, .state = "RUNNING"});
};

TEST_F(JobWeightsTest, AFinishedJobHasItsLastWeights) {
  AddCheckpoint(done_, 10, true, "end");
  const std::vector<std::string> names = {std::to_string(done_), "base@3/p's/half/4"};
  for (const std::string& name : names) {
    const auto job = Find(name);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(job->hash, "end");
    EXPECT_EQ(job->step, 10);
    EXPECT_EQ(job->tokens, 1000);
    EXPECT_EQ(job->variant, "p's/half");
    EXPECT_EQ(job->seed, 4u);
    EXPECT_THAT(job->config, HasSubstr("corpus:austen"));
  }
  // One that reuses its results has its weights.
  const int64_t twin =
      results_.AddJob(sweep_, results_.AddVariant(sweep_, "twin"), {.reused_from = done_});
  EXPECT_EQ(Find(std::to_string(twin))->hash, "end");
}

TEST_F(JobWeightsTest, ARunningJobHasItsNewestCheckpointOrTheOneAskedFor) {
  AddCheckpoint(running_, 3, false, "three");
  AddCheckpoint(running_, 6, false, "six");
  const std::string id = std::to_string(running_);
  EXPECT_EQ(Find(id)->hash, "six");
  EXPECT_EQ(Find(id + "@3")->hash, "three");
  EXPECT_EQ(Find("base@3/p's/half/5@3")->hash, "three");
  EXPECT_THAT(Error(id + "@4"),
              HasSubstr("keeps no checkpoint of step 4; there are those of 6, 3"));
}

TEST_F(JobWeightsTest, WhatIsNotThereIsSaid) {
  EXPECT_THAT(Error(std::to_string(running_)),
              HasSubstr("(base@3/p's/half/5, RUNNING) has no checkpoint yet"));
  EXPECT_EQ(Find("99").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Find("base@3/other/4").status().code(), StatusCode::kNotFound);
  for (const char* name : {"", "x", "a/b", "a/b/c", "@3", "-1", "99999999999999999999"}) {
    EXPECT_EQ(Find(name).status().code(), StatusCode::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace gyre
