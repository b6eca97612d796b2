// `gyre report`: a sweep's results as one page.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/ids.h"
#include "tests/cli/gyre_process.h"
#include "tests/results/results_database.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class ReportProgramTest : public ::testing::Test {
 protected:
  ReportProgramTest() : folder_(fs::temp_directory_path() / ("gyre-test-" + NewId())) {
    fs::create_directories(folder_);
  }
  ~ReportProgramTest() override { fs::remove_all(folder_); }

  GyreResult Report(const std::string& sweep, const std::vector<std::string>& environment = {}) {
    return RunGyre({"report", sweep, "-o", page().string(), "--db", db_.path().string()},
                   {.folder = {}, .environment = environment});
  }
  fs::path page() const { return folder_ / "page.html"; }
  std::string Page() const {
    const auto text = ReadFile(page());
    return text.ok() ? *text : text.status().ToString();
  }
  void AddCurves() {
    const int64_t sweep = db_.AddSweep("s", "<b>");
    for (const char* name : {"<b>", "x"}) {
      const int64_t variant = db_.AddVariant(sweep, name);
      for (int seed = 0; seed < 2; ++seed) {
        const int64_t job = db_.AddFinished(sweep, variant, seed, 5 + seed + (*name == 'x'));
        for (int step = 0; step < 3; ++step) {
          db_.AddPoint(job, "austen/loss_sample", step, step * 500, 3 - step + 0.1 * seed);
        }
      }
    }
  }

  ResultsDatabase db_;
  const fs::path folder_;
};

TEST_F(ReportProgramTest, HoldsComparisonAndPlotsAndIsTheSameAgain) {
  AddCurves();
  const GyreResult result = Report("s");
  ASSERT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.error, HasSubstr("plots in"));
  const std::string page = Page();
  EXPECT_THAT(page, HasSubstr("<td>&lt;b&gt;</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, HasSubstr("austen/perplexity, mean"));
  EXPECT_THAT(page, HasSubstr("download=\"s-curve-difference.csv\""));
  EXPECT_THAT(page, HasSubstr("<li>grid: "));  // no such grid: said, not drawn
  ASSERT_EQ(Report("s").exit_code, 0);
  EXPECT_EQ(Page(), page);
}

TEST_F(ReportProgramTest, WithoutGnuplotThereAreTheRows) {
  AddCurves();
  const GyreResult result = Report("s", {"PATH=/nowhere"});
  ASSERT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.error, HasSubstr("no pictures, only their rows: "));
  EXPECT_THAT(Page(), Not(HasSubstr("data:image")));
  EXPECT_THAT(Page(), HasSubstr("data:text/csv"));
}

TEST_F(ReportProgramTest, ASweepThatHasNotBegun) {
  const int64_t sweep = db_.AddSweep("s");
  db_.AddJob(sweep, db_.AddVariant(sweep, "x"), {.seed = 0, .state = "QUEUED"});
  const GyreResult result = Report("s");
  ASSERT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(Page(), HasSubstr("not finished. 1 job: 1 queued."));
  EXPECT_THAT(Page(), Not(HasSubstr("<img")));
}

TEST_F(ReportProgramTest, WhatCannotBeWrittenIsSaid) {
  const GyreResult unknown = Report("other");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.error, HasSubstr("there is no sweep 'other'; there are none"));
  EXPECT_FALSE(fs::exists(page()));
  AddCurves();
  const GyreResult folder = RunGyre(
      {"report", "s", "-o", (folder_ / "no/page.html").string(), "--db", db_.path().string()});
  EXPECT_NE(folder.exit_code, 0);
  EXPECT_THAT(folder.error, HasSubstr("no/page.html"));
}

}  // namespace
}  // namespace gyre
