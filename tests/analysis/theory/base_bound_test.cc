#include "analysis/theory/base_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/analysis/theory/synthetic.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

LadderOfTheta Ladder(int head_dim, double p = 1) {
  return [=](double theta) -> Result<std::vector<double>> {
    return RopeRotation(head_dim, theta, p).frequencies;
  };
}

TEST(CosineSums, AreSumsOfCosines) {
  const std::vector<double> frequencies = RopeRotation(32).frequencies;
  const auto sums = CosineSums(frequencies, 3000);
  ASSERT_EQ(sums.size(), 3001u);
  for (int m = 0; m <= 3000; m += 7) {
    double sum = 0;
    for (const double f : frequencies) sum += std::cos(m * f);
    EXPECT_NEAR(sums[static_cast<size_t>(m)], sum, 1e-11) << m;
  }
  const LowestSum lowest = FindLowestSum(frequencies, 3000);
  EXPECT_EQ(lowest.at, std::min_element(sums.begin(), sums.end()) - sums.begin());
  EXPECT_EQ(lowest.value, sums[static_cast<size_t>(lowest.at)]);
  const auto negative = std::find_if(sums.begin(), sums.end(), [](double sum) { return sum < 0; });
  EXPECT_EQ(FirstNegativeSum(frequencies, 3000), negative - sums.begin());
}

TEST(BaseBound, IsTheRecordedOne) {
  ASSERT_EQ(Synthetic()["base_bound"].size(), 8u);
  for (const auto& recorded : Synthetic()["base_bound"]) {
    const auto bound = FindBaseBound(Ladder(recorded["d"]), recorded["L"]);
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_EQ(bound->theta, recorded["theta"]);
    EXPECT_EQ(bound->theta_before, recorded["theta_before"]);
    EXPECT_EQ(bound->lowest.at, recorded["lowest_at"]);
    EXPECT_NEAR(bound->lowest.value, recorded["lowest"], 1e-9);
    EXPECT_EQ(bound->lowest_before.at, recorded["lowest_before_at"]);
    EXPECT_NEAR(bound->lowest_before.value, recorded["lowest_before"], 1e-9);
  }
}

// README.md of the reference: for d = 128 and L = 2048 about 11600 holds, 12000 and 15000 fail.
TEST(BaseBound, IsNotMonotone) {
  const auto holds = [](double theta) {
    return !FirstNegativeSum(RopeRotation(128, theta).frequencies, 2048);
  };
  EXPECT_TRUE(holds(11600));
  EXPECT_FALSE(holds(12000));
  EXPECT_FALSE(holds(15000));
  EXPECT_TRUE(holds(16000));
}

TEST(BaseBound, IsLowerWherePairsAreNotRotated) {
  const auto all = FindBaseBound(Ladder(64), 1000), some = FindBaseBound(Ladder(64, 0.5), 1000);
  ASSERT_TRUE(all.ok() && some.ok());
  EXPECT_LT(some->theta, all->theta);
  const auto none = FindBaseBound(Ladder(64, 0), 1000);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->theta, 10);
  EXPECT_EQ(none->theta_before, 0);
  EXPECT_EQ(none->lowest.value, 32);
}

TEST(BaseBound, MayNotExist) {
  EXPECT_THAT(FindBaseBound(Ladder(2), 10).status().message(), HasSubstr("no theta"));
}

// Published: 4.3e3 for 1k, 8.4e4 for 8k, 6.4e5 for 32k; the fit goes through their middle.
TEST(FittedBase, IsNearThePublishedBounds) {
  EXPECT_NEAR(FittedBase(1000) / 4.3e3, 0.75, 0.05);
  EXPECT_NEAR(FittedBase(8192) / 8.4e4, 1.19, 0.05);
  EXPECT_NEAR(FittedBase(32768) / 6.4e5, 1.49, 0.05);
}

}  // namespace
}  // namespace gyre
