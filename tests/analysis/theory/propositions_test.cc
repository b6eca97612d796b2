#include "analysis/theory/propositions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/analysis/theory/synthetic.h"

namespace gyre {
namespace {

std::vector<double> RandomPsi(int head_dim, uint64_t number) {
  return Normals(Random(5, "test/psi"), number, 0, head_dim);
}

TEST(ChosenDistance, LogitsAreTheRecordedOnes) {
  const auto& recorded = Synthetic()["any_distance"];
  const Rotation rotation = RopeRotation(recorded["d"], recorded["theta"]);
  const std::vector<double> psi = recorded["psi"];
  ASSERT_EQ(recorded["curves"].size(), 5u);
  for (const auto& curve : recorded["curves"]) {
    const int r = curve["r"], last = static_cast<int>(curve["logits"].size()) - 1;
    const auto logits = LogitsOfChosenDistance(rotation, psi, r, last);
    for (size_t m = 0; m < logits.size(); ++m) {
      EXPECT_NEAR(logits[m], curve["logits"][m], 1e-9) << r << " " << m;
    }
    EXPECT_EQ(FindMaximum(rotation, psi, r, last).argmax, curve["argmax"]);
  }
}

TEST(ChosenDistance, MaximumIsThereAndOnlyThere) {
  for (const double p : {1.0, 0.25}) {
    const Rotation rotation = RopeRotation(64, 10000, p);
    for (uint64_t number = 0; number < 5; ++number) {
      const auto psi = RandomPsi(64, number);
      double norm = 0;
      for (const double x : psi) norm += x * x;
      for (const int r : {0, 1, 2, 7, 100, 1000}) {
        const MaximumAtDistance found = FindMaximum(rotation, psi, r, 1500);
        EXPECT_EQ(found.argmax, r);
        EXPECT_NEAR(found.largest, norm, 1e-11 * norm);
        EXPECT_GT(found.margin, 0);
        EXPECT_LT(found.margin, 2 * norm);
        const auto logits = LogitsOfChosenDistance(rotation, psi, r, 1500);
        EXPECT_NEAR(logits[static_cast<size_t>(found.runner_up)], norm - found.margin,
                    1e-11 * norm);
      }
    }
  }
}

// 1 - cos(1e-9) is below what a double resolves beside 1; it counts all the same.
TEST(ChosenDistance, MarginIsExactWhereLogitsRoundToTheSame) {
  Rotation slow = RopeRotation(2);
  slow.frequencies = {1e-9};
  const std::vector<double> psi = {3, 4};
  const MaximumAtDistance found = FindMaximum(slow, psi, 2, 4);
  EXPECT_NEAR(found.margin / (25 * 1e-18 / 2), 1, 1e-9);
}

TEST(ChosenDistance, IsNoneWithoutRotation) {
  EXPECT_EQ(FindMaximum(RopeRotation(8, 10000, 0), RandomPsi(8, 0), 3, 9).margin, 0);
}

TEST(GaussianLogits, HaveMeanZeroAndTheSameSpreadAtEveryDistance) {
  const std::vector<int> distances = {0, 1, 10, 1000, 100000};
  for (const double p : {1.0, 0.75, 0.0}) {
    const auto sampled = SampleGaussianLogits(RopeRotation(64, 10000, p), distances, 4000, 11);
    ASSERT_EQ(sampled.size(), distances.size());
    for (const GaussianLogits& at : sampled) {
      EXPECT_LT(std::abs(at.mean), 4 * at.standard_error) << at.distance;
      EXPECT_NEAR(at.standard_error, 8 / std::sqrt(4000), 0.01);
      EXPECT_EQ(at.expected_std, 8);
      EXPECT_NEAR(at.std, 8, 4 * 8 / std::sqrt(2 * 4000)) << at.distance;
    }
  }
}

TEST(GaussianLogits, CountTheAttentionFactorOfThePairsThatHaveIt) {
  EncodingConfig encoding{.p = 0.5, .spacing = "respaced"};
  encoding.scaling = {.type = "yarn", .factor = 4, .original_max_position_embeddings = 64};
  const auto rotation = RotationOfHead(encoding, 32, 64);
  ASSERT_TRUE(rotation.ok()) << rotation.status();
  const double squared = std::pow(0.1 * std::log(4.0) + 1, 2);
  const std::vector<int> distances = {17};
  const auto sampled = SampleGaussianLogits(*rotation, distances, 4000, 1);
  EXPECT_NEAR(sampled[0].expected_std, std::sqrt(2 * (8 * squared * squared + 8)), 1e-12);
  EXPECT_NEAR(sampled[0].std, sampled[0].expected_std, 0.3);
}

TEST(RepeatedToken, GetsAtMostHalfWithoutPositions) {
  const Rotation nope = RopeRotation(16, 10000, 0);
  for (uint64_t number = 0; number < 200; ++number) {
    const double scale = std::exp2(static_cast<double>(number % 12));
    auto query = RandomPsi(16, 3 * number);
    for (double& x : query) x *= scale;
    const auto key = RandomPsi(16, 3 * number + 1), first = RandomPsi(16, 3 * number + 2);
    const RepeatedTokenAttention weights = AttendRepeatedToken(nope, query, key, first);
    EXPECT_EQ(weights.itself, weights.previous);
    EXPECT_LE(weights.itself, 0.5);
    EXPECT_NEAR(weights.itself + weights.previous + weights.first, 1, 1e-15);
  }
}

TEST(RepeatedToken, GetsAllOfItWithRotationAndANormThatGrows) {
  auto psi = RandomPsi(16, 1);
  const auto first = RandomPsi(16, 2);
  double last = 0;
  for (double& x : psi) x /= 4;
  for (int doubling = 0; doubling < 6; ++doubling) {
    const double itself = AttendRepeatedToken(RopeRotation(16), psi, psi, first).itself;
    EXPECT_GT(itself, last);
    last = itself;
    for (double& x : psi) x *= 2;
  }
  EXPECT_GT(last, 0.99);
}

}  // namespace
}  // namespace gyre
