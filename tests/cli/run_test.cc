// `gyre run` as a user has it: real training of a tiny model on a made-up text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "base/files.h"
#include "base/ids.h"
#include "tests/cli/gyre_process.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Millis kLong{120000};

/// A folder with a text, room for databases, and a GYRE_HOME.
class RunTest : public ::testing::Test {
 protected:
  RunTest() : folder_(std::filesystem::temp_directory_path() / ("gyre-test-" + NewId())) {
    std::filesystem::create_directories(folder_);
    std::string text;
    for (int i = 0; i < 2000; ++i) {
      text +=
          "the " + std::to_string(i * i % 97) + " cats sat on mat " + std::to_string(i % 7) + ".\n";
    }
    Write("text.txt", text);
  }

  ~RunTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void Write(const std::string& name, const std::string& content) {
    const Status status = WriteFileAtomically(folder_ / name, content);
    ASSERT_TRUE(status.ok()) << status;
  }

  /// RoPE and NoPE with two seeds.
  static std::string Sweep(const std::string& name, const std::string& tokens,
                           const std::string& more = "", int seeds = 2) {
    return "sweep: " + name +
           "\nbase:\n"
           "  model: {num_hidden_layers: 1, hidden_size: 32, intermediate_size: 64,"
           " num_attention_heads: 2}\n"
           "  data: {train: text.txt, context: 32}\n"
           "  train: {tokens: " +
           tokens +
           ", batch_tokens: 256, checkpoint_every: 5120}\n"
           "variants:\n"
           "  NoPE: {position: {type: nope}}\n"
           "  RoPE: {}\n"
           "baseline: RoPE\n"
           "seeds: " +
           std::to_string(seeds) + "\n" + more;
  }

  GyreOptions Options() const {
    return {.folder = folder_, .environment = {"GYRE_HOME=" + (folder_ / "home").string()}};
  }

  GyreResult Run(const std::vector<std::string>& arguments, Millis deadline = kLong) const {
    GyreProcess process(arguments, Options());
    GyreResult result;
    result.exit_code = process.Wait(deadline);
    result.output = process.output();
    result.error = process.error();
    return result;
  }

  /// Every point of a database, as text.
  std::string Points(const std::string& database) const {
    const GyreResult result =
        Run({"query",
             "SELECT sweep, variant, seed, metric, step, tokens, value FROM curves"
             " ORDER BY sweep, variant, seed, metric, step",
             "--db", database, "--format", "csv"});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result.output;
  }

  std::filesystem::path folder_;
};

TEST_F(RunTest, TrainsComparesAndReusesEverythingTheSecondTime) {
  Write("tiny.yaml", Sweep("tiny", "20480"));
  const GyreResult first = Run({"run", "tiny.yaml"});
  ASSERT_EQ(first.exit_code, 0) << first.error;
  EXPECT_THAT(first.output, AllOf(HasSubstr("perplexity"), HasSubstr("NoPE"), HasSubstr("baseline"),
                                  HasSubstr("2 seeds")));
  EXPECT_THAT(first.output, Not(HasSubstr("\x1b")));
  EXPECT_THAT(first.error,
              AllOf(HasSubstr("tiny: 4 jobs\n"), HasSubstr("tiny: NoPE seed 1 started\n"),
                    HasSubstr("tiny: RoPE seed 0 succeeded\n"), Not(HasSubstr("\x1b")),
                    HasSubstr("the results are in results.db")));

  const Millis begin = Clock::Real().Now();
  const GyreResult second = Run({"run", "tiny.yaml"});
  EXPECT_LT(Clock::Real().Now() - begin, Millis(2000));
  EXPECT_EQ(second.exit_code, 0) << second.error;
  EXPECT_EQ(second.output, first.output);
  EXPECT_THAT(second.error, Not(HasSubstr("started")));

  const GyreResult compared = Run({"compare", "tiny", "--db", "results.db"});
  EXPECT_EQ(compared.output, first.output);
  const GyreResult status = Run({"status", "tiny", "--db", "results.db", "--format", "json"});
  EXPECT_THAT(status.output, HasSubstr("\"succeeded\": 4"));
}

