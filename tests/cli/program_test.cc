// The built program: usage, exit codes, what goes to which stream.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "tests/cli/gyre_process.h"
#include "tests/results/results_database.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const char kNowhere[] = "127.0.0.1:1";  // a port on which nothing listens

TEST(Program, AMisspeltCommandIsUsageAndIsGuessed) {
  const GyreResult result = RunGyre({"stauts"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error, "gyre: error: there is no command 'stauts'; did you mean 'status'?\n");
  EXPECT_EQ(result.output, "");
}

TEST(Program, ACommandsOwnCommandIsGuessedToo) {
  EXPECT_EQ(RunGyre({"data", "lst"}).error,
            "gyre: error: there is no command 'data lst'; did you mean 'list'?\n");
  EXPECT_THAT(RunGyre({"certificates", "create"}).error,
              HasSubstr("see: gyre certificates create --help"));
}

TEST(Program, AMisspeltOptionIsGuessed) {
  const GyreResult result = RunGyre({"analyze", "llama", "--txt", "x"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.error,
            "gyre: error: there is no option '--txt'; did you mean '--text'?\n"
            "      see: gyre analyze --help\n");
  EXPECT_THAT(RunGyre({"theory", "decay", "--teta=5"}).error,
              HasSubstr("there is no option '--teta'; did you mean '--theta'?"));
  EXPECT_THAT(RunGyre({"status", "--frobnicate"}).error,
              StartsWith("gyre: error: there is no option '--frobnicate'\n"));
  EXPECT_THAT(RunGyre({"status", "one", "two"}).error, HasSubstr("not expected: two"));
}

TEST(Program, WordsWhereAChoiceOrANumberIsWantedAreNamed) {
  EXPECT_THAT(RunGyre({"status", "--format", "xml"}).error,
              HasSubstr("--format: must be table, json, csv or md, and is 'xml'\n"));
  for (const char* bad : {"x", "0", "-1", "1.5", "9999999999999999999"}) {
    EXPECT_THAT(RunGyre({"logs", "--attempt", bad, "1"}).error,
                HasSubstr(std::string("must be a whole number above 0, and is '") + bad + "'\n"));
  }
}

TEST(Program, WithoutACommandItSaysWhichThereAre) {
  const GyreResult result = RunGyre({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.error, AllOf(HasSubstr("compare"), HasSubstr("query"), HasSubstr("version")));
}

TEST(Program, WrongOptionsAreUsage) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"compare"},
           {"compare", "s", "--nonsense"},
           {"compare", "s", "--format", "xml"},
           {"compare", "s", "--at", "-5"},
           {"compare", "s", "--at", "1.5"},
           {"compare", "s", "--at", "soon"},
           {"compare", "s", "--reach", "low"},
           {"compare", "s", "--at", "5", "--by-step"},
           {"compare", "s", "--at", "5", "--reach", "2"},
           {"compare", "s", "--by-step", "--reach", "2", "--format", "csv"},
           {"query"},
           {"query", "SELECT 1", "--max-rows", "0"},
           {"cancel"},
           {"status", "--coordinator", "nonsense"},
           {"status", "--coordinator", "host:99999"},
           {"--nonsense"}}) {
    const GyreResult result = RunGyre(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments.front();
    EXPECT_THAT(result.error, StartsWith("gyre: error: "));
    EXPECT_EQ(result.output, "");
  }
}

TEST(Program, EveryCommandHasHelpWithAnExample) {
  const std::string help = RunGyre({"--help"}).output;
  ASSERT_THAT(help, HasSubstr("Subcommands:"));
  int commands = 0;
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  ")) {
    const std::string command = line.substr(2, line.find(' ', 2) - 2);
    if (command.empty()) continue;  // a description's second line
    const GyreResult result = RunGyre({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_THAT(result.output, AllOf(HasSubstr("Example"), HasSubstr("  gyre " + command)));
    ++commands;
  }
  EXPECT_GE(commands, 6);
}

TEST(Program, NobodyThereIsThreeWithAWayOut) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"status"}, {"status", "s"}, {"compare", "s"}, {"query", "SELECT 1"}, {"cancel", "s"}}) {
    std::vector<std::string> words = arguments;
    words.insert(words.end(), {"--coordinator", kNowhere});
    const GyreResult result = RunGyre(words);
    EXPECT_EQ(result.exit_code, 3) << arguments.front();
    EXPECT_THAT(result.error, AllOf(HasSubstr("could not reach a coordinator at 127.0.0.1:1"),
                                    HasSubstr("gyre coordinator")));
  }
}

