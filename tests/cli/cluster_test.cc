// A coordinator and a worker as processes of their own, and the commands that ask them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>

#include "base/files.h"
#include "base/ids.h"
#include "tests/cli/gyre_process.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Millis kLong{120000};

class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() : folder_(std::filesystem::temp_directory_path() / ("gyre-test-" + NewId())) {
    std::filesystem::create_directories(folder_);
    std::string text;
    for (int i = 0; i < 500; ++i) text += "a cat sat on mat " + std::to_string(i * i % 97) + ".\n";
    Write("text.txt", text);
    options_ = {.folder = folder_, .environment = {"GYRE_HOME=" + (folder_ / "home").string()}};
    coordinator_ = std::make_unique<GyreProcess>(
        std::vector<std::string>{"coordinator", "--listen", "127.0.0.1:0", "--db", "cluster.db"},
        options_);
    // The log says it too, on the stream that can be waited for.
    if (!coordinator_->WaitForError("listens on 127.0.0.1:", kLong)) {
      ADD_FAILURE() << coordinator_->error();
      return;
    }
    const std::string log = coordinator_->error();
    const size_t begin = log.find("127.0.0.1:");
    const std::string address = log.substr(begin, log.find_first_of(", \n", begin) - begin);
    options_.environment.push_back("GYRE_COORDINATOR=" + address);
  }

  ~ClusterTest() override {
    worker_.reset();
    coordinator_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void Write(const std::string& name, const std::string& content) {
    const Status status = WriteFileAtomically(folder_ / name, content);
    ASSERT_TRUE(status.ok()) << status;
  }

  void WriteSweep(const std::string& name, const std::string& tokens) {
    Write(name + ".yaml",
          "sweep: " + name +
              "\nbase:\n"
              "  model: {num_hidden_layers: 1, hidden_size: 32, intermediate_size: 64,"
              " num_attention_heads: 2}\n"
              "  data: {train: text.txt, context: 32}\n"
              "  train: {tokens: " +
              tokens +
              ", batch_tokens: 256}\n"
              "variants:\n"
              "  \"θ=10k\": {}\n"
              "  \"θ=500k <b>|\": {position: {theta: 500000}}\n"
              "baseline: \"θ=10k\"\n"
              "seeds: 2\n");
  }

  void StartWorker() {
    worker_ =
        std::make_unique<GyreProcess>(std::vector<std::string>{"worker", "--slots", "2"}, options_);
  }

  GyreResult Run(const std::vector<std::string>& arguments) const {
    GyreProcess process(arguments, options_);
    GyreResult result;
    result.exit_code = process.Wait(kLong);
    result.output = process.output();
    result.error = process.error();
    return result;
  }

  std::filesystem::path folder_;
  GyreOptions options_;
  std::unique_ptr<GyreProcess> coordinator_, worker_;
};

