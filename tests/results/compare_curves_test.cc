// Differences along the curves, tokens to a loss, and intervals over documents, as pure functions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "results/compare.h"

namespace gyre {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Values at 0, 100, 200, ... tokens.
SeedResult Curve(uint64_t seed, std::vector<double> values) {
  SeedResult result{.seed = seed, .state = "SUCCEEDED", .tokens_budget = 1000};
  for (size_t i = 0; i < values.size(); ++i) {
    result.curve.push_back({static_cast<int64_t>(100 * i), values[i]});
  }
  result.value = values.back();
  return result;
}

SeedResult WithDocuments(uint64_t seed, std::vector<double> nats,
                         std::vector<double> targets = std::vector<double>(10, 100)) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < nats.size(); ++i) {
    sum += nats[i];
    count += targets[i];
  }
  return {.seed = seed,
          .state = "SUCCEEDED",
          .value = sum / count,
          .tokens_budget = 1000,
          .documents = {targets, nats}};
}

Comparison CompareWith(std::vector<VariantResults> variants, CompareOptions options) {
  for (size_t i = 1; i < variants.size(); ++i) variants[i].baseline = variants[0].name;
  options.metric = options.metric.empty() ? "austen/loss_sample" : options.metric;
  const auto comparison =
      CompareResults({{.sweep = "s", .baseline = variants[0].name, .variants = variants}}, options);
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return *comparison;
}

TEST(ByStep, HasADifferenceAtEachPlaceOfTheCurves) {
  const Comparison comparison = CompareWith(
      {{.name = "A", .seeds = {Curve(0, {5, 4, 3}), Curve(1, {5, 4.1, 3.1})}},
       {.name = "B",
        .seeds = {Curve(1, {5, 4.2, 3.4}), Curve(0, {5, 4.3, 3.3}), Curve(2, {5, 4, 3})}}},
      {.by_step = true});
  ASSERT_TRUE(comparison.by_step);
  const std::vector<StepDifference>& rows = comparison.by_step->rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].difference.mean, 0);  // before any training the same seed has the same weights
  EXPECT_FALSE(rows[0].difference.low);
  EXPECT_EQ(rows[1].tokens, 100);
  EXPECT_NEAR(rows[1].difference.mean, 0.2, 1e-12);
  EXPECT_NEAR(*rows[1].difference.high, 0.2 + 12.7062 * 0.1, 1e-3);
  EXPECT_NEAR(rows[1].mean, 4.25, 1e-12);
  EXPECT_NEAR(rows[1].baseline_mean, 4.05, 1e-12);
  EXPECT_FALSE(rows[2].difference.low);  // both seeds differ by 0.3
  EXPECT_THAT(comparison.by_step->verdict,
              ElementsAre("At the one step with an interval the data cannot tell B from A"));
}

TEST(ByStep, SaysFromWhereOnTheDataTell) {
  const Comparison comparison = CompareWith(
      {{.name = "A",
        .seeds = {Curve(0, {5, 4, 3, 2}), Curve(1, {5, 4, 3, 2}), Curve(2, {5, 4, 3, 2})}},
       {.name = "late",
        .seeds = {Curve(0, {5, 4.1, 3.50, 2.50}), Curve(1, {5, 3.9, 3.51, 2.51}),
                  Curve(2, {5, 4.2, 3.52, 2.52})}},
       {.name = "gone",
        .seeds = {Curve(0, {5, 3.50, 2.50, 2.1}), Curve(1, {5, 3.51, 2.51, 1.9}),
                  Curve(2, {5, 3.52, 2.52, 2.0})}}},
      {.by_step = true});
  EXPECT_THAT(comparison.by_step->verdict,
              ElementsAre("late is worse than A at every step from 200 tokens on (2 of 3 steps, "
                          "each taken alone)",
                          "The data tell gone from A at 2 of 3 steps taken alone, and not at "
                          "the last"));
}

TEST(ByStep, PairsOnlyTheSameTokensOfTheSameBudget) {
  SeedResult sparse = Curve(0, {5, 4, 3});
  sparse.curve.erase(sparse.curve.begin() + 1);
  SeedResult other_budget = Curve(1, {5, 4, 3});
  other_budget.tokens_budget = 2000;
  const Comparison comparison =
      CompareWith({{.name = "A", .seeds = {Curve(0, {5, 4, 3}), Curve(1, {5, 4, 3})}},
                   {.name = "B", .seeds = {sparse, other_budget}},
                   {.name = "none", .seeds = {{.seed = 0, .state = "FAILED"}}}},
                  {.by_step = true});
  ASSERT_EQ(comparison.by_step->rows.size(), 2u);
  EXPECT_EQ(comparison.by_step->rows[1].tokens, 200);
  EXPECT_EQ(comparison.by_step->rows[1].difference.pairs, 1);
  EXPECT_THAT(comparison.by_step->verdict, ElementsAre(HasSubstr("no step has two seeds")));
}

