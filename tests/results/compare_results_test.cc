// Rows, notes and sentences as a pure function of what the seeds came to.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "results/compare.h"
#include "results/power.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SeedResult Done(uint64_t seed, double value, int64_t tokens = 1000) {
  return {.seed = seed,
          .state = "SUCCEEDED",
          .value = value,
          .tokens = tokens,
          .tokens_budget = tokens};
}

SeedResult InState(uint64_t seed, const std::string& state) {
  return {.seed = seed, .state = state, .tokens_budget = 1000};
}

VariantResults Of(const std::string& name, std::vector<SeedResult> seeds,
                  const std::string& baseline = "") {
  return {.name = name, .baseline = baseline, .seeds = std::move(seeds)};
}

Comparison CompareOne(std::vector<VariantResults> variants, const std::string& baseline,
                      const std::string& metric = "austen/perplexity") {
  for (VariantResults& variant : variants) {
    if (variant.baseline.empty() && variant.name != baseline) variant.baseline = baseline;
  }
  const auto comparison = CompareResults(
      {{.sweep = "s", .baseline = baseline, .variants = variants}}, {.metric = metric});
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return *comparison;
}

TEST(CompareResults, PerplexitiesArePairedByTheirLogarithms) {
  // Log ratios 0.6, 0.7, 0.8: mean 0.7, standard error 0.1/sqrt(3), quantile 4.302653 for 2 degrees
  // of freedom.
  const Comparison comparison = CompareOne(
      {Of("RoPE", {Done(0, 5), Done(1, 6), Done(2, 7)}),
       Of("NoPE",
          {Done(2, 7 * std::exp(0.8)), Done(0, 5 * std::exp(0.6)), Done(1, 6 * std::exp(0.7))})},
      "RoPE");
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_EQ(comparison.baseline, "RoPE");
  const ComparisonRow& baseline = comparison.rows[0];
  EXPECT_FALSE(baseline.difference);
  EXPECT_EQ(baseline.n, 3);
  EXPECT_DOUBLE_EQ(*baseline.mean, 6);
  EXPECT_DOUBLE_EQ(*baseline.std, 1);
  EXPECT_EQ(baseline.tokens, 1000);
  const Difference& difference = *comparison.rows[1].difference;
  EXPECT_EQ(difference.pairs, 3);
  EXPECT_EQ(difference.unit, "nats");
  EXPECT_NEAR(difference.mean, 0.7, 1e-12);
  EXPECT_NEAR(*difference.low, 0.7 - 4.302653 * 0.1 / std::sqrt(3), 1e-6);
  EXPECT_NEAR(*difference.high, 0.7 + 4.302653 * 0.1 / std::sqrt(3), 1e-6);
  EXPECT_NEAR(*difference.p, 1 - std::sqrt(147.0 / 149),
              1e-9);  // t^2 = 147: closed form for 2 degrees
  EXPECT_THAT(comparison.notes, IsEmpty());
  EXPECT_THAT(comparison.verdict,
              ElementsAre("NoPE is worse than RoPE by 0.70 nats (95% 0.45 to 0.95, 3 seeds)"));
}

TEST(CompareResults, LossesAreSubtractedAndBitsKeepTheirUnit) {
  const std::vector<VariantResults> variants = {Of("A", {Done(0, 2.0), Done(1, 2.1)}),
                                                Of("B", {Done(0, 1.5), Done(1, 1.8)})};
  const Comparison loss = CompareOne(variants, "A", "austen/loss");
  EXPECT_NEAR(loss.rows[1].difference->mean, -0.4, 1e-12);
  EXPECT_EQ(loss.rows[1].difference->unit, "nats");
  const Comparison bits = CompareOne(variants, "A", "austen/bits_per_byte");
  EXPECT_EQ(bits.rows[1].difference->unit, "bits per byte");
  const Comparison other = CompareOne(variants, "A", "austen/accuracy@1024");
  EXPECT_EQ(other.rows[1].difference->unit, "accuracy");
}

