#include "cli/output_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "results/compare.h"
#include "tests/cli/golden.h"

namespace gyre {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

SeedResult Done(uint64_t seed, double value, double tokens_per_second = 31234) {
  return {.seed = seed,
          .state = "SUCCEEDED",
          .value = value,
          .tokens = 1601536,
          .tokens_budget = 1600000,
          .tokens_per_second = tokens_per_second};
}

/// Losses much as the quick start gives them.
Comparison Quickstart() {
  const auto perplexities = [](std::vector<double> losses) {
    std::vector<SeedResult> seeds;
    for (size_t i = 0; i < losses.size(); ++i) seeds.push_back(Done(i, std::exp(losses[i])));
    return seeds;
  };
  std::vector<VariantResults> variants = {
      {.name = "NoPE", .baseline = "RoPE", .seeds = perplexities({2.321, 2.318, 2.330})},
      {.name = "RoPE", .baseline = "", .seeds = perplexities({1.631, 1.640, 1.635})},
      {.name = "0.75-RoPE", .baseline = "RoPE", .seeds = perplexities({1.633, 1.639, 1.630})},
      {.name = "0.75-RoPE-reversed", .baseline = "RoPE", .seeds = perplexities({1.655, 1.662})}};
  variants.back().seeds.push_back({.seed = 2, .state = "FAILED", .tokens_budget = 1600000});
  return *CompareResults({{.sweep = "quickstart", .baseline = "RoPE", .variants = variants}},
                         {.metric = "austen/perplexity"});
}

Comparison Awkward() {
  const std::vector<VariantResults> variants = {
      {.name = "θ=10k", .baseline = "", .seeds = {Done(0, 5)}},
      {.name = "θ=500k <script>alert(1)</script>", .baseline = "θ=10k", .seeds = {Done(0, 5.5)}},
      {.name = "日本語 | \"quoted\", x", .baseline = "θ=10k", .seeds = {}},
      {.name = "=cmd()\x1b[2J", .baseline = "θ=10k", .seeds = {Done(0, 5)}}};
  return *CompareResults({{.sweep = "unicode", .baseline = "θ=10k", .variants = variants}},
                         {.metric = "austen/perplexity"});
}

TEST(RenderComparison, AsATable) {
  ExpectGolden("comparison.txt", RenderComparison(Quickstart(), OutputFormat::kTable, 0));
  ExpectGolden("comparison-80.txt", RenderComparison(Quickstart(), OutputFormat::kTable, 80));
  ExpectGolden("comparison-awkward.txt", RenderComparison(Awkward(), OutputFormat::kTable, 0));
}

TEST(RenderComparison, AsMarkdown) {
  ExpectGolden("comparison.md", RenderComparison(Quickstart(), OutputFormat::kMarkdown, 0));
  ExpectGolden("comparison-awkward.md", RenderComparison(Awkward(), OutputFormat::kMarkdown, 0));
}

TEST(RenderComparison, AsCsv) {
  ExpectGolden("comparison-awkward.csv", RenderComparison(Awkward(), OutputFormat::kCsv, 0));
  EXPECT_THAT(RenderComparison(Quickstart(), OutputFormat::kCsv, 0),
              HasSubstr("quickstart,0.75-RoPE-reversed,austen/perplexity,2,3,"));
}

/// Curves of three seeds over 1.6M tokens, and two dozen documents.
Comparison WithCurves(const CompareOptions& asked) {
  const auto seeds = [](double lag, double noise) {
    std::vector<SeedResult> results;
    for (int seed = 0; seed < 3; ++seed) {
      const double own = noise * (seed - 1) + 0.01 * seed;
      SeedResult result = Done(seed, 1.8 + lag + own);
      for (int i = 0; i <= 4; ++i) {
        const double start = i == 0 ? 5.5 : 1.6 + 0.8 / i + lag + own;
        result.curve.push_back({i * 400000, start});
      }
      for (int i = 0; i < 24; ++i) {
        result.documents.targets.push_back(1000 + 100 * i);
        const double rate = *result.value + 0.1 * (i % 5) + lag * (i % 3 - 1);
        result.documents.nats.push_back(result.documents.targets.back() * rate);
      }
      results.push_back(result);
    }
    return results;
  };
  std::vector<VariantResults> variants = {
      {.name = "RoPE", .baseline = "", .seeds = seeds(0, 0)},
      {.name = "NoPE", .baseline = "RoPE", .seeds = seeds(0.3, 0.02)},
      {.name = "0.75-RoPE", .baseline = "RoPE", .seeds = seeds(-0.002, 0.004)}};
  variants[1].seeds[2].curve.resize(3);
  CompareOptions options = asked;
  options.metric = asked.by_step || asked.reach ? "austen/loss_sample" : "austen/loss";
  return *CompareResults({{.sweep = "quickstart", .baseline = "RoPE", .variants = variants}},
                         options);
}

TEST(RenderComparison, WithIntervalsOverDocuments) {
  Comparison comparison = WithCurves({});
  ExpectGolden("comparison-documents.txt", RenderComparison(comparison, OutputFormat::kTable, 0));
  ExpectGolden("comparison-documents-80.txt",
               RenderComparison(comparison, OutputFormat::kTable, 80));
  ExpectGolden("comparison-documents.csv", RenderComparison(comparison, OutputFormat::kCsv, 0));
}

TEST(RenderComparison, StepByStep) {
  const Comparison comparison = WithCurves({.by_step = true});
  ExpectGolden("comparison-by-step-80.txt", RenderComparison(comparison, OutputFormat::kTable, 80));
  ExpectGolden("comparison-by-step.md", RenderComparison(comparison, OutputFormat::kMarkdown, 0));
  ExpectGolden("comparison-by-step.csv", RenderComparison(comparison, OutputFormat::kCsv, 0));
}

TEST(RenderComparison, TokensToALoss) {
  const Comparison comparison = WithCurves({.reach = 1.9});
  ExpectGolden("comparison-reach-80.txt", RenderComparison(comparison, OutputFormat::kTable, 80));
  ExpectGolden("comparison-reach.md", RenderComparison(comparison, OutputFormat::kMarkdown, 0));
  ExpectGolden("comparison-reach.csv", RenderComparison(comparison, OutputFormat::kCsv, 0));
  // Both asked for: one below the other.
  const Comparison both = WithCurves({.by_step = true, .reach = 1.9});
  EXPECT_EQ(RenderComparison(both, OutputFormat::kTable, 80),
            RenderComparison(WithCurves({.by_step = true}), OutputFormat::kTable, 80) + "\n" +
                RenderComparison(comparison, OutputFormat::kTable, 80));
}

// Every fate of a seed, 500 times over: a number or a dash, never a NaN.
TEST(RenderComparison, FiveHundredVariants) {
  std::vector<VariantResults> variants = {
      {.name = "base", .baseline = "", .seeds = {Done(0, 5), Done(1, 6), Done(2, 7)}}};
  for (int i = 1; i < 500; ++i) {
    std::vector<SeedResult> seeds = {Done(0, 5 + 0.001 * (i % 7)), Done(1, 6), Done(2, 7.01)};
    if (i % 4 == 1) seeds.resize(1);
    if (i % 4 == 2) seeds = {{.seed = 0, .state = "FAILED"}, {.seed = 1, .state = "RUNNING"}};
    if (i % 4 == 3) seeds = {Done(0, 5), Done(1, 6), {.seed = 2, .diverged = true}};
    for (SeedResult& seed : seeds) {
      if (seed.value) seed.curve = {{0, *seed.value + 1}, {1000, *seed.value}};
    }
    variants.push_back({.name = "v" + std::to_string(i), .baseline = "base", .seeds = seeds});
  }
  for (const CompareOptions& options :
       {CompareOptions{}, CompareOptions{.by_step = true}, CompareOptions{.reach = 5.5}}) {
    CompareOptions asked = options;
    asked.metric = "austen/perplexity";
    const auto comparison =
        CompareResults({{.sweep = "s", .baseline = "base", .variants = variants}}, asked);
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    for (const OutputFormat format :
         {OutputFormat::kTable, OutputFormat::kJson, OutputFormat::kCsv, OutputFormat::kMarkdown}) {
      const std::string text = RenderComparison(*comparison, format, 80);
      EXPECT_THAT(text, Not(AnyOf(HasSubstr("nan"), HasSubstr("inf"))));
    }
  }
}

TEST(RenderComparison, SeveralSweepsHaveAColumnOfTheirOwn) {
  const std::vector<VariantResults> variants = {
      {.name = "A", .baseline = "", .seeds = {Done(0, 5), Done(1, 6)}}};
  const auto comparison =
      CompareResults({{.sweep = "first", .baseline = "", .variants = variants},
                      {.sweep = "second", .baseline = "", .variants = variants}},
                     {.metric = "austen/loss"});
  const std::string text = RenderComparison(*comparison, OutputFormat::kTable, 0);
  EXPECT_THAT(text, HasSubstr("sweep   variant  "));
  EXPECT_THAT(text, HasSubstr("second  A  "));
  EXPECT_THAT(text, HasSubstr("note: no baseline"));
}

}  // namespace
}  // namespace gyre
