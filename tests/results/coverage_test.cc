// What the intervals and the correction promise, held against sweeps in which the truth is known.

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "results/statistics.h"

namespace gyre {
namespace {

constexpr int kTrials = 10000;
// Of a share of kTrials that is truly 5%: a right build fails here once in 16,000.
const double kTolerance = 4 * std::sqrt(0.05 * 0.95 / kTrials);

/// Losses of one seed: what the seed makes easy or hard is in all variants alike, the rest is each
/// one's own.
double Loss(const Random& random, int trial, int seed, int variant, double effect) {
  const auto step = static_cast<uint64_t>(trial);
  const double common = 0.02 * random.Normal(step, static_cast<uint64_t>(1000 * seed));
  return 2.3 + common + effect +
         0.005 * random.Normal(step, static_cast<uint64_t>(1000 * seed + 1 + variant));
}

std::vector<double> Differences(const Random& random, int trial, int seeds, int variant,
                                double effect) {
  std::vector<double> differences;
  for (int seed = 0; seed < seeds; ++seed) {
    differences.push_back(Loss(random, trial, seed, variant, effect) -
                          Loss(random, trial, seed, 0, 0));
  }
  return differences;
}

TEST(Coverage, TheIntervalHoldsTheTrueDifferenceIn95Of100Sweeps) {
  const Random random(1, "test/coverage");
  for (const int seeds : {2, 3, 5, 10}) {
    int missed = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto interval = StudentT(Differences(random, trial, seeds, 1, 0.003));
      ASSERT_TRUE(interval);
      if (interval->low > 0.003 || interval->high < 0.003) ++missed;
    }
    EXPECT_NEAR(missed / static_cast<double>(kTrials), 0.05, kTolerance) << seeds << " seeds";
  }
}

// Six variants that are all as good as the baseline, which all six share, so that their differences
// hang together: Holm's method may be wrong about any of them in 5 of 100 sweeps at most. Taken one
// by one, some would look different in 15 or more.
TEST(Coverage, HolmIsWrongAboutAnyVariantInAtMost5Of100Sweeps) {
  const Random random(2, "test/family");
  int corrected = 0, one_by_one = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> p;
    for (int variant = 1; variant <= 6; ++variant) {
      p.push_back(StudentT(Differences(random, trial, 5, variant, 0))->p);
    }
    bool any = false, any_corrected = false;
    for (const double value : p) any |= value < 0.05;
    for (const double value : HolmAdjusted(p)) any_corrected |= value < 0.05;
    one_by_one += any;
    corrected += any_corrected;
  }
  EXPECT_LT(corrected / static_cast<double>(kTrials), 0.05 + kTolerance);
  EXPECT_GT(corrected, 0);
  EXPECT_GT(one_by_one / static_cast<double>(kTrials), 0.15);
}

// Where some variants do differ, it still may not be wrong about those that don't.
TEST(Coverage, HolmHoldsBesideRealDifferences) {
  const Random random(3, "test/family");
  int wrong = 0, found = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> p;
    for (int variant = 1; variant <= 6; ++variant) {
      p.push_back(StudentT(Differences(random, trial, 5, variant, variant <= 3 ? 0.1 : 0))->p);
    }
    const std::vector<double> adjusted = HolmAdjusted(p);
    bool any = false;
    for (int variant = 4; variant <= 6; ++variant) any |= adjusted[variant - 1] < 0.05;
    wrong += any;
    found += adjusted[0] < 0.05;
  }
  EXPECT_LT(wrong / static_cast<double>(kTrials), 0.05 + kTolerance);
  EXPECT_GT(found / static_cast<double>(kTrials), 0.9);
}

}  // namespace
}  // namespace gyre