TEST(ByStep, SaysThatNoPlaceIsShared) {
  SeedResult elsewhere = Curve(0, {5, 4, 3});
  for (CurveValue& point : elsewhere.curve) point.tokens += 7;
  const Comparison comparison = CompareWith(
      {{.name = "A", .seeds = {Curve(0, {5, 4, 3})}}, {.name = "B", .seeds = {elsewhere}}},
      {.by_step = true});
  EXPECT_THAT(comparison.notes, Contains("B: no seed has evaluated places in common with A"));
}

TEST(Reach, ComparesTheSameBudgetsAlone) {
  std::vector<SeedResult> longer = {Curve(0, {5, 4, 3}), Curve(1, {5, 4, 2})};
  for (SeedResult& seed : longer) seed.tokens_budget = 2000;
  const Comparison comparison =
      CompareWith({{.name = "A", .seeds = {Curve(0, {5, 4, 3}), Curve(1, {5, 4, 3})}},
                   {.name = "longer", .seeds = longer}},
                  {.reach = 3.5});
  EXPECT_EQ(comparison.reach->rows[1].reached, 2);
  EXPECT_FALSE(comparison.reach->rows[1].share);
}

TEST(ByStep, SaysWhichPointsAreMissing) {
  SeedResult holes = Curve(0, {5, 4, 3});
  holes.curve.pop_back();
  holes.not_finite = 1;
  const Comparison comparison =
      CompareWith({{.name = "A", .seeds = {Curve(0, {5, 4, 3})}}, {.name = "B", .seeds = {holes}}},
                  {.by_step = true});
  EXPECT_THAT(comparison.notes,
              testing::Contains("B: 1 point of its curves is not finite and left out"));
}

TEST(ByStep, MoreThanAMessageHoldsAreNotShown) {
  std::vector<VariantResults> variants = {
      {.name = "A", .seeds = {Curve(0, std::vector<double>(kMostSteps / 10, 2))}}};
  for (int i = 0; i < 11; ++i) {
    variants.push_back({.name = std::to_string(i), .baseline = "A", .seeds = variants[0].seeds});
  }
  const Status status = CompareResults({{.sweep = "s", .baseline = "A", .variants = variants}},
                                       {.metric = "austen/loss_sample", .by_step = true})
                            .status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("differ at 110000 places"));
}

TEST(Reach, IsLinearBetweenPoints) {
  const Comparison comparison = CompareWith(
      {{.name = "A", .seeds = {Curve(0, {5, 4, 3}), Curve(1, {5, 3, 1})}},
       {.name = "B", .seeds = {Curve(0, {5, 4.5, 4}), Curve(1, {5, 4, 3}), Curve(2, {5, 5, 5})}},
       {.name = "never", .seeds = {Curve(0, {6, 5, 4.1})}},
       {.name = "nothing", .seeds = {{.seed = 0, .state = "QUEUED"}}}},
      {.reach = 4});
  ASSERT_TRUE(comparison.reach);
  const std::vector<ReachedTokens>& rows = comparison.reach->rows;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_DOUBLE_EQ(*rows[0].mean, 75);  // at 100, and halfway to it
  EXPECT_NEAR(*rows[0].std, 50 / std::sqrt(2), 1e-9);
  EXPECT_FALSE(rows[0].share);
  EXPECT_EQ(rows[1].reached, 2);
  EXPECT_EQ(rows[1].seeds, 3);
  EXPECT_DOUBLE_EQ(*rows[1].mean, 150);
  EXPECT_NEAR(*rows[1].share, 2, 1e-12);  // 200 for 100, 100 for 50
  EXPECT_FALSE(rows[1].low);              // of both seeds alike
  EXPECT_FALSE(rows[2].mean);
  EXPECT_FALSE(rows[3].mean || rows[3].share);
  EXPECT_THAT(comparison.reach->notes,
              ElementsAre("B: not reached by 1 of 3 seeds, the mean is of the others",
                          "never: not reached by 1 of 1 seed"));
}

TEST(Reach, WhatIsThereFromTheStartIsReachedAtNoTokens) {
  const Comparison comparison =
      CompareWith({{.name = "A", .seeds = {Curve(0, {3, 2}), Curve(1, {3, 3})}},
                   {.name = "B", .seeds = {Curve(0, {4, 2}), Curve(1, {4, 3})}}},
                  {.reach = 3});
  EXPECT_EQ(*comparison.reach->rows[0].mean, 0);
  EXPECT_DOUBLE_EQ(*comparison.reach->rows[1].mean, 75);
  EXPECT_FALSE(comparison.reach->rows[1].share);  // of nothing there is no share
}

