#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "results/plots/gnuplot_text.h"
#include "results/plots/plot.h"
#include "tests/results/results_database.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(GnuplotText, KeepsEverythingText) {
  EXPECT_EQ(GnuplotText("0.75-RoPE"), "\"0.75-RoPE\"");
  EXPECT_EQ(GnuplotText("\"; system(\"x\")"), "\"\\042; system(\\042x\\042)\"");
  EXPECT_EQ(GnuplotText("`date` @x $y \\n 'q'"),
            "\"\\140date\\140 \\100x \\044y \\134n \\047q\\047\"");
  EXPECT_EQ(GnuplotText("θ=10k\n日本"), "\"θ=10k 日本\"");
  EXPECT_EQ(GnuplotText("\xff\x01"), "\"? \"");
  EXPECT_EQ(GnuplotTic("50%"), "\"50%%\"");
}

TEST(GnuplotText, NumbersAreExact) {
  EXPECT_EQ(GnuplotNumber(0.1), "0.1");
  EXPECT_EQ(GnuplotNumber(1e-300), "1e-300");
  EXPECT_EQ(GnuplotNumber(NAN), "NaN");
  EXPECT_EQ(GnuplotNumber(-INFINITY), "NaN");
}

TEST(GnuplotText, LongTextIsCutOrBroken) {
  EXPECT_EQ(FitText("short", 100, 12), "short");
  EXPECT_THAT(FitText(std::string(500, 'x'), 100, 12), HasSubstr("…"));
  EXPECT_LE(TextWidth(FitText(std::string(500, 'x'), 100, 12), 12), 100);
  EXPECT_THAT(WrapText("aaaa bbbb cccc", 70, 12, 5), ElementsAre("aaaa bbbb", "cccc"));
  const auto cut = WrapText("aaaa bbbb cccc dddd", 70, 12, 1);
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_THAT(cut[0], HasSubstr("…"));
}

class PlotsTest : public ::testing::Test {
 protected:
  AskSql Ask() {
    return [this](const std::string& sql) { return RunQuery(db_.path(), sql, 0); };
  }
  Plot Made(const PlotOptions& options) {
    auto plot = MakePlot(options, Ask());
    EXPECT_TRUE(plot.ok()) << plot.status();
    return plot.ok() ? *std::move(plot) : Plot{};
  }
  Status Refused(const PlotOptions& options) { return MakePlot(options, Ask()).status(); }

  /// Three points of a loss, the last one `end`.
  int64_t AddCurve(int64_t sweep, int64_t variant, ResultsDatabase::JobRow row, double end) {
    const int64_t job = db_.AddJob(sweep, variant, row);
    for (int step = 0; step <= 2; ++step) {
      db_.AddPoint(job, "austen/loss_sample", step, 100 * step, end + 2 - step);
    }
    return job;
  }

  ResultsDatabase db_;
};

TEST_F(PlotsTest, CurvesAreMeansOfTheSeedsThatCount) {
  const int64_t sweep = db_.AddSweep("s", "RoPE");
  const int64_t rope = db_.AddVariant(sweep, "RoPE"), nope = db_.AddVariant(sweep, "NoPE");
  const int64_t bad = db_.AddVariant(sweep, "bad"), one = db_.AddVariant(sweep, "one");
  AddCurve(sweep, rope, {.seed = 0}, 1.0);
  AddCurve(sweep, rope, {.seed = 1}, 2.0);
  AddCurve(sweep, rope, {.seed = 2, .state = "FAILED"}, 50);
  AddCurve(sweep, nope, {.seed = 0, .state = "RUNNING"}, 4.0);
  const int64_t diverged = AddCurve(sweep, bad, {.seed = 0, .diverged_at_step = 3}, 6.0);
  db_.AddPoint(diverged, "austen/loss_sample", 3, 300, NAN);
  const int64_t twin = AddCurve(sweep, one, {.seed = 0}, 3.0);
  db_.AddJob(sweep, one, {.seed = 1, .reused_from = twin});

  const Plot plot = Made({.sweep = "s", .kind = "curve"});
  EXPECT_THAT(plot.notes, ElementsAre("RoPE: 2 of 3 seeds (1 failed)"));
  ASSERT_EQ(plot.rows.rows.size(), 12u);
  EXPECT_THAT(plot.rows.rows[2],
              ElementsAre(QueryValue("s"), QueryValue("RoPE"), QueryValue("austen/loss_sample"),
                          QueryValue(int64_t{2}), QueryValue(int64_t{200}), QueryValue(int64_t{2}),
                          QueryValue(1.5), QueryValue(std::sqrt(0.5)), QueryValue(1.0),
                          QueryValue(2.0), QueryValue("")));
  EXPECT_EQ(plot.rows.rows[5].back(), QueryValue("unfinished"));
  EXPECT_EQ(plot.rows.rows[5][7], QueryValue());
  EXPECT_EQ(plot.rows.rows[8].back(), QueryValue("diverged"));
  EXPECT_EQ(plot.rows.rows[11][5], QueryValue(int64_t{2}));
  EXPECT_THAT(plot.script,
              AllOf(HasSubstr("title \"bad (diverged)\""), HasSubstr("title \"NoPE (unfinished)\""),
                    HasSubstr("set label \"loss (nats per token)\"")));
}

