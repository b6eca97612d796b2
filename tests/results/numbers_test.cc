#include "results/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gyre {
namespace {

TEST(Numbers, TwoSignificantDigitsOfTheSpread) {
  EXPECT_EQ(DecimalsFor(0.08), 3);
  EXPECT_EQ(DecimalsFor(0.12), 2);
  EXPECT_EQ(DecimalsFor(1.5), 1);
  EXPECT_EQ(DecimalsFor(150), 0);
  EXPECT_EQ(DecimalsFor(1e-12), 6);
  EXPECT_EQ(DecimalsFor(0), 3);
  EXPECT_EQ(DecimalsFor(NAN), 3);
}

TEST(Numbers, FixedHasNoNegativeZero) {
  EXPECT_EQ(FormatFixed(-0.0004, 3), "0.000");
  EXPECT_EQ(FormatFixed(-0.0006, 3), "-0.001");
  EXPECT_EQ(FormatSigned(0.69, 2), "+0.69");
  EXPECT_EQ(FormatSigned(-0.69, 2), "-0.69");
  EXPECT_EQ(FormatSigned(-0.001, 2), "0.00");
  EXPECT_EQ(FormatFixed(std::numeric_limits<double>::infinity(), 2), "inf");
  EXPECT_EQ(FormatFixed(1e300, 2), "1e+300");
}

TEST(Numbers, CountsHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(999.7), "1k");
  EXPECT_EQ(FormatCount(1600000), "1.6M");
  EXPECT_EQ(FormatCount(1601536), "1.6M");
  EXPECT_EQ(FormatCount(20e9), "20G");
  EXPECT_EQ(FormatCount(31250), "31.2k");
}

TEST(Numbers, ProbabilitiesAndDurations) {
  EXPECT_EQ(FormatP(0.0028331), "0.0028");
  EXPECT_EQ(FormatP(0.41), "0.41");
  EXPECT_EQ(FormatP(1), "1");
  EXPECT_EQ(FormatP(1e-9), "<0.0001");
  EXPECT_EQ(FormatDuration(-3), "0s");
  EXPECT_EQ(FormatDuration(59), "59s");
  EXPECT_EQ(FormatDuration(130), "2m 10s");
  EXPECT_EQ(FormatDuration(3900), "1h 05m");
  EXPECT_EQ(FormatDuration(100 * 3600), "4d 4h");
}

}  // namespace
}  // namespace gyre
