#include "trainer/job_file.h"

#include <gmock/gmock.h>

#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class JobFileTest : public TemporaryHomeTest {
 protected:
  Result<TrainerJob> Read(const Json& json) {
    return ReadJobFile(Write("job.json", json.dump()), home_, {});
  }
};

TEST_F(JobFileTest, TheJobOfAPlanGetsItsDataSetsByItself) {
  TrainerJob job = MakeJob(home_);
  job.config.data.train = Write("text.txt", std::string(500, 'x') + "\n" + std::string(500, 'y'));
  job.config.data.validation = Json::object();
  const Json of_a_plan = {{"variant", "A"},
                          {"seed", 7},
                          {"key", "k"},
                          {"config", ToJson(job.config)},
                          {"frequencies", Json::array()}};
  const auto read = Read(of_a_plan);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->seed, 7u);
  EXPECT_EQ(read->key, "k");
  ASSERT_EQ(read->validation_datasets.size(), 1u);
  EXPECT_EQ(read->validation_datasets.begin()->first, "text");
  EXPECT_TRUE(Dataset::Open(home_, read->train_datasets.at(0).hash).ok());
  EXPECT_TRUE(Dataset::Open(home_, read->validation_datasets.at("text")).ok());
}

TEST_F(JobFileTest, NamedDataSetsAreTakenAsTheyAre) {
  const TrainerJob job = MakeJob(home_);
  const auto read = Read(ToJson(job));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToJson(*read).dump(), ToJson(job).dump());
}

TEST_F(JobFileTest, WhatIsNoJobIsSaid) {
  EXPECT_EQ(ReadJobFile(Path("absent.json"), home_, {}).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Read({{"seed", 1}}).status().message(), HasSubstr("\"config\""));
  EXPECT_THAT(Read(Json::array()).status().message(), HasSubstr("not a job"));
  EXPECT_THAT(Read({{"config", Json::object()}}).status().message(), HasSubstr("gyre plan"));
}

}  // namespace
}  // namespace gyre