TEST_F(PlotsTest, DifferencesAreTakenSeedBySeed) {
  const int64_t sweep = db_.AddSweep("s", "RoPE");
  const int64_t rope = db_.AddVariant(sweep, "RoPE"), nope = db_.AddVariant(sweep, "NoPE");
  for (int seed = 0; seed < 2; ++seed) {
    AddCurve(sweep, rope, {.seed = static_cast<uint64_t>(seed)}, 1.0 + 10 * seed);
    AddCurve(sweep, nope, {.seed = static_cast<uint64_t>(seed)}, 1.5 + 10 * seed);
  }
  AddCurve(sweep, nope, {.seed = 7}, 99);
  PlotOptions options{.sweep = "s", .kind = "curve", .difference = true};
  const Plot plot = Made(options);
  ASSERT_EQ(plot.rows.rows.size(), 3u);
  EXPECT_EQ(plot.rows.rows[2][6], QueryValue(0.5));
  EXPECT_EQ(plot.rows.rows[2][7], QueryValue(0.0));
  EXPECT_THAT(plot.notes, ElementsAre("NoPE: 2 of 3 seeds (1 without a value)"));
  EXPECT_THAT(Made({.sweep = "s", .kind = "curve", .seed = 1}).script, HasSubstr("\"Seed 1.\""));
  options.variants = {"NoPE"};
  EXPECT_EQ(Made(options).rows.rows, plot.rows.rows);
  options.baseline = "none";
  EXPECT_THAT(Refused(options).message(), HasSubstr("no variant is called 'none'"));
}

TEST_F(PlotsTest, FiveHundredVariantsAreNamedInPart) {
  const int64_t sweep = db_.AddSweep("s", "v0");
  ASSERT_TRUE(db_.database().Execute("BEGIN").ok());
  for (int i = 0; i < 500; ++i) {
    AddCurve(sweep, db_.AddVariant(sweep, "v" + std::to_string(i)), {}, 1.0 + i);
  }
  ASSERT_TRUE(db_.database().Execute("COMMIT").ok());
  const Plot plot = Made({.sweep = "s", .kind = "curve"});
  EXPECT_EQ(plot.rows.rows.size(), 1500u);
  EXPECT_THAT(plot.script, AllOf(HasSubstr("title \"v0\""), HasSubstr("title \"v7\""),
                                 HasSubstr("title \"492 others\""), Not(HasSubstr("\"v499\"")),
                                 HasSubstr("Of 500 variants")));
}

TEST_F(PlotsTest, WhatIsNotThereIsSaid) {
  const int64_t sweep = db_.AddSweep("s");
  const int64_t variant = db_.AddVariant(sweep, "RoPE");
  db_.AddJob(sweep, variant, {.state = "QUEUED"});
  PlotOptions options{.sweep = "s", .kind = "curve"};
  EXPECT_EQ(Refused(options).code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Refused(options).message(), HasSubstr("has reported anything yet"));
  AddCurve(sweep, variant, {.seed = 1}, 1);
  options.metric = "austen/lss";
  EXPECT_EQ(Refused(options).message(),
            "no job of s has reported 'austen/lss'; there are: austen/loss_sample");
  options = {.sweep = "s", .kind = "curve", .variants = {"x"}};
  EXPECT_EQ(Refused(options).message(), "the sweep s has no variant 'x'; there are: RoPE");
  options = {.sweep = "t", .kind = "curve"};
  EXPECT_EQ(Refused(options).message(), "no sweep is called 't'; there are: s");
  options = {.sweep = "s", .kind = "curve", .seed = 9};
  EXPECT_EQ(Refused(options).code(), StatusCode::kNotFound);
  options = {.sweep = "s", .kind = "curve", .difference = true};
  EXPECT_THAT(Refused(options).message(), HasSubstr("name one with --baseline"));
  options = {.sweep = "s", .kind = "curve", .tensor = "q"};
  EXPECT_THAT(Refused(options).message(), HasSubstr("--tensor says nothing for the kind 'curve'"));
  options = {.sweep = "s", .kind = "nonsense"};
  EXPECT_EQ(Refused(options).code(), StatusCode::kInvalidArgument);
}

TEST_F(PlotsTest, BandsAndLayersAreCells) {
  const int64_t sweep = db_.AddSweep("s");
  const int64_t rope = db_.AddVariant(sweep, "RoPE");
  for (int seed = 0; seed < 2; ++seed) {
    const int64_t job = db_.AddJob(sweep, rope, {.seed = static_cast<uint64_t>(seed)});
    const auto add = [&](const std::string& name, double value) {
      db_.AddPoint(job, "austen/loss_change/" + name, 5, 500, value + seed);
    };
    add("zero-0-8", 4);
    add("zero-8-9", 6);
    add("zero-8-9-layer-1", 1);
    add("freeze-0-8", 2);
    add("nope", 50);
    add("zero-8", 50);
  }
  const Plot plot = Made({.sweep = "s", .kind = "interventions"});
  ASSERT_EQ(plot.rows.rows.size(), 4u);
  EXPECT_THAT(plot.rows.rows[0],
              ElementsAre(QueryValue("s"), QueryValue("RoPE"), QueryValue("austen/loss_change"),
                          QueryValue("freeze"), QueryValue(), QueryValue(int64_t{0}),
                          QueryValue(int64_t{8}), QueryValue(int64_t{2}), QueryValue(2.5),
                          QueryValue(2.0), QueryValue(3.0)));
  EXPECT_EQ(plot.rows.rows[3][4], QueryValue(int64_t{1}));
  EXPECT_EQ(plot.rows.rows[3][8], QueryValue(1.5));
  EXPECT_THAT(plot.script, AllOf(HasSubstr("RoPE: zero"), HasSubstr("0–7"), HasSubstr("NaN"),
                                 HasSubstr("set cbrange [0:1.5]"),
                                 HasSubstr("change of the loss (nats per token)")));
  EXPECT_THAT(
      Refused({.sweep = "s", .kind = "interventions", .metric = "copy/accuracy_change"}).message(),
      HasSubstr("evaluate.interventions"));
}

}  // namespace
}  // namespace gyre
