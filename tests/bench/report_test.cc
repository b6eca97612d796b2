#include "bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gyre {
namespace {

using testing::HasSubstr;
using testing::Not;

StepSample Sample(double seconds, bool quiet) {
  return {.seconds = seconds, .processor = 2 * seconds, .causal = seconds / 2, .quiet = quiet};
}

CaseResult MadeUp(bool quiet) {
  CaseResult result{*FindBenchCase("S", "llama", "float32", 2), {}, {}};
  ContestantResult gyre{.name = "gyre"}, limit{.name = "limit"}, pytorch{.name = "pytorch"};
  gyre.samples = {Sample(0.2, quiet), Sample(0.2, quiet), Sample(9, false)};
  gyre.starts = {0.02}, gyre.peak_memory = 123'000'000;
  limit.samples = {Sample(0.16, quiet)};
  pytorch.absent = "there is no torch";
  result.contestants = {gyre, limit, pytorch};
  return result;
}

TEST(BenchReport, TheConventionForFloatingPointOperations) {
  // 4 layers of 4 x 256 x 256 + 3 x 256 x 1024 weights, 512 x 256 of the head.
  EXPECT_DOUBLE_EQ(FindBenchCase("S", "llama", "float32", 1)->FlopsPerToken(),
                   6.0 * (4 * (4 * 65536 + 3 * 262144) + 131072) + 12.0 * 4 * 256 * 256);
}

TEST(BenchReport, LoudSamplesCountOnlyWhereThereIsNoQuietOne) {
  const CaseResult quiet = MadeUp(true), loud = MadeUp(false);
  EXPECT_DOUBLE_EQ(SpreadOf(quiet.contestants[0].samples).median, 0.2);
  EXPECT_EQ(SpreadOf(quiet.contestants[0].samples).count, 2);
  EXPECT_TRUE(SpreadOf(quiet.contestants[0].samples).quiet);
  EXPECT_EQ(SpreadOf(loud.contestants[0].samples).count, 3);
  EXPECT_FALSE(SpreadOf(loud.contestants[0].samples).quiet);
  EXPECT_THAT(MarkdownTable({quiet}), Not(HasSubstr("!")));
  EXPECT_THAT(MarkdownTable({loud}), HasSubstr("10240! ("));
  EXPECT_THAT(CaseText(loud), HasSubstr("say little"));
}

TEST(BenchReport, SaysTheShareOfTheLimitAndWhoIsAbsent) {
  const std::string text = CaseText(MadeUp(true));
  EXPECT_THAT(text, HasSubstr("gyre reaches 80 % of the limit, 40 % of the causal one"));
  EXPECT_THAT(text, HasSubstr("pytorch  absent: there is no torch"));
  EXPECT_THAT(MarkdownTable({MadeUp(true)}),
              HasSubstr("| S llama float32 | 10240 (10240..10240) | 12800 (12800..12800) | 80 % | "
                        "25600 | 40 % |  |  | 123 MB | 0.02 s |"));
}

TEST(BenchReport, Quartiles) {
  const Spread spread = SpreadOf(std::vector<double>{5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(spread.low, 2);
  EXPECT_DOUBLE_EQ(spread.median, 3);
  EXPECT_DOUBLE_EQ(spread.high, 4);
}

TEST(BenchReport, CasesThatThereAreNot) {
  EXPECT_EQ(FindBenchCase("XL", "llama", "float32", 1).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_FALSE(FindBenchCase("S", "bert", "float32", 1).ok());
  EXPECT_FALSE(FindBenchCase("S", "llama", "float8", 1).ok());
  EXPECT_FALSE(FindBenchCase("S", "llama", "float32", 0).ok());
}

}  // namespace
}  // namespace gyre
