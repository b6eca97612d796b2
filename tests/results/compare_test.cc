// The comparison as read from a database.

#include "results/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "results/query.h"
#include "tests/results/results_database.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CompareTest : public ::testing::Test {
 protected:
  Comparison Must(const std::vector<std::string>& sweeps, const CompareOptions& options = {}) {
    const auto comparison = Compare(Reader(), sweeps, options);
    EXPECT_TRUE(comparison.ok()) << comparison.status();
    return comparison.ok() ? *comparison : Comparison();
  }

  Database Reader() {
    auto reader = Database::OpenReadOnly(db_.path());
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  ResultsDatabase db_;
};

TEST_F(CompareTest, TakesTheFirstValidationSetAndTheLastPoint) {
  const int64_t sweep = db_.AddSweep("s", "RoPE");
  const int64_t rope = db_.AddVariant(sweep, "RoPE");
  const int64_t nope = db_.AddVariant(sweep, "NoPE");
  const int64_t worker = db_.AddWorker("host/0");
  const std::vector<double> ratios = {1.9, 2.0, 2.1};
  for (int seed = 0; seed < 3; ++seed) {
    const int64_t job = db_.AddFinished(sweep, rope, seed, 5 + seed);
    db_.AddAttempt(job, 1, worker, "LOST", 50);
    db_.AddAttempt(job, 2, worker, "SUCCEEDED", 100 + 10 * seed);
    db_.AddPoint(job, "austen/perplexity", 5, 500, 99);  // on the way: not the last
    db_.AddFinished(sweep, nope, seed, (5 + seed) * ratios[seed]);
  }
  const Comparison comparison = Must({"s"});
  EXPECT_EQ(comparison.metric, "austen/perplexity");
  EXPECT_EQ(comparison.baseline, "RoPE");
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(*comparison.rows[0].mean, 6);
  EXPECT_DOUBLE_EQ(*comparison.rows[0].tokens_per_second, 110);
  EXPECT_FALSE(comparison.rows[1].tokens_per_second);
  EXPECT_NEAR(comparison.rows[1].difference->mean,
              (std::log(1.9) + std::log(2.0) + std::log(2.1)) / 3, 1e-12);
  EXPECT_THAT(comparison.notes, IsEmpty());
}

TEST_F(CompareTest, AgreesWithTheViewForPeople) {
  const int64_t sweep = db_.AddSweep("s", "A");
  const int64_t a = db_.AddVariant(sweep, "A");
  const int64_t b = db_.AddVariant(sweep, "B");
  const std::vector<double> values = {5.25, 6.5, 5.125, 7};
  for (int seed = 0; seed < 4; ++seed) {
    const int64_t job = db_.AddFinished(sweep, a, seed, values[seed]);
    db_.AddJob(sweep, b, {.seed = static_cast<uint64_t>(seed), .reused_from = job});
  }
  const int64_t diverged = db_.AddJob(sweep, a, {.seed = 9, .diverged_at_step = 7});
  db_.AddPoint(diverged, "austen/perplexity", 10, 1000, 1e9);
  const Comparison comparison = Must({"s"});
  const auto view = RunQuery(db_.path(),
                             "SELECT variant, n, mean, std FROM comparison"
                             " WHERE sweep = 's' AND metric = 'austen/perplexity' ORDER BY variant",
                             0);
  ASSERT_TRUE(view.ok()) << view.status();
  ASSERT_EQ(view->rows.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(std::get<std::string>(view->rows[i][0]), comparison.rows[i].variant);
    EXPECT_EQ(std::get<int64_t>(view->rows[i][1]), comparison.rows[i].n);
    EXPECT_NEAR(std::get<double>(view->rows[i][2]), *comparison.rows[i].mean, 1e-12);
    EXPECT_NEAR(std::get<double>(view->rows[i][3]), *comparison.rows[i].std, 1e-9);
  }
}

