// gyre plot as a program: exit codes, files, and what it says where there is no gnuplot.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/cli/gyre_process.h"
#include "tests/results/results_database.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class PlotProgram : public ::testing::Test {
 protected:
  PlotProgram() {
    const int64_t sweep = db_.AddSweep("s");
    const int64_t job = db_.AddJob(sweep, db_.AddVariant(sweep, "RoPE"), {});
    db_.AddPoint(job, "austen/loss_sample", 0, 0, 5);
    db_.AddPoint(job, "austen/loss_sample", 1, 100, 3);
  }
  GyreResult Plot(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    arguments.insert(arguments.begin(), "plot");
    arguments.insert(arguments.end(), {"--db", db_.path().string()});
    return RunGyre(arguments, {.folder = db_.path().parent_path(), .environment = environment});
  }
  std::filesystem::path File(const std::string& name) { return db_.path().parent_path() / name; }

  ResultsDatabase db_;
};

TEST_F(PlotProgram, WritesRowsWithoutGnuplot) {
  const GyreResult result = Plot({"s", "curve", "-o", "c.csv"}, {"PATH=/nonexistent"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(*ReadFile(File("c.csv")), HasSubstr("s,RoPE,austen/loss_sample,1,100,1,3,"));
}

TEST_F(PlotProgram, SaysWhatToInstallForPictures) {
  const GyreResult result = Plot({"s", "curve"}, {"PATH=/nonexistent"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, AllOf(HasSubstr("gnuplot-nox"), HasSubstr("-o FILE.csv")));
  EXPECT_FALSE(std::filesystem::exists(File("s-curve.svg")));
}

TEST_F(PlotProgram, BadInputIsTwoAndNothingToDrawIsOne) {
  EXPECT_EQ(Plot({"s", "curv"}).error,
            "gyre: error: there is no plot of the kind 'curv'; did you mean 'curve'?\n");
  EXPECT_EQ(Plot({"s", "curv"}).exit_code, 2);
  EXPECT_EQ(Plot({"s", "curve", "-o", "c.jpg"}).exit_code, 2);
  EXPECT_EQ(Plot({"s", "curve", "--spread", "wide"}).exit_code, 2);
  EXPECT_EQ(Plot({"s", "curve", "--layer", "1"}).exit_code, 2);
  EXPECT_EQ(Plot({"s", "frequencies", "--tensor", "x"}).exit_code, 2);
  EXPECT_EQ(Plot({"s", "heads"}).exit_code, 1);
  EXPECT_EQ(Plot({"t", "curve"}).exit_code, 1);
  EXPECT_EQ(Plot({"s", "curve", "-o", "no/such/folder/c.csv"}).exit_code, 1);
}

}  // namespace
}  // namespace gyre