TEST(CompareResults, SaysWhenTheDataCannotTell) {
  const Comparison comparison =
      CompareOne({Of("RoPE", {Done(0, 1.60), Done(1, 1.62), Done(2, 1.61)}),
                  Of("0.75-RoPE", {Done(0, 1.61), Done(1, 1.60), Done(2, 1.63)})},
                 "RoPE", "austen/loss");
  EXPECT_THAT(
      comparison.verdict,
      ElementsAre("The data cannot tell 0.75-RoPE from RoPE (difference +0.003 nats, 95% "
                  "-0.048 to +0.055, 3 seeds; they would show about 0.068, one of this size "
                  "takes roughly 310)"));
}

// What three of six comparisons of 0.05 show is not shown once all six are allowed for.
TEST(CompareResults, TheVerdictAllowsForAllComparisons) {
  std::vector<VariantResults> variants = {
      Of("RoPE", {Done(0, 1.60), Done(1, 1.62), Done(2, 1.61)})};
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    variants.push_back(Of(name, {Done(0, 1.61), Done(1, 1.60), Done(2, 1.63)}));
  }
  variants.push_back(Of("close", {Done(0, 1.610), Done(1, 1.634), Done(2, 1.621)}));
  const Comparison comparison = CompareOne(variants, "RoPE", "austen/loss");
  EXPECT_EQ(comparison.family, 6);
  const Difference& close = *comparison.rows[6].difference;
  EXPECT_LT(*close.p, 0.05);
  EXPECT_NEAR(*close.p_adjusted, 6 * *close.p, 1e-12);
  EXPECT_EQ(comparison.verdict.back(),
            "The data cannot tell close from RoPE once all 6 comparisons count (difference +0.0117 "
            "nats, 95% +0.0065 to +0.0168, p 0.01, adjusted 0.063, 3 seeds)");
}

TEST(CompareResults, OneComparisonNeedsNoCorrection) {
  const Comparison comparison =
      CompareOne({Of("A", {Done(0, 2), Done(1, 2.1)}), Of("B", {Done(0, 3), Done(1, 3.2)}),
                  Of("C", {Done(0, 3)})},
                 "A", "austen/loss");
  EXPECT_EQ(comparison.family, 1);  // one seed has no p-value
  EXPECT_EQ(*comparison.rows[1].difference->p_adjusted, *comparison.rows[1].difference->p);
  EXPECT_FALSE(comparison.rows[2].difference->p_adjusted);
}

TEST(CompareResults, SaysWhatSoManySeedsResolve) {
  // Differences -1, 0, 1, 2 times 0.01: mean 0.005, standard deviation 0.0129, effect 0.387.
  const Comparison comparison =
      CompareOne({Of("A", {Done(0, 1), Done(1, 1), Done(2, 1), Done(3, 1)}),
                  Of("B", {Done(0, 0.99), Done(1, 1), Done(2, 1.01), Done(3, 1.02)})},
                 "A", "austen/loss");
  const Difference& difference = *comparison.rows[1].difference;
  EXPECT_NEAR(*difference.std, 0.0129099, 1e-7);
  EXPECT_EQ(*difference.seeds_needed, 55);
  EXPECT_NEAR(*difference.resolvable, ResolvableEffect(4) * 0.0129099, 1e-6);
}

TEST(CompareResults, DifferencesThatCancelTakeMoreSeedsThanAnybodyHas) {
  const Comparison comparison =
      CompareOne({Of("A", {Done(0, 1), Done(1, 1)}), Of("B", {Done(0, 1.25), Done(1, 0.75)})}, "A",
                 "austen/loss");
  const Difference& difference = *comparison.rows[1].difference;
  EXPECT_EQ(difference.mean, 0);
  EXPECT_NEAR(*difference.p, 1, 1e-12);
  EXPECT_FALSE(difference.seeds_needed);
  EXPECT_THAT(comparison.verdict, ElementsAre(HasSubstr("takes more than 1000)")));
}