TEST_F(ClusterTest, SubmitWatchCompareAndAsk) {
  WriteSweep("s", "4096");
  const GyreResult submitted = Run({"submit", "s.yaml"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.error;
  EXPECT_EQ(submitted.output, "1 s\n");
  EXPECT_THAT(Run({"status", "s", "--format", "json"}).output, HasSubstr("\"queued\": 4"));
  EXPECT_THAT(Run({"status"}).output, StartsWith("no workers\n"));

  StartWorker();
  const GyreResult watched = Run({"submit", "s.yaml", "--watch", "--format", "csv"});
  ASSERT_EQ(watched.exit_code, 0) << watched.error;
  EXPECT_THAT(watched.output, AllOf(StartsWith("sweep,variant,metric,n,"),
                                    HasSubstr("\ns,θ=500k <b>|,text/perplexity,2,2,")));
  EXPECT_EQ(Run({"compare", "s", "--format", "csv"}).output, watched.output);
  EXPECT_EQ(Run({"compare", "s", "--format", "csv", "--db", "cluster.db"}).output, watched.output);
  const std::string sql = "SELECT count(*) AS n FROM jobs WHERE state = 'SUCCEEDED'";
  EXPECT_EQ(Run({"query", sql, "--format", "csv"}).output, "n\n4\n");
  EXPECT_EQ(Run({"query", "DELETE FROM jobs"}).exit_code, 2);
  EXPECT_THAT(Run({"status", "--format", "json"}).output, HasSubstr("\"state\": \"ACTIVE\""));

  EXPECT_EQ(Run({"export", "s", "--format", "csv", "-o", "asked"}).exit_code, 0);
  EXPECT_EQ(Run({"export", "s", "--format", "csv", "-o", "read", "--db", "cluster.db"}).exit_code,
            0);
  for (const char* file : {"curves.csv", "comparison.csv", "jobs.csv"}) {
    const auto asked = ReadFile(folder_ / "asked" / file), read = ReadFile(folder_ / "read" / file);
    ASSERT_TRUE(asked.ok()) << asked.status();
    EXPECT_THAT(*asked, HasSubstr("\r\ns,θ=500k <b>|,")) << file;
    EXPECT_EQ(*asked, *read) << file;
  }

  const GyreResult unknown = Run({"compare", "t"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.error, HasSubstr("no sweep is called 't'; there are: s"));
}

TEST_F(ClusterTest, ANameWithOtherContentIsRefusedUnlessItIsReplaced) {
  WriteSweep("s", "4096");
  ASSERT_EQ(Run({"submit", "s.yaml"}).exit_code, 0);
  WriteSweep("s", "8192");
  const GyreResult refused = Run({"submit", "s.yaml"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.error, HasSubstr("--replace"));
  EXPECT_EQ(Run({"submit", "s.yaml", "--replace"}).output, "2 s\n");
}

TEST_F(ClusterTest, CanceledJobsDoNotRun) {
  WriteSweep("s", "4096");
  ASSERT_EQ(Run({"submit", "s.yaml"}).exit_code, 0);
  EXPECT_EQ(Run({"cancel", "1"}).output, "1 job canceled\n");
  EXPECT_EQ(Run({"cancel", "s"}).output, "3 jobs canceled\n");
  EXPECT_THAT(Run({"status", "s", "--format", "json"}).output,
              AllOf(HasSubstr("\"canceled\": 4"), HasSubstr("\"intent\": \"CANCELED\"")));
  EXPECT_EQ(Run({"cancel", "t"}).exit_code, 1);
}

TEST_F(ClusterTest, ASweepIsPausedResumedWatchedExplainedAndItsLogsRead) {
  WriteSweep("s", "4096");
  ASSERT_EQ(Run({"submit", "s.yaml"}).exit_code, 0);
  EXPECT_THAT(Run({"explain", "1"}).output, HasSubstr("why: no worker is connected\n"));
  EXPECT_EQ(Run({"pause", "s"}).output, "paused: 4 jobs\n");
  EXPECT_EQ(Run({"pause", "3"}).output, "paused: 1 job\n");
  EXPECT_THAT(Run({"explain", "1"}).output, HasSubstr("why: its sweep, s, is paused\n"));
  StartWorker();
  EXPECT_EQ(Run({"resume", "s"}).output, "resumed: 4 jobs to do\n");
  const GyreResult watched = Run({"watch", "s", "--format", "csv"});
  ASSERT_EQ(watched.exit_code, 0) << watched.error;
  EXPECT_THAT(watched.output,
              AllOf(HasSubstr("s: θ=10k seed 1 succeeded\n"),
                    HasSubstr("\nsweep,variant,metric,n,"), ::testing::Not(HasSubstr("\x1b"))));
  EXPECT_THAT(Run({"logs", "3", "--follow"}).output,
              AllOf(StartsWith("== attempt 1 of job 3: "), HasSubstr("SUCCEEDED after "),
                    HasSubstr(": done\n")));
  EXPECT_THAT(Run({"explain", "3"}).output, HasSubstr("why: it has finished\n"));
  EXPECT_EQ(Run({"retry", "s"}).output, "0 jobs queued anew\n");
  EXPECT_EQ(Run({"retry", "3"}).exit_code, 1);
  EXPECT_EQ(Run({"logs", "9"}).exit_code, 1);
  EXPECT_EQ(Run({"logs", "s"}).exit_code, 2);
  EXPECT_EQ(Run({"pause", "sweep:9"}).exit_code, 1);
}

TEST_F(ClusterTest, WatchingMayBeLeftAndTheSweepGoesOn) {
  WriteSweep("s", "4096");
  GyreProcess watching({"submit", "s.yaml", "--watch"}, options_);
  ASSERT_TRUE(watching.WaitForError("watching;", kLong)) << watching.error();
  watching.Signal(SIGINT);
  EXPECT_EQ(watching.Wait(kLong), 130);
  EXPECT_THAT(watching.error(), HasSubstr("the sweep goes on: gyre status s"));
  EXPECT_THAT(Run({"status", "s", "--format", "json"}).output, HasSubstr("\"queued\": 4"));
}

}  // namespace
}  // namespace gyre
