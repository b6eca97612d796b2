// gyre theory: what each experiment prints, as golden files; its picture's script; what it says to
// wrong options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "results/query.h"
#include "tests/cli/golden.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Said {
  int exit_code = -1;
  std::string output, error;
};

Said Theory(std::vector<std::string> words) {
  words.insert(words.begin(), {"gyre", "theory"});
  CLI::App app("", "gyre");
  int exit_code = 0;
  AddTheoryCommand(app, &exit_code);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Said said;
  said.exit_code = ParseAndRun(app, static_cast<int>(argv.size()), argv.data(), &exit_code);
  said.output = testing::internal::GetCapturedStdout();
  said.error = testing::internal::GetCapturedStderr();
  return said;
}

std::string Printed(std::vector<std::string> words) {
  words.insert(words.end(), {"--format", "table"});
  const Said said = Theory(words);
  EXPECT_EQ(said.exit_code, 0) << said.error;
  EXPECT_EQ(said.error, "");
  return said.output;
}

class TheoryTest : public ::testing::Test {
 protected:
  TheoryTest() {
    unsetenv("COLUMNS");  // tables as wide as they are
    std::filesystem::create_directories(folder_);
  }
  ~TheoryTest() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("gyre-theory-" + std::to_string(getpid()));
};

TEST_F(TheoryTest, DecayOfConstantVectors) {
  ExpectGolden("theory-decay.txt", Printed({"decay", "--head-dim", "64", "--distance", "1000",
                                            "--randomized", "5000"}));
}

TEST_F(TheoryTest, DecayOfGaussianPairs) {
  ExpectGolden("theory-decay-pair.txt",
               Printed({"decay", "--curve", "pair", "--theta", "10000", "--theta", "500000",
                        "--distance", "200", "--draws", "20", "--normalizer", "sqrt-d"}));
}

TEST_F(TheoryTest, Propositions) {
  ExpectGolden("theory-propositions.txt",
               Printed({"propositions", "--head-dim", "32", "--pairs", "1000"}));
}

TEST_F(TheoryTest, PropositionsOfNopeSayWhichDoNotHold) {
  const std::string printed =
      Printed({"propositions", "--head-dim", "32", "--pairs", "1000", "--p", "0"});
  EXPECT_THAT(printed, AllOf(HasSubstr("3.1 does not hold here"), HasSubstr("3.2 holds"),
                             HasSubstr("5.2 holds"), HasSubstr("5.3 does not hold here")));
}

TEST_F(TheoryTest, PositionalBudget) {
  ExpectGolden("theory-positional-budget.txt",
               Printed({"positional-budget", "--head-dim", "16", "--length", "32"}));
}

// YaRN's factor makes logits larger, so that smaller norms are enough: by its square, where the
// frequency is as it was.
TEST_F(TheoryTest, PositionalBudgetCountsTheAttentionFactor) {
  const auto first = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"positional-budget", "--head-dim", "16", "--length", "32",
                                      "--format",          "json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto table = QueryTableFromJson(Theory(words).output);
    EXPECT_TRUE(table.ok()) << table.status();
    return table.ok() ? table->rows.front() : std::vector<QueryValue>(9);
  };
  const auto plain = first({});
  const auto yarn = first({"--scaling", "yarn", "--factor", "4", "--original-length", "4096"});
  ASSERT_EQ(plain[4], yarn[4]);  // the frequency of pair 0
  const double factor = 0.1 * std::log(4.0) + 1;
  for (const size_t column : {6, 7, 8}) {
    EXPECT_NEAR(std::get<double>(plain[column]) / std::get<double>(yarn[column]), factor * factor,
                1e-9);
  }
}

TEST_F(TheoryTest, PositionalBudgetOfNopeIsNone) {
  EXPECT_THAT(Printed({"positional-budget", "--head-dim", "16", "--length", "32", "--p", "0"}),
              HasSubstr("no norm is enough"));
}

TEST_F(TheoryTest, SemanticFailure) {
  ExpectGolden("theory-semantic-failure.txt",
               Printed({"semantic-failure", "--head-dim", "16", "--length", "4096", "--p", "1",
                        "--p", "0.5", "--p", "0"}));
}