// A perplexity of zero has no logarithm: nothing is said, and nothing is NaN.
TEST(CompareResults, ValuesWithoutALogarithmAreNoPairs) {
  const Comparison comparison = CompareOne({Of("A", {Done(0, 0), Done(1, -1), Done(2, 5)}),
                                            Of("B", {Done(0, 3), Done(1, 3), Done(2, 6)})},
                                           "A");
  EXPECT_EQ(comparison.rows[1].difference->pairs, 1);
  EXPECT_THAT(ComparisonToJson(comparison), Not(HasSubstr("nan")));
}

TEST(CompareResults, SaysWhereTheBatchesAreNotTheSame) {
  std::vector<VariantResults> variants = {Of("A", {Done(0, 2), Done(1, 2.1)}),
                                          Of("B", {Done(0, 3), Done(1, 3.2)}),
                                          Of("C", {Done(0, 3), Done(1, 3.2)})};
  for (VariantResults& variant : variants) variant.batches = {"hash", "512", "documents", "16384"};
  variants[1].batches.context = "256";
  variants[1].batches.text = "other";
  EXPECT_THAT(CompareOne(variants, "A").notes,
              ElementsAre("B: paired with A by seed alone, they see different batches: of the "
                          "training text, data.context"));
}

// 500 variants with everything that can happen to a seed.
TEST(CompareResults, FiveHundredVariantsHaveNoNanAndTheRightFamily) {
  std::vector<VariantResults> variants = {Of("base", {Done(0, 2), Done(1, 2.1), Done(2, 2.2)})};
  for (int i = 1; i < 500; ++i) {
    std::vector<SeedResult> seeds;
    for (int seed = 0; seed < 3; ++seed) {
      SeedResult result = Done(seed, 2 + 0.1 * seed + 0.001 * ((i * 7 + seed * 13) % 11));
      if (i % 5 == 1) result = InState(seed, "FAILED");
      if (i % 5 == 2 && seed > 0) result = InState(seed, "RUNNING");
      if (i % 5 == 3) result = Done(seed, 2 + 0.1 * seed);
      if (i % 5 == 4 && seed == 0) {
        result = InState(seed, "SUCCEEDED");
        result.diverged = true;
      }
      seeds.push_back(result);
    }
    variants.push_back(Of("v" + std::to_string(i), seeds));
  }
  const Comparison comparison = CompareOne(variants, "base", "austen/loss");
  EXPECT_EQ(comparison.rows.size(), 500u);
  int with_p = 0;
  for (const ComparisonRow& row : comparison.rows) with_p += row.difference && row.difference->p;
  EXPECT_EQ(comparison.family, with_p);
  EXPECT_GT(with_p, 100);
  // What cannot be told shares a sentence, so that what can be told is not lost among hundreds.
  EXPECT_THAT(comparison.verdict.back(),
              AllOf(HasSubstr("The data cannot tell "),
                    HasSubstr(" variants from the baseline; the table has their intervals")));
  EXPECT_LT(comparison.verdict.size(), comparison.rows.size() - 100);
  const std::string json = ComparisonToJson(comparison);
  EXPECT_THAT(json, Not(HasSubstr("nan")));
  for (const std::string& sentence : comparison.verdict) {
    EXPECT_THAT(sentence, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  }
  const auto read = ComparisonFromJson(json);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ComparisonToJson(*read), json);
}

TEST(CompareResults, WordsForAMetricOfUnknownDirection) {
  const Comparison comparison = CompareOne({Of("A", {Done(0, 10), Done(1, 20), Done(2, 30)}),
                                            Of("B", {Done(0, 5), Done(1, 15.1), Done(2, 24.9)})},
                                           "A", "austen/speed");
  EXPECT_THAT(comparison.verdict, ElementsAre(HasSubstr("B is lower than A by")));
}

TEST(CompareResults, OneSeedHasNoInterval) {
  const Comparison comparison = CompareOne({Of("A", {Done(0, 2)}), Of("B", {Done(0, 3)})}, "A");
  const Difference& difference = *comparison.rows[1].difference;
  EXPECT_NEAR(difference.mean, std::log(1.5), 1e-12);
  EXPECT_FALSE(difference.low || difference.high || difference.p);
  EXPECT_FALSE(comparison.rows[1].std);
  EXPECT_THAT(comparison.notes, ElementsAre("B: no interval, only one seed is paired with A"));
  EXPECT_THAT(comparison.verdict,
              ElementsAre("B is worse than A by 0.405 nats on one seed, and one seed cannot say "
                          "whether that is chance"));
}

