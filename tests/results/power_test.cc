#include "results/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "results/statistics.h"

namespace gyre {
namespace {

// G*Power 3.1's manual, "Means: Difference between two dependent means (matched pairs)": the
// example of Cohen (1969, p. 48), dz = 0.421637, 50 pairs, two-sided: critical t = 2.009575, power
// 0.832114.
TEST(PairedTPower, AgreesWithTheManualOfGPower) {
  EXPECT_NEAR(PairedTPower(50, 0.421637), 0.832114, 1e-6);
}

// The table that users of G*Power know: 199, 34 and 15 pairs for Cohen's small, medium and large
// effects, with actual power 0.801691, 0.807778 and 0.821311.
TEST(PairsNeeded, AgreesWithGPowerForCohensEffects) {
  EXPECT_EQ(PairsNeeded(0.2), 199);
  EXPECT_EQ(PairsNeeded(0.5), 34);
  EXPECT_EQ(PairsNeeded(0.8), 15);
  EXPECT_NEAR(PairedTPower(199, 0.2), 0.801691, 2e-6);
  EXPECT_NEAR(PairedTPower(34, 0.5), 0.807778, 2e-6);
  EXPECT_NEAR(PairedTPower(15, 0.8), 0.821311, 2e-6);
}

TEST(PairsNeeded, IsTheFewestWithTheWantedPower) {
  for (const double effect : {0.09, 0.15, 0.33, 0.7, 1.0, 1.9, 3.0, 8.0}) {
    const auto needed = PairsNeeded(effect);
    ASSERT_TRUE(needed) << effect;
    EXPECT_GE(PairedTPower(*needed, effect), kPower) << effect;
    EXPECT_TRUE(*needed == 2 || PairedTPower(*needed - 1, effect) < kPower) << effect;
    EXPECT_EQ(PairsNeeded(-effect), needed) << effect;
  }
}

TEST(PairsNeeded, KnowsItsEnds) {
  EXPECT_EQ(PairsNeeded(0), std::nullopt);
  EXPECT_EQ(PairsNeeded(0.088), std::nullopt);
  EXPECT_EQ(PairsNeeded(0.0888), 998);
  EXPECT_EQ(PairsNeeded(1e6), 2);
  EXPECT_EQ(PairsNeeded(1e300), 2);
}

TEST(PairedTPower, HoldsAtItsEnds) {
  EXPECT_NEAR(PairedTPower(2, 0), 0.05, 1e-9);
  EXPECT_NEAR(PairedTPower(1000, 0), 0.05, 1e-9);
  EXPECT_NEAR(PairedTPower(1000, 1e-9), 0.05, 1e-9);
  for (const int pairs : {2, 3, 10, 1000}) {
    EXPECT_EQ(PairedTPower(pairs, 1e6), 1);
    EXPECT_EQ(PairedTPower(pairs, std::numeric_limits<double>::infinity()), 1);
    // Up to where it is taken as certain it has grown to that.
    EXPECT_NEAR(PairedTPower(pairs, 119.9 / std::sqrt(pairs)), 1, 1e-9);
  }
}

TEST(ResolvableEffect, IsTheInverseOfThePower) {
  for (const int pairs : {2, 3, 5, 10, 100, 1000}) {
    EXPECT_NEAR(PairedTPower(pairs, ResolvableEffect(pairs)), kPower, 1e-9) << pairs;
  }
  EXPECT_GT(ResolvableEffect(2), 11);  // two seeds see next to nothing
}

// The noncentral t is of what a person would simulate: seeds, differences, the test.
TEST(PairedTPower, IsHowOftenTheTestFindsTheDifference) {
  constexpr int kTrials = 10000;
  const Random random(11, "test/power");
  for (const auto& [pairs, effect] : {std::pair{3, 2.0}, {5, 1.0}, {10, 1.0}}) {
    int found = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> differences;
      for (int i = 0; i < pairs; ++i) {
        differences.push_back(effect + random.Normal(static_cast<uint64_t>(trial), i));
      }
      if (StudentT(differences)->p < 0.05) ++found;
    }
    const double power = PairedTPower(pairs, effect);
    const double deviation = std::sqrt(power * (1 - power) / kTrials);
    EXPECT_NEAR(found / static_cast<double>(kTrials), power, 4 * deviation) << pairs;
  }
}

}  // namespace
}  // namespace gyre
