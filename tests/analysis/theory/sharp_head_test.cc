#include "analysis/theory/sharp_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/analysis/theory/synthetic.h"

namespace gyre {
namespace {

SharpHead OneFrequency(double frequency, int length, double eps = 0.01) {
  return EvenlyShared({frequency}, 64, length, eps);
}

TEST(NormBudget, IsTheRecordedOne) {
  ASSERT_EQ(Synthetic()["sharp_head"].size(), 14u);
  for (const auto& recorded : Synthetic()["sharp_head"]) {
    const SharpHead head =
        EvenlyShared({recorded["g"]}, recorded["d"], recorded["N"], recorded["eps"]);
    const auto expect_near = [&](double value, const char* name) {
      EXPECT_NEAR(value / recorded[name].get<double>(), 1, 1e-6) << recorded;
    };
    expect_near(NormBudget(head, SharpPattern::kDiagonal), "diagonal");
    expect_near(NormBudget(head, SharpPattern::kPrevious), "previous");
    expect_near(SufficientBudget(head), "diagonal_sufficient");
  }
}

TEST(NormBudget, GivesTheAttentionThatWasAskedFor) {
  const std::vector<double> ladder = RopeRotation(64).frequencies;
  for (const double eps : {0.5, 0.1, 1e-6}) {
    for (const SharpPattern pattern : {SharpPattern::kDiagonal, SharpPattern::kPrevious}) {
      const SharpHead head = EvenlyShared(ladder, 64, 300, eps);
      const double norm = NormBudget(head, pattern);
      EXPECT_NEAR(SharpAttention(head, pattern, norm), 1 - eps, 1e-9 * eps + 1e-14);
      EXPECT_LT(SharpAttention(head, pattern, 0.99 * norm), 1 - eps);
    }
    EXPECT_GE(SufficientBudget(EvenlyShared(ladder, 64, 300, eps)),
              NormBudget(EvenlyShared(ladder, 64, 300, eps), SharpPattern::kDiagonal));
  }
}

// What the authors mean by "given a fixed norm budget the highest frequencies are the most useful":
// where no pair completes a turn, S grows as 1 / f^2.
TEST(NormBudget, GrowsWithTheSquareOfTheWavelength) {
  for (const SharpPattern pattern : {SharpPattern::kDiagonal, SharpPattern::kPrevious}) {
    const double fast = NormBudget(OneFrequency(1e-3, 64), pattern);
    EXPECT_NEAR(NormBudget(OneFrequency(1e-4, 64), pattern) / fast, 100, 1) << fast;
  }
}

// Alone, a pair that has turned fully comes back to where it was: 44 radians are 7 turns but 0.018.
TEST(NormBudget, OfASingleFastPairGrowsWithLengthAndOfTheLadderHardly) {
  const auto single = [](int length) {
    return NormBudget(OneFrequency(1, length), SharpPattern::kDiagonal);
  };
  EXPECT_GT(single(64), 100 * single(8));
  const auto ladder = [](int length) {
    return NormBudget(EvenlyShared(RopeRotation(64).frequencies, 64, length, 0.01),
                      SharpPattern::kDiagonal);
  };
  EXPECT_LT(ladder(4096), 2 * ladder(8));
  EXPECT_LE(ladder(8), ladder(4096));
}

TEST(NormBudget, IsInfiniteWithoutRotation) {
  EXPECT_EQ(NormBudget(OneFrequency(0, 8), SharpPattern::kDiagonal), INFINITY);
  EXPECT_EQ(NormBudget(OneFrequency(0, 8), SharpPattern::kPrevious), INFINITY);
  EXPECT_EQ(SufficientBudget(OneFrequency(0, 8)), INFINITY);
}

TEST(NormBudget, IsNothingWhereThereIsNothingToBeat) {
  for (const double frequency : {0.0, 1.0}) {
    EXPECT_EQ(NormBudget(OneFrequency(frequency, 1), SharpPattern::kDiagonal), 0);
    EXPECT_EQ(SufficientBudget(OneFrequency(frequency, 1)), 0);
    // Nine other keys at equal logits leave a tenth, which is all that is asked for.
    EXPECT_EQ(NormBudget(OneFrequency(frequency, 10, 0.9), SharpPattern::kDiagonal), 0);
  }
}

}  // namespace
}  // namespace gyre