TEST(CompareResults, EqualDifferencesHaveNoInterval) {
  const Comparison comparison =
      CompareOne({Of("A", {Done(0, 2), Done(1, 3)}), Of("twin", {Done(0, 2), Done(1, 3)}),
                  Of("C", {Done(0, 2.5), Done(1, 3.5)})},
                 "A", "austen/loss");
  EXPECT_EQ(comparison.rows[1].difference->mean, 0);
  EXPECT_FALSE(comparison.rows[1].difference->p);
  EXPECT_FALSE(comparison.rows[2].difference->p);
  EXPECT_THAT(comparison.verdict,
              ElementsAre("twin gives exactly the values of A (2 seeds)",
                          "C is worse than A by 0.500 nats on each of 2 seeds alike"));
}

TEST(CompareResults, UnequalBudgetsAreNotCompared) {
  const Comparison comparison = CompareOne({Of("A", {Done(0, 2, 1000), Done(1, 2, 1000)}),
                                            Of("B", {Done(0, 3, 2000), Done(1, 3, 2000)})},
                                           "A");
  EXPECT_FALSE(comparison.rows[1].difference);
  EXPECT_DOUBLE_EQ(*comparison.rows[1].mean, 3);
  EXPECT_THAT(comparison.notes,
              ElementsAre("B: not compared, it trains on 2000 tokens and A on 1000 tokens"));
  EXPECT_THAT(comparison.verdict, IsEmpty());
}

TEST(CompareResults, AsOfTokensBudgetsAndTokensHaveToBeEqual) {
  SeedResult at_400 = Done(0, 2);
  at_400.tokens = 400;
  SeedResult at_450 = at_400, other_budget = at_400;
  at_450.tokens = 450;
  other_budget.tokens_budget = 2000;
  const auto comparison =
      CompareResults({{.sweep = "s",
                       .baseline = "A",
                       .variants = {Of("A", {at_400}), Of("B", {at_400}, "A"),
                                    Of("C", {at_450}, "A"), Of("D", {other_budget}, "A")}}},
                     {.metric = "austen/loss_sample", .at_tokens = 450});
  ASSERT_TRUE(comparison.ok());
  EXPECT_TRUE(comparison->rows[1].difference);
  EXPECT_FALSE(comparison->rows[2].difference);
  EXPECT_FALSE(comparison->rows[3].difference);
  EXPECT_THAT(comparison->notes,
              AllOf(Contains("C: not compared, it trains on 450 tokens and A on 400 tokens"),
                    Contains("D: not compared, it trains on 2000 tokens and A on 1000 tokens")));
}

// optuna/optuna-dashboard#108, ray-project/ray#9103, mlflow/mlflow#3406,
// G-Research/fasttrackml#435: NaN breaks the page, the JSON or the sorting.
TEST(CompareResults, DivergedFailedAndUnfinishedSeedsAreLeftOutAndSaid) {
  SeedResult diverged = InState(2, "SUCCEEDED");
  diverged.diverged = true;
  const Comparison comparison = CompareOne(
      {Of("A", {Done(0, 2), Done(1, 2.1), Done(2, 2.2), Done(3, 2.3), Done(4, 2.2)}),
       Of("B", {Done(0, 3), Done(1, 3.2), diverged, InState(3, "FAILED"), InState(4, "RUNNING")})},
      "A");
  const ComparisonRow& row = comparison.rows[1];
  EXPECT_EQ(row.n, 2);
  EXPECT_EQ(row.seeds, 5);
  EXPECT_EQ(row.diverged, 1);
  EXPECT_EQ(row.failed, 1);
  EXPECT_EQ(row.unfinished, 1);
  EXPECT_EQ(row.difference->pairs, 2);
  EXPECT_THAT(comparison.notes,
              ElementsAre("B: 1 of 5 seeds diverged and left out", "B: 1 of 5 seeds failed",
                          "B: unfinished, 2 of 5 seeds so far"));
}

