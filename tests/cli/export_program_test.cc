// `gyre export SWEEP`: a sweep's results as a folder of files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "base/ids.h"
#include "coordinator/store/schema_sql.h"
#include "tests/cli/gyre_process.h"
#include "tests/results/results_database.h"
#include "tests/small_disk.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class ExportProgramTest : public ::testing::Test {
 protected:
  ExportProgramTest() : folder_(fs::temp_directory_path() / ("gyre-test-" + NewId())) {
    fs::create_directories(folder_);
    const int64_t sweep = db_.AddSweep("s", "a/b");
    const int64_t slash = db_.AddVariant(sweep, "a/b"), line = db_.AddVariant(sweep, "a_b");
    for (int seed = 0; seed < 2; ++seed) db_.AddFinished(sweep, slash, seed, 5 + seed);
    db_.AddFinished(sweep, line, 0, 6);
    db_.AddJob(sweep, line, {.seed = 1, .state = "FAILED", .error = "no"});
  }
  ~ExportProgramTest() override { fs::remove_all(folder_); }

  GyreResult Export(const std::string& sweep, const std::string& format, const std::string& out,
                    const fs::path& db) {
    return RunGyre(
        {"export", sweep, "--format", format, "-o", (folder_ / out).string(), "--db", db.string()});
  }
  GyreResult Export(const std::string& sweep, const std::string& format, const std::string& out) {
    return Export(sweep, format, out, db_.path());
  }
  /// Every file of the test's folder, by its path there.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (!entry.is_directory()) files.push_back(fs::relative(entry.path(), folder_).string());
    }
    return files;
  }
  std::string Text(const std::string& file) const {
    const auto text = ReadFile(folder_ / file);
    return text.ok() ? *text : text.status().ToString();
  }

  ResultsDatabase db_;
  const fs::path folder_;
};

TEST_F(ExportProgramTest, WritesAFileAViewAndSaysSo) {
  const GyreResult csv = Export("s", "csv", "deep/out/");
  EXPECT_EQ(csv.exit_code, 0) << csv.error;
  EXPECT_THAT(csv.error, HasSubstr("deep/out/curves.csv: 3 rows\n"));
  EXPECT_EQ(Files().size(), 9u);
  EXPECT_THAT(Text("deep/out/curves.csv"), HasSubstr("\r\ns,a/b,1,"));
  EXPECT_THAT(Text("deep/out/jobs.csv"), HasSubstr(",FAILED,"));

  const GyreResult lines = Export("s", "jsonl", "lines");
  EXPECT_EQ(lines.exit_code, 0) << lines.error;
  EXPECT_THAT(Text("lines/final.jsonl"), StartsWith("{\"sweep\":\"s\",\"variant\":\"a/b\""));
}

TEST_F(ExportProgramTest, WhatIsThereStays) {
  fs::create_directories(folder_ / "mine");
  std::ofstream(folder_ / "mine" / "curves.csv") << "mine";
  for (const char* format : {"csv", "jsonl", "tensorboard"}) {
    const GyreResult refused = Export("s", format, "mine");
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.error, HasSubstr("mine is there and not empty; choose another folder"));
  }
  EXPECT_THAT(Export("s", "csv", "mine/curves.csv").error, HasSubstr("is a file"));
  EXPECT_THAT(Files(), ElementsAre("mine/curves.csv"));
  EXPECT_EQ(Text("mine/curves.csv"), "mine");
  fs::create_directories(folder_ / "empty");
  EXPECT_EQ(Export("s", "csv", "empty").exit_code, 0);
}