TEST_F(TheoryTest, SemanticFailureOfOneBandByDistance) {
  ExpectGolden("theory-semantic-band.txt", Printed({"semantic-failure", "--head-dim", "16",
                                                    "--length", "100", "--pairs", "2:4"}));
}

TEST_F(TheoryTest, BaseBound) {
  ExpectGolden("theory-base-bound.txt",
               Printed({"base-bound", "--head-dim", "64", "--length", "1024", "--length", "512"}));
  ExpectGolden("theory-base-reach.txt", Printed({"base-bound", "--head-dim", "64", "--length",
                                                 "2000", "--theta", "1000", "--theta", "100000"}));
}

// With JSON and CSV, stdout has the rows alone.
TEST_F(TheoryTest, SentencesStandBesideRowsForPrograms) {
  const std::vector<std::string> words = {"base-bound", "--head-dim", "64", "--length", "512"};
  std::vector<std::string> json = words, csv = words, markdown = words;
  json.insert(json.end(), {"--format", "json"});
  csv.insert(csv.end(), {"--format", "csv"});
  markdown.insert(markdown.end(), {"--format", "md"});
  const Said said = Theory(json);
  const auto table = QueryTableFromJson(said.output);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows.size(), 1u);
  EXPECT_THAT(said.error, HasSubstr("gyre: A context of 512 needs"));
  const std::string rows = Theory(csv).output;
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 2);
  EXPECT_THAT(Theory(markdown).output, AllOf(HasSubstr("| length |"), HasSubstr("\n- A context")));
}

TEST_F(TheoryTest, FilesHaveAllRows) {
  const std::string path = (folder_ / "rows.csv").string();
  const Said said = Theory({"decay", "--head-dim", "8", "--distance", "1000", "-o", path});
  EXPECT_EQ(said.exit_code, 0) << said.error;
  const std::string rows = *ReadFile(path);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 1002);
  EXPECT_THAT(said.error, HasSubstr(path));
}

// Every experiment is drawn; gnuplot itself says if it does not take the script.
TEST_F(TheoryTest, PicturesAreDrawn) {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no gnuplot";
  const std::string path = (folder_ / "picture.svg").string();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"decay", "--head-dim", "8", "--distance", "500", "--draws", "3", "--curve", "fresh"},
           {"decay", "--head-dim", "8", "--distance", "50", "--curve", "bound"},
           {"propositions", "--head-dim", "8", "--distance", "150", "--pairs", "10"},
           {"positional-budget", "--head-dim", "8", "--length", "16"},
           {"semantic-failure", "--head-dim", "8", "--length", "1000"},
           {"semantic-failure", "--head-dim", "8", "--length", "1000", "--pairs", "0:2"},
           {"base-bound", "--head-dim", "64", "--length", "100", "--length", "200"},
           {"base-bound", "--head-dim", "8", "--length", "100", "--theta", "100"}}) {
    std::vector<std::string> drawn = words;
    drawn.insert(drawn.end(), {"-o", path});
    const Said said = Theory(drawn);
    EXPECT_EQ(said.exit_code, 0) << said.error;
    const auto picture = ReadFile(path);
    ASSERT_TRUE(picture.ok()) << words[0] << ": " << picture.status();
    EXPECT_THAT(*picture, AllOf(HasSubstr("<svg"), HasSubstr("<path"), Not(HasSubstr("nan"))));
    std::filesystem::remove(path);
  }
}

TEST_F(TheoryTest, NothingToDrawIsSaid) {
  const Said said = Theory(
      {"semantic-failure", "--head-dim", "8", "--length", "100", "--p", "0", "-o", "none.svg"});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.error, HasSubstr("nothing to draw: no target is ever lost"));
}

