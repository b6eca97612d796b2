#include "results/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gyre {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

// Student 1908, hours of sleep gained with drug 2 over drug 1; R's `sleep`, t.test(..., paired =
// TRUE).
const std::vector<double> kSleep = {1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4};

TEST(StudentT, AgreesWithStudentsSleepData) {
  EXPECT_NEAR(Mean(kSleep), 1.58, 1e-12);
  const auto interval = StudentT(kSleep);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->t, 4.0621, 5e-5);
  EXPECT_EQ(interval->degrees_of_freedom, 9);
  EXPECT_NEAR(interval->p, 0.002833, 5e-7);
  EXPECT_NEAR(interval->low, 0.7001142, 5e-7);
  EXPECT_NEAR(interval->high, 2.4598858, 5e-7);
}

TEST(StudentT, UsesTheTableOfQuantiles) {
  // Two values -1 and 3: mean 1, standard error 2; the 97.5% quantile for 1 degree of freedom
  // is 12.7062, and t = 0.5 there has p = 1 - 2 atan(0.5)/pi.
  const auto two = StudentT({-1, 3});
  ASSERT_TRUE(two);
  EXPECT_NEAR(two->high, 1 + 2 * 12.7062, 1e-3);
  EXPECT_NEAR(two->low, 1 - 2 * 12.7062, 1e-3);
  EXPECT_NEAR(two->p, 0.704833, 1e-6);
  // Three values: 4.30265 for 2 degrees of freedom.
  const auto three = StudentT({1, 2, 3});
  ASSERT_TRUE(three);
  EXPECT_NEAR(three->high - 2, 4.30265 / std::sqrt(3.0), 1e-5);
}

TEST(StudentT, IsSymmetric) {
  std::vector<double> negated = kSleep;
  for (double& value : negated) value = -value;
  const auto interval = StudentT(negated);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->t, -4.0621, 5e-5);
  EXPECT_NEAR(interval->p, 0.002833, 5e-7);
  EXPECT_NEAR(interval->low, -2.4598858, 5e-7);
}

TEST(StudentT, SaysNothingWithoutVariance) {
  EXPECT_FALSE(StudentT({}));
  EXPECT_FALSE(StudentT({0.7}));
  EXPECT_FALSE(StudentT({0, 0, 0}));
  EXPECT_FALSE(StudentT({0.1, 0.1, 0.1}));  // whose mean is not 0.1 in doubles
}

TEST(StudentT, HoldsForVerySmallPValues) {
  const auto interval = StudentT({1, 1 + 1e-9, 1 - 1e-9, 1 + 2e-9, 1});
  ASSERT_TRUE(interval);
  EXPECT_GT(interval->p, 0);
  EXPECT_LT(interval->p, 1e-30);
}

// A value that is no number is nobody's interval.
TEST(StudentT, SaysNothingOfWhatIsNotFinite) {
  EXPECT_FALSE(StudentT({0.1, std::nan(""), 0.2}));
  EXPECT_FALSE(StudentT({0.1, std::numeric_limits<double>::infinity(), 0.2}));
}

// The example in the documentation of pingouin.multicomp(method="holm"), as R's p.adjust has it.
TEST(HolmAdjusted, AgreesWithPingouinAndR) {
  EXPECT_THAT(HolmAdjusted({0.50, 0.003, 0.32, 0.054, 0.0003}),
              Pointwise(DoubleNear(1e-12), {0.64, 0.012, 0.64, 0.162, 0.0015}));
  EXPECT_THAT(HolmAdjusted({0.01, 0.04, 0.20, 0.03, 0.005, 0.07}),
              Pointwise(DoubleNear(1e-12), {0.05, 0.12, 0.20, 0.12, 0.03, 0.14}));
}

TEST(HolmAdjusted, IsInOrderAtMostOneAndOfAnyNumber) {
  EXPECT_THAT(HolmAdjusted({}), ElementsAre());
  EXPECT_THAT(HolmAdjusted({0.03}), ElementsAre(0.03));
  EXPECT_THAT(HolmAdjusted({0.5, 0.6, 0.5}), ElementsAre(1, 1, 1));
  EXPECT_THAT(HolmAdjusted({0.02, 0.02}), ElementsAre(0.04, 0.04));
}

TEST(SampleStd, HasDivisorNMinusOne) {
  EXPECT_FALSE(SampleStd({}));
  EXPECT_FALSE(SampleStd({3}));
  EXPECT_THAT(SampleStd({2, 4, 4, 4, 5, 5, 7, 9}).value(), DoubleNear(2.138089935, 1e-9));
}

}  // namespace
}  // namespace gyre