TEST_F(CompareTest, TwinsAndReusedJobsHaveTheValuesOfTheirSource) {
  const int64_t old_sweep = db_.AddSweep("old");
  const int64_t source = db_.AddFinished(old_sweep, db_.AddVariant(old_sweep, "X"), 0, 4);
  const int64_t sweep = db_.AddSweep("s", "A");
  const int64_t a = db_.AddVariant(sweep, "A");
  const int64_t b = db_.AddVariant(sweep, "B");
  db_.AddJob(sweep, a, {.seed = 0, .reused_from = source});
  const int64_t own = db_.AddFinished(sweep, a, 1, 5);
  db_.AddJob(sweep, b, {.seed = 0, .reused_from = source});
  db_.AddJob(sweep, b, {.seed = 1, .reused_from = own});
  const Comparison comparison = Must({"s"});
  EXPECT_EQ(comparison.rows[0].n, 2);
  EXPECT_DOUBLE_EQ(*comparison.rows[0].mean, 4.5);
  EXPECT_DOUBLE_EQ(*comparison.rows[1].mean, 4.5);
  EXPECT_THAT(comparison.verdict, ElementsAre("B gives exactly the values of A (2 seeds)"));
}

TEST_F(CompareTest, SaysWhatFellBackToFloat32) {
  const std::string bf16 = R"({"threads": 1, "precision": "bf16"})", plain = R"({"threads": 1})";
  const int64_t sweep = db_.AddSweep("s", "RoPE");
  const int64_t worker = db_.AddWorker("host/0");
  // The attempts of each seed, and which of them left points.
  struct Attempts {
    std::vector<std::string> fingerprints;
    size_t first_with_points = 0;
  };
  const auto add = [&](int64_t variant, const std::vector<Attempts>& seeds) {
    for (size_t seed = 0; seed < seeds.size(); ++seed) {
      const int64_t job = db_.AddJob(sweep, variant, {.seed = seed});
      const std::vector<std::string>& fingerprints = seeds[seed].fingerprints;
      for (size_t i = 0; i < fingerprints.size(); ++i) {
        const int number = static_cast<int>(i) + 1;
        const bool last = i + 1 == fingerprints.size();
        db_.AddAttempt(job, number, worker, last ? "SUCCEEDED" : "LOST", 100, fingerprints[i]);
        if (i < seeds[seed].first_with_points) continue;
        const int64_t step = 10 * number;
        db_.AddPoint(job, "austen/perplexity", step, 100 * number, 5 + 0.1 * seed + i, number);
      }
    }
  };
  add(db_.AddVariant(sweep, "RoPE", "bf16"), {{{bf16}}, {{bf16}}, {{bf16}}});
  // Wholly; in part; a lost attempt of which nothing is left; and one that says nothing of itself.
  add(db_.AddVariant(sweep, "NoPE", "bf16"),
      {{{plain}}, {{plain, bf16}}, {{plain, bf16}, 1}, {{""}}, {{"{broken"}}});
  add(db_.AddVariant(sweep, "ALiBi"), {{{plain}}, {{plain}}, {{plain}}});
  EXPECT_THAT(Must({"s"}).notes,
              AllOf(Contains("NoPE: 2 of 5 seeds asked for bf16 and trained, wholly or in part, in "
                             "float32: a machine had no instructions for it"),
                    Contains(HasSubstr("asked for")).Times(1)));
}

TEST_F(CompareTest, ADivergedJobHasSucceededAndIsLeftOut) {
  const int64_t sweep = db_.AddSweep("s", "A");
  const int64_t a = db_.AddVariant(sweep, "A");
  const int64_t diverged = db_.AddJob(sweep, a, {.seed = 0, .diverged_at_step = 7});
  db_.AddPoint(diverged, "austen/perplexity", 10, 1000, 1e9);
  const int64_t infinite = db_.AddJob(sweep, a, {.seed = 1});
  db_.AddPoint(infinite, "austen/perplexity", 10, 1000, std::numeric_limits<double>::infinity());
  db_.AddFinished(sweep, a, 2, 5);
  const Comparison comparison = Must({"s"});
  EXPECT_EQ(comparison.rows[0].n, 1);
  EXPECT_EQ(comparison.rows[0].diverged, 2);
  EXPECT_DOUBLE_EQ(*comparison.rows[0].mean, 5);
  EXPECT_THAT(comparison.notes, ElementsAre("A: 2 of 3 seeds diverged and left out"));
}