TEST(CompareResults, AVariantOfWhichEverySeedDivergedHasItsWords) {
  const auto diverged = [](uint64_t seed) {
    SeedResult result = InState(seed, "SUCCEEDED");
    result.diverged = true;
    return result;
  };
  const Comparison comparison =
      CompareOne({Of("A", {Done(0, 2), Done(1, 2.1)}), Of("B", {diverged(0), diverged(1)})}, "A");
  EXPECT_EQ(comparison.rows[1].n, 0);
  EXPECT_FALSE(comparison.rows[1].mean || comparison.rows[1].difference);
  EXPECT_THAT(comparison.notes, ElementsAre("B: 2 of 2 seeds diverged and left out"));
  EXPECT_THAT(comparison.verdict, IsEmpty());
  const Comparison baseline =
      CompareOne({Of("A", {diverged(0)}), Of("B", {Done(0, 2)})}, "A", "austen/loss");
  EXPECT_THAT(baseline.notes, ElementsAre("A: 1 of 1 seed diverged and left out",
                                          "B: not compared, no seed is finished in both it and A"));
}

TEST(CompareResults, ABaselineThatMissesSeedsIsSaid) {
  const Comparison comparison =
      CompareOne({Of("A", {Done(0, 2), Done(1, 2.1), InState(2, "FAILED")}),
                  Of("B", {Done(0, 3), Done(1, 3.2), Done(2, 3.1)}),
                  Of("C", {InState(0, "FAILED"), InState(1, "FAILED"), Done(2, 3)})},
                 "A");
  EXPECT_EQ(comparison.rows[1].difference->pairs, 2);
  EXPECT_FALSE(comparison.rows[2].difference);
  EXPECT_THAT(comparison.notes,
              AllOf(Contains("B: paired with A on 2 of 3 seeds"),
                    Contains("C: not compared, no seed is finished in both it and A")));
}

TEST(CompareResults, NothingFinishedGivesRowsAndNoNumbers) {
  const Comparison comparison =
      CompareOne({Of("A", {InState(0, "QUEUED")}), Of("B", {InState(0, "QUEUED")})}, "A");
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_FALSE(comparison.rows[0].mean || comparison.rows[1].difference);
  EXPECT_EQ(comparison.rows[0].tokens, 1000);
  EXPECT_THAT(comparison.notes, Contains("A: unfinished, 0 of 1 seed so far"));
}

TEST(CompareResults, WithoutABaselineDifferencesAreAbsent) {
  const Comparison comparison = CompareOne({Of("A", {Done(0, 2)}), Of("B", {Done(0, 3)})}, "");
  EXPECT_FALSE(comparison.rows[0].difference || comparison.rows[1].difference);
  EXPECT_THAT(comparison.notes, ElementsAre(HasSubstr("no baseline")));
}