TEST_F(ExportProgramTest, CurvesForTensorBoardHaveAFolderAJob) {
  const GyreResult done = Export("s", "tensorboard", "runs");
  EXPECT_EQ(done.exit_code, 0) << done.error;
  EXPECT_THAT(done.error, AllOf(HasSubstr("runs: 3 points of 3 jobs; tensorboard --logdir "),
                                HasSubstr("1 job of the sweep has not succeeded: gyre status s")));
  // Two names that would be one folder; the job that failed has no points.
  EXPECT_THAT(Files(), UnorderedElementsAre("runs/a_b/seed-0/events.out.tfevents.0.gyre",
                                            "runs/a_b/seed-1/events.out.tfevents.0.gyre",
                                            "runs/a_b~2/seed-0/events.out.tfevents.0.gyre"));
  EXPECT_THAT(Text("runs/a_b/seed-1/events.out.tfevents.0.gyre"),
              AllOf(HasSubstr("brain.Event:2"), HasSubstr("austen/perplexity")));
}

TEST_F(ExportProgramTest, AnEmptySweepHasFilesWithoutRowsAndNoCurves) {
  db_.AddSweep("empty");
  EXPECT_EQ(Export("empty", "csv", "csv").exit_code, 0);
  EXPECT_THAT(Text("csv/curves.csv"), AllOf(StartsWith("sweep,variant,"), Not(HasSubstr("\n\n"))));
  const GyreResult none = Export("empty", "tensorboard", "runs");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.error, HasSubstr("the sweep 'empty' has no points yet; gyre status empty"));
  EXPECT_FALSE(fs::exists(folder_ / "runs"));
}

TEST_F(ExportProgramTest, TheTwoFormsAreToldApart) {
  const GyreResult sweep = RunGyre({"export", "s", "-o", "model", "--db", db_.path().string()});
  EXPECT_EQ(sweep.exit_code, 2);
  EXPECT_THAT(sweep.error, HasSubstr("'s' names no job"));
  EXPECT_THAT(sweep.error, HasSubstr("for the results of a sweep add --format csv, jsonl or "
                                     "tensorboard"));
  const GyreResult job = Export("s/a_b/0", "csv", "out");
  EXPECT_EQ(job.exit_code, 1);
  EXPECT_THAT(job.error, HasSubstr("no sweep is called 's/a_b/0'; there are: s"));
  EXPECT_THAT(Files(), ElementsAre());
}

TEST_F(ExportProgramTest, AFullDiskLeavesNothingOfIt) {
  const SmallDisk disk(folder_ / "small", size_t{1} << 16);
  if (!disk.mounted()) GTEST_SKIP() << "needs to be root";
  disk.Fill();
  for (const char* format : {"csv", "tensorboard"}) {
    const GyreResult full = Export("s", format, "small/out");
    EXPECT_EQ(full.exit_code, 1);
    EXPECT_THAT(full.error, AllOf(HasSubstr("No space left on device"),
                                  HasSubstr("free some room, or choose a folder on another disk")));
    EXPECT_THAT(Files(), ElementsAre("small/filler"));
  }
}

TEST_F(ExportProgramTest, ADatabaseOfAnOlderVersionIsReadAsItIs) {
  const fs::path old = folder_ / "old.db";
  {
    auto database = Database::OpenForWriting(old);
    ASSERT_TRUE(database.ok()) << database.status();
    const Status made = database->Execute(
        std::string(kTablesSql) + kViewsSql + kVersion2Sql +
        "PRAGMA application_id=1736012389; PRAGMA user_version=2;"
        "INSERT INTO sweeps (name, yaml, resolved, intent, resources, retry_attempts, "
        "retry_backoff_ms, timeout_ms, submitted_at) "
        "VALUES ('s', '', '{}', 'ACTIVE', '{}', 3, 1, 0, '')");
    ASSERT_TRUE(made.ok()) << made;
  }
  const GyreResult done = Export("s", "csv", "out", old);
  EXPECT_EQ(done.exit_code, 0) << done.error;
  EXPECT_THAT(done.error, HasSubstr("without contributions, head_scores, documents: an older "
                                    "version wrote the database"));
  EXPECT_TRUE(fs::exists(folder_ / "out" / "frequencies.csv"));
}

}  // namespace
}  // namespace gyre