TEST(Program, TheCoordinatorMayComeFromTheEnvironment) {
  const GyreResult result =
      RunGyre({"status"}, {.folder = {}, .environment = {"GYRE_COORDINATOR=127.0.0.1:2"}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.error, HasSubstr("at 127.0.0.1:2"));
}

TEST(Program, ReadsADatabaseWithoutACoordinator) {
  ResultsDatabase db;
  const int64_t sweep = db.AddSweep("s", "θ=10k");
  const int64_t base = db.AddVariant(sweep, "θ=10k");
  const int64_t other = db.AddVariant(sweep, "日本語 <b>");
  for (int seed = 0; seed < 2; ++seed) {
    db.AddFinished(sweep, base, seed, 5 + seed);
    db.AddFinished(sweep, other, seed, 6 + 1.5 * seed);
  }
  const std::string file = db.path().string();
  const GyreResult table = RunGyre({"compare", "s", "--db", file});
  EXPECT_EQ(table.exit_code, 0) << table.error;
  EXPECT_THAT(table.output, AllOf(HasSubstr("日本語 <b>"), HasSubstr("baseline")));
  EXPECT_THAT(table.output, Not(HasSubstr("\x1b")));
  EXPECT_EQ(table.error, "");
  const GyreResult json = RunGyre({"compare", "s", "--db", file, "--format", "json"});
  EXPECT_THAT(json.output, HasSubstr("\"variant\": \"日本語 <b>\""));
  const GyreResult csv =
      RunGyre({"query", "SELECT name FROM variants", "--db", file, "--format", "csv"});
  EXPECT_EQ(csv.output, "name\nθ=10k\n日本語 <b>\n");
  const GyreResult at = RunGyre({"compare", "s", "--db", file, "--at", "0.5k"});
  EXPECT_EQ(at.exit_code, 0) << at.error;
}

TEST(Program, ComparesOverDocumentsUnlessToldNotTo) {
  ResultsDatabase db;
  const int64_t sweep = db.AddSweep("s", "A");
  for (const auto& [name, nats] :
       {std::pair{"A", "[9,8,7,6,5,4,3,2]"}, {"B", "[8,8,6,6,4,4,2,2]"}}) {
    const int64_t variant = db.AddVariant(sweep, name);
    for (int seed = 0; seed < 2; ++seed) {
      const int64_t job = db.AddFinished(sweep, variant, seed, 5 + seed);
      db.AddDocuments(job, "austen", 10, "[10,10,10,10,10,10,10,10]", nats);
    }
  }
  const std::vector<std::string> compare = {"compare", "s",    "--format",
                                            "json",    "--db", db.path().string()};
  const auto with = [&](const std::string& flag) {
    std::vector<std::string> arguments = compare;
    if (!flag.empty()) arguments.push_back(flag);
    return RunGyre(arguments).output;
  };
  EXPECT_THAT(with(""), HasSubstr("\"documents\": 8"));
  EXPECT_EQ(with("--documents"), with(""));
  EXPECT_THAT(with("--no-documents"), HasSubstr("\"documents\": null"));
}

TEST(Program, SaysNoWithOne) {
  ResultsDatabase db;
  db.AddSweep("s");
  const std::string file = db.path().string();
  const GyreResult missing = RunGyre({"compare", "t", "--db", file});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.error, "gyre: error: no sweep is called 't'; there are: s\n");
  EXPECT_EQ(RunGyre({"compare", "s", "--db", "/no/such.db"}).exit_code, 1);
  EXPECT_EQ(RunGyre({"query", "SELEC", "--db", file}).exit_code, 2);
}

TEST(Program, ANarrowTerminalGetsANarrowTable) {
  ResultsDatabase db;
  const GyreResult result =
      RunGyre({"query", "SELECT 'a very long text indeed, and longer' AS text, 12345 AS number",
               "--db", db.path().string()},
              {.folder = {}, .environment = {"COLUMNS=30"}});
  EXPECT_EQ(result.output,
            "text                    number\n"
            "----------------------  ------\n"
            "a very long text inde…   12345\n");
}

TEST(Program, RunRefusesAJobThatThisMachineHasNoMemoryFor) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("gyre-fat-" + std::to_string(getpid()) + ".yaml");
  ASSERT_TRUE(WriteFileAtomically(
                  file,
                  "sweep: fat\nbase:\n  model: {num_hidden_layers: 1000, hidden_size: 65536, "
                  "num_attention_heads: 512}\n  data: {train: corpus:austen}\n")
                  .ok());
  const GyreResult result = RunGyre({"run", file.string()});
  std::filesystem::remove(file);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("sweep fat, variant 'base': the job needs about "));
  EXPECT_THAT(result.error, HasSubstr(" for it; lower train.micro_batch"));
}

}  // namespace
}  // namespace gyre