TEST(CompareResults, AnUnknownBaselineListsTheVariants) {
  const auto comparison = CompareResults(
      {{.sweep = "s", .baseline = "A", .variants = {Of("A", {Done(0, 1)}), Of("B", {Done(0, 1)})}}},
      {.metric = "austen/loss", .baseline = "Rope"});
  EXPECT_EQ(comparison.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(comparison.status().message(), "no variant is called 'Rope'; there are: 'A', 'B'");
}

TEST(CompareResults, UnderAGridTheBaselineHasTheSameGridValues) {
  const std::vector<VariantResults> variants = {Of("RoPE lr=0.001", {Done(0, 2), Done(1, 2.1)}),
                                                Of("RoPE lr=0.003", {Done(0, 1), Done(1, 1.1)}),
                                                Of("NoPE lr=0.001", {Done(0, 3), Done(1, 3.2)}),
                                                Of("NoPE lr=0.003", {Done(0, 2), Done(1, 2.3)})};
  const auto result = CompareResults({{.sweep = "s", .baseline = "", .variants = variants}},
                                     {.metric = "austen/loss", .baseline = "RoPE"});
  ASSERT_TRUE(result.ok()) << result.status();
  const Comparison& comparison = *result;
  EXPECT_FALSE(comparison.rows[0].difference || comparison.rows[1].difference);
  EXPECT_EQ(comparison.rows[2].baseline, "RoPE lr=0.001");
  EXPECT_NEAR(comparison.rows[2].difference->mean, 1.05, 1e-12);
  EXPECT_EQ(comparison.rows[3].baseline, "RoPE lr=0.003");
  EXPECT_NEAR(comparison.rows[3].difference->mean, 1.1, 1e-12);
}

TEST(CompareResults, SweepsAreComparedAcrossANamedBaseline) {
  const std::vector<SweepResults> sweeps = {
      {.sweep = "first",
       .baseline = "A",
       .variants = {Of("A", {Done(0, 2)}), Of("B", {Done(0, 3)}, "A")}},
      {.sweep = "second",
       .baseline = "C",
       .variants = {Of("B", {Done(0, 4)}, "C"), Of("C", {Done(0, 5)})}}};
  const auto own = CompareResults(sweeps, {.metric = "austen/loss"});
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(own->baseline, "A, C");
  EXPECT_NEAR(own->rows[1].difference->mean, 1, 1e-12);
  EXPECT_NEAR(own->rows[2].difference->mean, -1, 1e-12);
  EXPECT_EQ(own->rows[2].baseline, "C");

  const auto across = CompareResults(sweeps, {.metric = "austen/loss", .baseline = "first/B"});
  ASSERT_TRUE(across.ok());
  EXPECT_NEAR(across->rows[0].difference->mean, -1, 1e-12);
  EXPECT_FALSE(across->rows[1].difference);
  EXPECT_EQ(across->rows[2].baseline, "first/B");
  EXPECT_NEAR(across->rows[2].difference->mean, 1, 1e-12);
}

TEST(MatchBaseline, NeedsAWholeGridSuffix) {
  const std::vector<VariantResults> variants = {
      Of("A lr=1", {}), Of("A b lr=1", {}), Of("A lr=11", {}), Of("C lr=1", {}), Of("C lr=11", {})};
  EXPECT_EQ(MatchBaseline(variants, "C lr=1", "A"), "A lr=1");
  EXPECT_EQ(MatchBaseline(variants, "C lr=11", "A"), "A lr=11");
  EXPECT_EQ(MatchBaseline(variants, "A b lr=1", "A"), "A lr=1");
  EXPECT_EQ(MatchBaseline(variants, "A lr=1", "A"), "A lr=1");
  EXPECT_EQ(MatchBaseline(variants, "C lr=1", "A lr=11"), "A lr=11");
  EXPECT_EQ(MatchBaseline(variants, "C lr=1", "D"), "");
}

TEST(ComparisonJson, ReadsBackWhatItWrites) {
  Comparison comparison =
      CompareOne({Of("θ=500k <b>|\"日本語\"", {Done(0, 2), Done(1, 2.5)}),
                  Of("B", {Done(0, 3), Done(1, 3.2)}), Of("C", {InState(0, "FAILED")})},
                 "B");
  comparison.rows[0].tokens_per_second = 31234.5;
  const std::string json = ComparisonToJson(comparison);
  const auto read = ComparisonFromJson(json);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ComparisonToJson(*read), json);
  EXPECT_EQ(read->rows[0].variant, "θ=500k <b>|\"日本語\"");
  EXPECT_EQ(*read->rows[0].difference->p, *comparison.rows[0].difference->p);
}

TEST(ComparisonJson, HasTheDocumentedShape) {
  const std::string json = ComparisonToJson(
      CompareOne({Of("A", {Done(0, 2), Done(1, 4)}), Of("B", {Done(0, 4)})}, "A", "austen/loss"));
  EXPECT_THAT(json, HasSubstr("\"metric\": \"austen/loss\""));
  EXPECT_THAT(json, HasSubstr("\"difference\": null"));
  EXPECT_THAT(json, HasSubstr("\"low\": null"));
  EXPECT_THAT(json, HasSubstr("\"tokens_per_second\": null"));
  EXPECT_THAT(json, HasSubstr("\"failed\": 0"));
  EXPECT_EQ(ComparisonFromJson("{}").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ComparisonFromJson("[1").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gyre