TEST_F(CompareTest, AtTokensTakesTheLastPointBeforeThemAlsoOfRunningJobs) {
  const int64_t sweep = db_.AddSweep("s", "A");
  const int64_t a = db_.AddVariant(sweep, "A");
  const int64_t b = db_.AddVariant(sweep, "B");
  const int64_t c = db_.AddVariant(sweep, "C");
  const auto curve = [&](int64_t job, double offset) {
    for (int step = 0; step <= 10; ++step) {
      db_.AddPoint(job, "austen/loss_sample", step, step * 100, 5 - 0.1 * step + offset);
    }
  };
  curve(db_.AddJob(sweep, a, {.seed = 0}), 0);
  curve(db_.AddJob(sweep, b, {.seed = 0, .state = "RUNNING", .tokens_done = 1000}), 1);
  curve(db_.AddJob(sweep, c, {.seed = 0, .state = "RUNNING", .tokens_done = 300}), 2);
  const CompareOptions options = {.metric = "austen/loss_sample", .at_tokens = 450};
  const Comparison comparison = Must({"s"}, options);
  EXPECT_DOUBLE_EQ(*comparison.rows[0].mean, 4.6);
  EXPECT_EQ(comparison.rows[0].tokens, 400);
  EXPECT_NEAR(comparison.rows[1].difference->mean, 1, 1e-12);
  EXPECT_EQ(comparison.rows[2].n, 0);
  // What there is only at the end is not silently nothing.
  EXPECT_THAT(Must({"s"}, {.metric = "austen/loss", .at_tokens = 450}).notes,
              Contains(HasSubstr("--metric austen/loss_sample")));
}

TEST_F(CompareTest, NamesWhatThereIsWhenSomethingIsNotFound) {
  auto nothing = Compare(Reader(), {"s"}, {});
  EXPECT_EQ(nothing.status().message(), "no sweep is called 's'; there are no sweeps");
  const int64_t sweep = db_.AddSweep("table-2", "A");
  db_.AddFinished(sweep, db_.AddVariant(sweep, "A"), 0, 5);
  auto status = Compare(Reader(), {"table-3"}, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("there are: table-2"));
  status = Compare(Reader(), {"table-2"}, {.metric = "austen/perplexiti"}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("austen/perplexity"));
  EXPECT_EQ(Compare(Reader(), {}, {}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(CompareTest, BeforeAnythingIsFinishedTheRowsAreThere) {
  const int64_t sweep = db_.AddSweep("s", "A");
  db_.AddJob(sweep, db_.AddVariant(sweep, "A"), {.state = "QUEUED"});
  EXPECT_EQ(Must({"s"}).rows.size(), 1u);
  EXPECT_EQ(Must({"s"}, {.metric = "zz/bits_per_byte"}).rows.size(), 1u);
}

TEST_F(CompareTest, ReadsOneSnapshotWithinATransactionOfTheCaller) {
  const int64_t sweep = db_.AddSweep("s", "A");
  db_.AddFinished(sweep, db_.AddVariant(sweep, "A"), 0, 5);
  const Database reader = Reader();
  ASSERT_TRUE(reader.Execute("BEGIN").ok());
  EXPECT_TRUE(Compare(reader, {"s"}, {}).ok());
  EXPECT_FALSE(Compare(reader, {"t"}, {}).ok());
  EXPECT_TRUE(reader.Execute("COMMIT").ok());
}

}  // namespace
}  // namespace gyre
