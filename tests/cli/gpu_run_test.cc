// The built programs on a machine whose GPUs a plug-in of the tests makes up
// (tests/trainer/made_cuda).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/ids.h"
#include "tests/cli/gyre_process.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Millis kLong{120000};

class GpuRunTest : public ::testing::Test {
 protected:
  GpuRunTest() : folder_(std::filesystem::temp_directory_path() / ("gyre-gpu-run-" + NewId())) {
    std::filesystem::create_directories(folder_);
    std::string text;
    for (int i = 0; i < 500; ++i) text += "the " + std::to_string(i * i % 97) + " cats.\n";
    EXPECT_TRUE(WriteFileAtomically(folder_ / "text.txt", text).ok());
    EXPECT_TRUE(WriteFileAtomically(folder_ / "tiny.yaml", R"(sweep: tiny
base:
  model: {num_hidden_layers: 1, hidden_size: 16, intermediate_size: 32, num_attention_heads: 2}
  data: {train: text.txt, context: 16}
  train: {tokens: 512, batch_tokens: 128}
variants:
  NoPE: {position: {type: nope}}
  RoPE: {}
baseline: RoPE
seeds: 2
retry: {attempts: 2, backoff: 0s}
)")
                    .ok());
  }
  ~GpuRunTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  GyreResult Run(const std::vector<std::string>& arguments,
                 std::vector<std::string> environment) const {
    environment.push_back("GYRE_HOME=" + (folder_ / "home").string());
    environment.push_back("GYRE_CUDA_PLUGIN=" GYRE_MADE_CUDA);
    GyreProcess process(arguments, {.folder = folder_, .environment = environment});
    GyreResult result;
    result.exit_code = process.Wait(kLong);
    result.output = process.output();
    result.error = process.error();
    return result;
  }
  std::string Query(const std::string& sql) const {
    return Run({"query", sql, "--db", "results.db", "--format", "csv"}, {}).output;
  }

  const std::filesystem::path folder_;
};

TEST_F(GpuRunTest, JobsRunOnTheGpusThatThereAre) {
  const GyreResult run = Run({"run", "tiny.yaml"}, {"GYRE_MADE_CUDA=2"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(Query("SELECT DISTINCT device FROM attempts ORDER BY 1"), "device\ncuda:0\ncuda:1\n");
  EXPECT_EQ(Query("SELECT count(*) AS n FROM attempts WHERE fingerprint LIKE '%Made GPU 9.0%' AND "
                  "state = 'SUCCEEDED'"),
            "n\n4\n");
  EXPECT_EQ(Query("SELECT name, kind, model FROM devices ORDER BY 1"),
            "name,kind,model\ncuda:0,cuda,Made GPU\ncuda:1,cuda,Made GPU\n");
  EXPECT_THAT(Run({"status", "--db", "results.db"}, {}).output, HasSubstr("2 Made GPU"));
}

TEST_F(GpuRunTest, WithoutADriverOnTheCpuUnlessAGpuWasAskedFor) {
  const GyreResult refused =
      Run({"run", "tiny.yaml", "--devices", "cuda"}, {"GYRE_MADE_CUDA=no driver"});
  EXPECT_EQ(refused.exit_code, 2) << refused.error;
  EXPECT_THAT(refused.error, HasSubstr("there is no cuda: no NVIDIA driver is installed"));
  const GyreResult run = Run({"run", "tiny.yaml"}, {"GYRE_MADE_CUDA=no driver"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(Query("SELECT DISTINCT device FROM attempts"), "device\ncpu\n");
  const GyreResult wrong = Run({"run", "tiny.yaml", "--devices", "gpu"}, {"GYRE_MADE_CUDA=1"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.error, HasSubstr("'gpu' is no list of devices"));
}

TEST_F(GpuRunTest, AGpuThatIsGoneFailsTheJobWithItsError) {
  const GyreResult run = Run({"run", "tiny.yaml"}, {"GYRE_MADE_CUDA=1", "GYRE_MADE_CUDA_BROKEN=0"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(Query("SELECT DISTINCT device, state, error_code, error FROM attempts"),
            "device,state,error_code,error\n"
            "cuda:0,FAILED,UNAVAILABLE,cuda:0 has fallen off the bus\n");
}

TEST_F(GpuRunTest, TheDoctorListsThemOrSaysWhyThereAreNone) {
  EXPECT_THAT(
      Run({"doctor"}, {"GYRE_MADE_CUDA=2"}).output,
      AllOf(HasSubstr("for CUDA 13.1\n"), HasSubstr("13.0, reference 1"),
            HasSubstr("cuda:0, Made GPU, compute capability 9.0, 7.5 GiB free of 8.0 GiB\n"),
            HasSubstr("cuda:1, Made GPU"), Not(HasSubstr("jobs train on the CPU"))));
  EXPECT_THAT(Run({"doctor"}, {"GYRE_MADE_CUDA=no driver"}).output,
              AllOf(HasSubstr("no NVIDIA driver is installed\n"),
                    HasSubstr("none; jobs train on the CPU\n")));
  EXPECT_THAT(Run({"doctor"}, {"GYRE_MADE_CUDA=old"}).output,
              HasSubstr("it is not used: it has compute capability 7.0\n"));
}

}  // namespace
}  // namespace gyre
