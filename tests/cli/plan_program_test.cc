// `gyre plan` as a program: exit codes, and what goes to which stream.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/cli/gyre_process.h"
#include "trainer/config/job_config.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

std::string Shipped(const std::string& path) {
  return (std::filesystem::current_path() / path).string();
}

TEST(PlanProgram, PlansWhatIsShipped) {
  const GyreResult result =
      RunGyre({"plan", Shipped("sweeps/quickstart.yaml"), "--format", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.error, "");
  const Json json = Json::parse(result.output);
  EXPECT_EQ(json["sweeps"][0]["jobs"].size(), 12u);
  EXPECT_TRUE(json["sweeps"][0]["jobs"][0]["key"].is_null());
}

TEST(PlanProgram, FaultsGoToStderrAllOfThem) {
  const GyreResult result = RunGyre({"plan", Shipped("tests/sweeps/cases/typo.yaml")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.error,
              HasSubstr("typo.yaml:5:11: error: unknown key 'num_hiden_layers' in base.model\n"));
  EXPECT_THAT(result.error, HasSubstr("      help: did you mean 'optimizer'?\n"));
}

TEST(PlanProgram, FilesThatCannotBeRead) {
  for (const char* file : {"/nonexistent/sweep.yaml", "/", "/dev/zero"}) {
    const GyreResult result = RunGyre({"plan", file});
    EXPECT_EQ(result.exit_code, 2) << file;
    EXPECT_THAT(result.error, HasSubstr(std::string(file) + ": error: "));
  }
}

TEST(PlanProgram, MaxJobs) {
  const std::string file = Shipped("sweeps/quickstart.yaml");
  EXPECT_EQ(RunGyre({"plan", file, "--max-jobs", "12"}).exit_code, 0);
  const GyreResult result = RunGyre({"plan", file, "--max-jobs", "11"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.error,
              HasSubstr("expands to 12 jobs, more than the 11 that --max-jobs allows"));
  EXPECT_EQ(RunGyre({"plan", file, "--max-jobs", "0"}).exit_code, 2);
}

}  // namespace
}  // namespace gyre
