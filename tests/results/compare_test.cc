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
using ::testing::Not;

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

// Ten documents of 100 predictions; those of the second variant are 5 to 14 nats easier.
class CompareDocumentsTest : public CompareTest {
 protected:
  void SetUp() override {
    const int64_t sweep = db_.AddSweep("s", "A");
    for (const auto& [name, easier] : {std::pair{"A", 0}, {"B", 5}}) {
      const int64_t variant = db_.AddVariant(sweep, name);
      for (uint64_t seed = 0; seed < 2; ++seed) {
        std::string nats;
        for (int i = 0; i < 10; ++i) {
          const int value = 200 + static_cast<int>(seed) - (easier > 0 ? easier + i : 0);
          nats += (i == 0 ? "[" : ", ") + std::to_string(value) + ".5";
        }
        const int64_t job = db_.AddFinished(sweep, variant, seed, 7 + 0.1 * seed - 0.1 * easier);
        db_.AddPoint(job, "zz/loss", 10, 1000, 2 + 0.1 * seed);
        db_.AddDocuments(job, "austen", 5, kTargets, "[1,1,1,1,1,1,1,1,1,1]");
        db_.AddDocuments(job, "austen", 10, kTargets, nats + "]");
        jobs_.push_back(job);
      }
    }
  }

  static constexpr char kTargets[] = "[100,100,100,100,100,100,100,100,100,100]";
  std::vector<int64_t> jobs_;
};

TEST_F(CompareDocumentsTest, HaveAnIntervalBesideTheSeeds) {
  const auto documents = Must({"s"}).rows[1].difference->documents;
  ASSERT_TRUE(documents);
  EXPECT_EQ(documents->documents, 10);
  EXPECT_EQ(documents->seeds, 2);
  // Of the last step: between -0.14 and -0.05, -0.095 on average, as JSON has it to the last digit.
  EXPECT_GT(documents->low, -0.13);
  EXPECT_LT(documents->high, -0.06);
  EXPECT_NEAR((documents->low + documents->high) / 2, -0.095, 0.003);
  EXPECT_FALSE(Must({"s"}, {.documents = false}).rows[1].difference->documents);
}

TEST_F(CompareDocumentsTest, AreOfTheWholeSetAtTheEnd) {
  EXPECT_FALSE(Must({"s"}, {.metric = "zz/loss"}).rows[1].difference->documents);
  const Comparison at = Must({"s"}, {.metric = "austen/perplexity", .at_tokens = 1000});
  EXPECT_FALSE(at.rows[1].difference->documents);
}

TEST_F(CompareDocumentsTest, WhatIsNoListOfNumbersIsLeftOut) {
  for (const char* nats : {"[1,2", "[1,2,3]", "", "{}", "[1,nan,1,1,1,1,1,1,1,1]", "nonsense",
                           "[1 2]", "[1,,2]", "[null,1,1,1,1,1,1,1,1,1]"}) {
    ASSERT_TRUE(db_.database()
                    .Execute(std::string("UPDATE document_losses SET nats = '") + nats + "'")
                    .ok());
    EXPECT_FALSE(Must({"s"}).rows[1].difference->documents) << nats;
  }
}

TEST_F(CompareDocumentsTest, FilesOfOlderVersionsHaveNone) {
  ASSERT_TRUE(db_.database().Execute("DROP VIEW documents; DROP TABLE document_losses").ok());
  const Comparison comparison = Must({"s"});
  EXPECT_TRUE(comparison.rows[1].difference);
  EXPECT_FALSE(comparison.rows[1].difference->documents);
}

TEST_F(CompareTest, CurvesAreReadWhereTheyAreAskedFor) {
  const int64_t sweep = db_.AddSweep("s", "A");
  const int64_t a = db_.AddVariant(sweep, "A");
  const int64_t b = db_.AddVariant(sweep, "B");
  const auto curve = [&](int64_t job, double slope) {
    for (int step = 0; step <= 10; ++step) {
      const double value = step == 5 ? std::nan("") : 5 - slope * step;
      db_.AddPoint(job, "austen/loss_sample", step, step * 100, value);
    }
  };
  const int64_t source = db_.AddJob(sweep, a, {.seed = 0});
  curve(source, 0.1);
  curve(db_.AddJob(sweep, a, {.seed = 1}), 0.2);
  curve(db_.AddJob(sweep, b, {.seed = 0, .state = "RUNNING", .tokens_done = 1000}), 0.3);
  db_.AddJob(sweep, b, {.seed = 1, .reused_from = source});
  const int64_t diverged = db_.AddJob(sweep, b, {.seed = 2, .diverged_at_step = 3});
  curve(diverged, 0.5);
  const Comparison comparison = Must({"s"}, {.by_step = true, .reach = 4.75});
  EXPECT_EQ(comparison.metric, "austen/loss_sample");
  ASSERT_TRUE(comparison.by_step && comparison.reach);
  ASSERT_EQ(comparison.by_step->rows.size(), 10u);
  EXPECT_EQ(comparison.by_step->rows[9].tokens, 1000);
  EXPECT_EQ(comparison.by_step->rows[9].difference.pairs, 2);
  EXPECT_NEAR(comparison.by_step->rows[9].difference.mean, -0.5, 1e-12);
  EXPECT_THAT(comparison.notes, Contains("B: 2 points of its curves are not finite and left out"));
  EXPECT_NEAR(*comparison.reach->rows[0].mean, (250 + 125) / 2.0, 1e-9);
  EXPECT_EQ(comparison.reach->rows[1].seeds, 2);
  EXPECT_FALSE(Must({"s"}).by_step || Must({"s"}).reach);
  EXPECT_EQ(Compare(Reader(), {"s"}, {.metric = "austen/loss_sample", .reach = -1})
                ->reach->rows[0]
                .reached,
            0);
}

TEST_F(CompareTest, OnlyALossIsComeDownTo) {
  const int64_t sweep = db_.AddSweep("s", "A");
  const int64_t job = db_.AddFinished(sweep, db_.AddVariant(sweep, "A"), 0, 5);
  db_.AddPoint(job, "austen/accuracy", 10, 1000, 0.5);
  const Status status =
      Compare(Reader(), {"s"}, {.metric = "austen/accuracy", .reach = 1}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "curves come down to a loss, and austen/accuracy is none: name one with --metric, like "
            "SET/loss_sample");
}

TEST_F(CompareTest, SaysWhoSawOtherBatches) {
  const int64_t sweep = db_.AddSweep("s", "A");
  for (const char* name : {"A", "B", "C"}) {
    db_.AddFinished(sweep, db_.AddVariant(sweep, name), 0, 5);
  }
  ASSERT_TRUE(db_.database()
                  .Execute("UPDATE variants SET config = json_set(config, '$.data.context', 64),"
                           " train_dataset = 'other' WHERE name = 'B'")
                  .ok());
  EXPECT_THAT(Must({"s"}).notes,
              AllOf(Contains("B: paired with A by seed alone, they see different batches: of the "
                             "training text, data.context"),
                    Not(Contains(HasSubstr("C: paired")))));
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