TEST_F(TheoryTest, WrongOptionsAreNamed) {
  const auto error = [](const std::vector<std::string>& words) {
    const Said said = Theory(words);
    EXPECT_EQ(said.exit_code, 2) << words[1];
    EXPECT_EQ(said.output, "");
    return said.error;
  };
  EXPECT_THAT(error({"decay", "--head-dim", "7"}),
              HasSubstr("--head-dim must be an even number from 2 to 8192"));
  EXPECT_THAT(error({"decay", "--head-dim", "-2"}), HasSubstr("--head-dim"));
  EXPECT_THAT(error({"decay", "--theta", "1"}), HasSubstr("--theta must be a finite number above"));
  EXPECT_THAT(error({"decay", "--theta", "nan"}), HasSubstr("--theta"));
  EXPECT_THAT(error({"decay", "--p", "1.5"}), HasSubstr("--p must be from 0 (NoPE) to 1 (RoPE)"));
  EXPECT_THAT(error({"decay", "--band", "3"}), HasSubstr("--band must be FIRST:END"));
  EXPECT_THAT(error({"decay", "--band", "9:9999"}), HasSubstr("--band must be FIRST:END"));
  EXPECT_THAT(error({"decay", "--keep", "middle"}),
              HasSubstr("error: --keep: 'middle' is not one of"));
  EXPECT_THAT(error({"decay", "--scaling", "yarn"}), HasSubstr("error: --original-length must be"));
  EXPECT_THAT(error({"base-bound", "--scaling", "x"}), HasSubstr("error: --scaling: 'x' is not"));
  EXPECT_THAT(error({"decay", "--curve", "flat"}), HasSubstr("--curve must be one of constant"));
  EXPECT_THAT(error({"decay", "--normalizer", "2"}), HasSubstr("--normalizer must be d"));
  EXPECT_THAT(error({"decay", "--distance", "0"}), HasSubstr("--distance must be from 1"));
  EXPECT_THAT(error({"decay", "--draws", "100000"}), HasSubstr("too much to compute in one go"));
  EXPECT_THAT(error({"decay", "--randomized", "100"}), HasSubstr("different positions"));
  EXPECT_THAT(error({"decay", "-o", "x.gif"}), HasSubstr(".svg, .png, .pdf or .csv"));
  EXPECT_THAT(error({"decay", "--seed", "-1"}), HasSubstr("--seed"));
  EXPECT_THAT(error({"propositions", "--distance", "1000000"}), HasSubstr("--distance"));
  EXPECT_THAT(error({"propositions", "--p", "1", "--p", "0"}), HasSubstr("takes one encoding"));
  EXPECT_THAT(error({"positional-budget", "--eps", "1"}), HasSubstr("--eps must be above 0"));
  EXPECT_THAT(error({"positional-budget", "--length", "1"}), HasSubstr("--length must be from 2"));
  EXPECT_THAT(error({"positional-budget", "--length", "131072", "--head-dim", "1024"}),
              HasSubstr("make --head-dim or --length smaller"));
  EXPECT_THAT(error({"semantic-failure", "--length", "9999999"}), HasSubstr("--length must be"));
  EXPECT_THAT(error({"semantic-failure", "--distractor-norm", "0"}), HasSubstr("above 0"));
  EXPECT_THAT(error({"semantic-failure", "--distractor-angle", "0", "--distractor-norm", "1"}),
              HasSubstr("already as large as the target's"));
  EXPECT_THAT(error({"semantic-failure", "--pairs", "60:65"}), HasSubstr("END <= 64"));
  EXPECT_THAT(error({"base-bound", "--length", "0"}), HasSubstr("--length must be from 1"));
}

TEST_F(TheoryTest, ABoundThatIsNotThereIsSaid) {
  const Said said = Theory({"base-bound", "--head-dim", "2", "--length", "10"});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.error, HasSubstr("no theta below 1e12"));
}

TEST_F(TheoryTest, EveryExperimentHasHelpWithAnExample) {
  for (const char* name :
       {"decay", "propositions", "positional-budget", "semantic-failure", "base-bound"}) {
    const Said said = Theory({name, "--help"});
    EXPECT_EQ(said.exit_code, 0);
    EXPECT_THAT(said.output, HasSubstr(std::string("  gyre theory ") + name)) << name;
  }
}

}  // namespace
}  // namespace gyre