TEST(Documents, HaveAnIntervalOfTheirOwn) {
  std::vector<double> base, better;
  for (int i = 0; i < 10; ++i) {
    base.push_back(200 + i);
    better.push_back(200 + i - (i % 2 == 0 ? 12 : 8));
  }
  const Comparison comparison =
      CompareWith({{.name = "A", .seeds = {WithDocuments(0, base), WithDocuments(1, base)}},
                   {.name = "B", .seeds = {WithDocuments(0, better), WithDocuments(1, better)}}},
                  {.metric = "austen/loss"});
  const Difference& difference = *comparison.rows[1].difference;
  EXPECT_NEAR(difference.mean, -0.1, 1e-12);
  ASSERT_TRUE(difference.documents);
  EXPECT_EQ(difference.documents->documents, 10);
  EXPECT_EQ(difference.documents->seeds, 2);
  EXPECT_GT(difference.documents->low, -0.12);
  EXPECT_LT(difference.documents->low, -0.105);
  EXPECT_NEAR(difference.documents->high + difference.documents->low, -0.2, 0.005);
}

TEST(Documents, OtherTextMayNotShowWhatTheSeedsShow) {
  // Every seed finds the variant better, and all of that comes from one document of ten.
  const auto seeds = [](double nats) {
    std::vector<SeedResult> results;
    for (int seed = 0; seed < 3; ++seed) {
      std::vector<double> documents(10, 200.0 + seed);
      documents[3] -= nats + seed % 2;
      results.push_back(WithDocuments(seed, documents));
    }
    return results;
  };
  const Comparison comparison =
      CompareWith({{.name = "A", .seeds = seeds(0)}, {.name = "B", .seeds = seeds(40)}},
                  {.metric = "austen/loss"});
  EXPECT_EQ(comparison.rows[1].difference->documents->high, 0);
}

TEST(Documents, OfDifferentTextsAreNotCompared) {
  const Comparison comparison = CompareWith(
      {{.name = "A", .seeds = {WithDocuments(0, std::vector<double>(10, 200))}},
       {.name = "B",
        .seeds = {WithDocuments(0, std::vector<double>(10, 190), std::vector<double>(10, 90))}},
       {.name = "C", .seeds = {Curve(0, {5, 4})}}},
      {.metric = "austen/loss"});
  EXPECT_FALSE(comparison.rows[1].difference->documents);
  EXPECT_FALSE(comparison.rows[2].difference->documents);
}

TEST(Documents, FewAreSaidToBeFew) {
  const std::vector<double> targets(3, 100);
  const Comparison comparison =
      CompareWith({{.name = "A", .seeds = {WithDocuments(0, {200, 200, 200}, targets)}},
                   {.name = "B", .seeds = {WithDocuments(0, {190, 200, 200}, targets)}}},
                  {.metric = "austen/loss"});
  EXPECT_FALSE(comparison.rows[1].difference->documents);
  EXPECT_THAT(comparison.notes,
              testing::Contains("no interval over documents: the validation set has only 3 "
                                "documents, and it takes 8"));
}

TEST(ComparisonJson, HasCurvesAndDocumentsToo) {
  std::vector<SeedResult> ours, theirs;
  for (int seed = 0; seed < 2; ++seed) {
    ours.push_back(Curve(seed, {5, 4, 3.0 + seed}));
    theirs.push_back(Curve(seed, {5, 4.5, 3.1 + 1.5 * seed}));
    for (SeedResult* result : {&ours.back(), &theirs.back()}) {
      result->documents = {std::vector<double>(9, 100),
                           std::vector<double>(9, 100 * *result->value)};
    }
  }
  const Comparison comparison =
      CompareWith({{.name = "A", .seeds = ours}, {.name = "B", .seeds = theirs}},
                  {.by_step = true, .reach = 3.5});
  ASSERT_TRUE(comparison.rows[1].difference->documents);
  const std::string json = ComparisonToJson(comparison);
  EXPECT_THAT(json, Not(HasSubstr("nan")));
  const auto read = ComparisonFromJson(json);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ComparisonToJson(*read), json);
  ASSERT_TRUE(read->by_step && read->reach);
  EXPECT_EQ(read->by_step->rows.size(), 3u);
  EXPECT_EQ(read->reach->rows.size(), 2u);
}

}  // namespace
}  // namespace gyre