TEST_F(RunTest, ASweepThatWasInterruptedGoesOnToTheSamePoints) {
  Write("longer.yaml", Sweep("longer", "256k"));
  GyreProcess interrupted({"run", "longer.yaml", "--slots", "2"}, Options());
  ASSERT_TRUE(interrupted.WaitForError("started\n", kLong)) << interrupted.error();
  const GyreResult meanwhile = Run({"run", "longer.yaml"});
  EXPECT_EQ(meanwhile.exit_code, 1);
  EXPECT_THAT(meanwhile.error, HasSubstr("results.db"));
  interrupted.Signal(SIGINT);
  EXPECT_EQ(interrupted.Wait(kLong), 130);
  EXPECT_THAT(interrupted.error(), AllOf(HasSubstr("stopping: running jobs write a checkpoint"),
                                         HasSubstr("run the same command again to go on")));
  EXPECT_EQ(interrupted.output(), "");
  const GyreResult status = Run({"status", "longer", "--db", "results.db", "--format", "json"});
  EXPECT_THAT(status.output, Not(HasSubstr("\"succeeded\": 4")));

  const GyreResult resumed = Run({"run", "longer.yaml"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.error;
  EXPECT_THAT(resumed.error, HasSubstr("submitted before: going on with it"));
  const GyreResult undisturbed = Run({"run", "longer.yaml", "--db", "undisturbed.db"});
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.error;
  EXPECT_EQ(Points("results.db"), Points("undisturbed.db"));
}

TEST_F(RunTest, TheSecondSignalEndsItAtOnce) {
  Write("longer.yaml", Sweep("longer", "5M"));
  GyreProcess process({"run", "longer.yaml"}, Options());
  ASSERT_TRUE(process.WaitForError("started\n", kLong)) << process.error();
  process.Signal(SIGINT);
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(kLong), 130);
}

TEST_F(RunTest, AFailedJobIsShownAndGivesOne) {
  // A gyre that finds a trainer beside it which dies at once.
  std::filesystem::create_directories(folder_ / "bin");
  std::filesystem::copy_file(GYRE_PROGRAM, folder_ / "bin" / "gyre");
  Write("bin/gyre-trainer", "#!/bin/sh\nexit 7\n");
  std::filesystem::permissions(folder_ / "bin" / "gyre-trainer", std::filesystem::perms::owner_all);
  // Two jobs: after a third that fails alike, the sweep would pause itself.
  Write("broken.yaml", Sweep("broken", "4096", "retry: {attempts: 1}\n", /*seeds=*/1));
  GyreOptions options = Options();
  options.program = folder_ / "bin" / "gyre";
  GyreProcess process({"run", "broken.yaml"}, options);
  EXPECT_EQ(process.Wait(kLong), 1);
  EXPECT_THAT(process.error(), AllOf(HasSubstr("broken: RoPE seed 0 FAILED: "),
                                     HasSubstr("gyre: error: broken: RoPE seed 0 failed: ")));
  EXPECT_THAT(process.output(), HasSubstr("RoPE: 1 of 1 seed failed"));
}

TEST_F(RunTest, EveryDocumentOfAFileIsRun) {
  Write("two.yaml", Sweep("first", "2048") + "---\n" + Sweep("second", "4096"));
  const GyreResult result = Run({"run", "two.yaml", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("\"sweep\": \"first\""), HasSubstr("\"sweep\": \"second\"")));
  EXPECT_EQ(result.output.front(), '[');
}

TEST_F(RunTest, AFaultyFileIsTwoAndLeavesNothing) {
  Write("faulty.yaml", Sweep("faulty", "2048", "seed: 3\n"));
  const GyreResult result = Run({"run", "faulty.yaml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.error,
              AllOf(HasSubstr("faulty.yaml:11:1: error: unknown key 'seed'"),
                    HasSubstr("did you mean 'seeds'?"), HasSubstr("1 fault; nothing was queued")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results.db"));
  EXPECT_EQ(Run({"run", "no-such.yaml"}).exit_code, 2);
}

TEST_F(RunTest, TextThatIsNotThereIsSaid) {
  Write("no-text.yaml", "sweep: no-text\nbase: {data: {train: no-such.txt}}\n");
  const GyreResult result = Run({"run", "no-text.yaml"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.error, HasSubstr("no-such.txt"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results.db"));
}

}  // namespace
}  // namespace gyre
