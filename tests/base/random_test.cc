#include "base/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "base/philox.h"

namespace gyre {
namespace {

// Known answers of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(Philox4x32(0, 0, 0),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint64_t ones = ~uint64_t{0};
  EXPECT_EQ(Philox4x32(ones, ones, ones),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, DependsOnEverything) {
  std::set<uint64_t> seen;
  for (const uint64_t seed : {0, 1}) {
    for (const char* purpose : {"a", "b"}) {
      for (const uint64_t step : {0, 1}) {
        for (const uint64_t index : {0, 1}) seen.insert(Random(seed, purpose).Bits(step, index));
      }
    }
  }
  EXPECT_EQ(seen.size(), 16u);
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  const Random random(3, "test");
  const int n = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.Normal(0, i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));  // five standard errors
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2.0 / n));
}

// Places across 2^32, a length that is no whole number of blocks, and enough numbers that some are
// too close to the middle between two floats for the fast way to decide.
TEST(Random, ManyNormalsAreTheOnesOfEachPlace) {
  const Random random(5, "weights");
  std::vector<float> values(1000003);
  for (const double scale : {0.02, 1.0, 0.0, 1e-43, 1e38}) {
    const uint64_t first = (uint64_t{1} << 32) - 1000;
    random.ScaledNormals(7, first, scale, values);
    const size_t stride = scale == 0.02 ? 1 : 101;
    for (size_t i = 0; i < values.size(); i += stride) {
      const auto exact = static_cast<float>(scale * random.Normal(7, first + i));
      ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(exact)) << scale << i;
    }
  }
}

TEST(Random, EveryLevelOfInstructionsGivesTheSameNormals) {
  const Random random(6, "weights");
  std::vector<float> plain(300001), values(plain.size());
  random.ScaledNormals(3, 5, 0.02, plain, /*level=*/0);
  for (size_t i = 0; i < plain.size(); i += 17) {
    ASSERT_EQ(plain[i], static_cast<float>(0.02 * random.Normal(3, 5 + i))) << i;
  }
  for (int level = 1; level < Random::NormalsLevels(); ++level) {
    random.ScaledNormals(3, 5, 0.02, values, level);
    EXPECT_EQ(values, plain) << level;
  }
}

TEST(PermutedIndex, IsABijectionThatDependsOnSeedAndStep) {
  for (const uint64_t n : {1, 2, 3, 7, 64, 1000}) {
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < n; ++i) seen.insert(PermutedIndex(Random(1, "order"), 0, n, i));
    EXPECT_EQ(seen.size(), n);
    EXPECT_LT(*seen.rbegin(), n);
  }
  int same = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    same += PermutedIndex(Random(1, "order"), 0, 1000, i) ==
            PermutedIndex(Random(1, "order"), 1, 1000, i);
  }
  EXPECT_LT(same, 20);
}

}  // namespace
}  // namespace gyre
