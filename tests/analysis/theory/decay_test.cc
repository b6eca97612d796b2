#include "analysis/theory/decay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/analysis/theory/synthetic.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

std::vector<double> Mean(const DecaySpec& spec) {
  const auto curve = ComputeDecay(spec);
  EXPECT_TRUE(curve.ok()) << curve.status();
  return curve.ok() ? curve->mean : std::vector<double>();
}

double RootMeanSquare(const std::vector<double>& values, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += values[i] * values[i];
  return std::sqrt(sum / static_cast<double>(end - begin));
}

TEST(Decay, OfConstantVectorsIsTheRecordedOne) {
  const auto& recorded = Synthetic()["decay"];
  ASSERT_EQ(recorded["curves"].size(), 6u);
  for (const auto& curve : recorded["curves"]) {
    const auto values = Mean({.rotation = RopeRotation(curve["d"], curve["theta"])});
    for (size_t i = 0; i < recorded["distances"].size(); ++i) {
      const size_t distance = recorded["distances"][i];
      EXPECT_NEAR(values[distance], curve["values"][i], 1e-10) << curve["d"] << " " << distance;
    }
  }
}

// Figure 2a as it is plotted, with d = 1024, which the paper does not name.
TEST(Decay, OfConstantVectorsIsThatOfThePaper) {
  const auto values = Mean({.rotation = RopeRotation(1024)});
  EXPECT_EQ(values[0], 1);
  // Read from the plot: about 0.46 and 0.18. Where it does not ripple, the sum is within 0.001 of
  // its integral, (Ci(r) - Ci(r / theta)) / ln(theta), which is 0.4368 for r = 100.
  EXPECT_NEAR(values[100], 0.4368, 0.001);
  EXPECT_NEAR(values[100], 0.46, 0.03);
  EXPECT_NEAR(values[1000], 0.18, 0.02);
  const auto [low, high] = std::minmax_element(values.begin() + 4900, values.end());
  EXPECT_NEAR(*low, -0.030, 0.0015);
  EXPECT_NEAR(*high, 0.060, 0.0015);
}

// Figure 2b: its spread of about 0.17 takes d of 32 or so where logits are divided by d.
TEST(Decay, OfFreshPairsIsNoiseThatDoesNotDecay) {
  const auto values =
      Mean({.rotation = RopeRotation(32), .vectors = DecayVectors::kFreshPair, .seed = 3});
  const double all = RootMeanSquare(values, 0, 5001);
  EXPECT_NEAR(all, std::sqrt(1.0 / 32), 0.005);
  EXPECT_NEAR(RootMeanSquare(values, 0, 1000) / RootMeanSquare(values, 4000, 5000), 1, 0.1);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GT(*low, -1);
  EXPECT_LT(*low, -0.5);
  EXPECT_LT(*high, 1);
  EXPECT_GT(*high, 0.5);
}

// Figure 9: over draws of the pair, the logit is as large at each distance as at any other.
TEST(Decay, OfOnePairIsAsWideAtEachDistance) {
  const auto curve = ComputeDecay({.rotation = RopeRotation(64),
                                   .vectors = DecayVectors::kOnePair,
                                   .unit = DecayUnit::kSqrtDim,
                                   .last_distance = 300,
                                   .draws = 400});
  ASSERT_TRUE(curve.ok()) << curve.status();
  for (const size_t distance : {0, 1, 10, 100, 300}) {
    EXPECT_NEAR(curve->mean[distance], 0, 4 / std::sqrt(400)) << distance;
    EXPECT_NEAR(curve->std[distance], 1, 4 / std::sqrt(2 * 400)) << distance;
  }
}

TEST(Decay, HasOnePairForAllDistancesOrAFreshOneAtEach) {
  DecaySpec spec{.rotation = RopeRotation(16, 10000, 0), .last_distance = 3, .seed = 1};
  spec.vectors = DecayVectors::kOnePair;
  const auto one = Mean(spec);
  EXPECT_EQ(one, std::vector<double>(4, one[0]));
  spec.vectors = DecayVectors::kFreshPair;
  const auto fresh = Mean(spec);
  EXPECT_EQ(fresh[0], one[0]);
  EXPECT_NE(fresh[1], fresh[0]);
}

TEST(Decay, UnitsDivideTheSameLogits) {
  DecaySpec spec{.rotation = RopeRotation(16),
                 .vectors = DecayVectors::kOnePair,
                 .unit = DecayUnit::kNone,
                 .last_distance = 5};
  const auto plain = Mean(spec);
  spec.unit = DecayUnit::kDim;
  EXPECT_DOUBLE_EQ(Mean(spec)[5], plain[5] / 16);
  spec.unit = DecayUnit::kSqrtDim;
  EXPECT_DOUBLE_EQ(Mean(spec)[5], plain[5] / 4);
  spec.unit = DecayUnit::kOrigin;
  EXPECT_DOUBLE_EQ(Mean(spec)[5], plain[5] / std::abs(plain[0]));
  EXPECT_EQ(std::abs(Mean(spec)[0]), 1);
}

TEST(Decay, IsTheSameToTheBitForASeedAndAnotherForAnother) {
  for (const auto vectors : {DecayVectors::kFreshPair, DecayVectors::kOnePair}) {
    DecaySpec spec{
        .rotation = RopeRotation(32), .vectors = vectors, .last_distance = 50, .randomized = 99};
    const auto first = Mean(spec);
    EXPECT_EQ(Mean(spec), first);
    spec.seed = 1;
    EXPECT_NE(Mean(spec), first);
  }
}

TEST(Decay, RandomizedPositionsFromNoMoreThanThereAreAreThePlainOnes) {
  DecaySpec spec{.rotation = RopeRotation(32), .last_distance = 50, .randomized = 51};
  const auto randomized = Mean(spec);
  spec.randomized = 0;
  EXPECT_EQ(randomized, Mean(spec));
}

// Figure 8a: the more positions there are to sample from, the faster the decay.
TEST(Decay, IsFasterWithRandomizedPositions) {
  DecaySpec spec{.rotation = RopeRotation(128), .draws = 8};
  double last = Mean(spec)[300];
  for (const int64_t from : {10000, 20000, 50000}) {
    spec.randomized = from;
    const double value = Mean(spec)[300];
    EXPECT_LT(value, last - 0.02) << from;
    last = value;
  }
}

TEST(Decay, RefusesWhatCannotBe) {
  const Rotation rotation = RopeRotation(8);
  EXPECT_EQ(ComputeDecay({.rotation = rotation, .draws = 0}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(ComputeDecay({.rotation = rotation, .last_distance = -1}).status().code(),
            StatusCode::kInvalidArgument);
  const Status few =
      ComputeDecay({.rotation = rotation, .last_distance = 9, .randomized = 9}).status();
  EXPECT_THAT(few.message(), HasSubstr("take 10 different positions, and there are 9"));
}

// Su et al., Figure 2: d = 128, from (d/2 + 1) / 2 at distance 0 downwards.
TEST(RoformerBound, BeginsAtItsLargestAndFalls) {
  const auto bound = RoformerBound(RopeRotation(128).frequencies, 250);
  EXPECT_DOUBLE_EQ(bound[0], 32.5);
  EXPECT_EQ(*std::max_element(bound.begin(), bound.end()), bound[0]);
  EXPECT_LT(bound[50], 16);
  EXPECT_LT(bound[250], bound[50]);
}

// |q^T R^(-m) k| <= max |h_(i+1) - h_i| sum |S_(i+1)|, with h_i the products of the pairs.
TEST(RoformerBound, BoundsTheLogit) {
  const Rotation rotation = RopeRotation(32);
  const auto bound = RoformerBound(rotation.frequencies, 40);
  const Random random(7, "test");
  const auto q = Normals(random, 0, 0, 32), k = Normals(random, 0, 32, 32);
  std::vector<std::pair<double, double>> products;
  for (const auto& [first, second] : rotation.pairs) {
    const auto a = static_cast<size_t>(first), b = static_cast<size_t>(second);
    products.emplace_back(q[a] * k[a] + q[b] * k[b], q[a] * k[b] - q[b] * k[a]);
  }
  products.emplace_back(0, 0);
  double steepest = 0;
  for (size_t i = 0; i + 1 < products.size(); ++i) {
    steepest = std::max(steepest, std::hypot(products[i + 1].first - products[i].first,
                                             products[i + 1].second - products[i].second));
  }
  for (int m = 0; m <= 40; ++m) {
    EXPECT_LE(std::abs(PairLogit(rotation, q, k).At(m)),
              steepest * bound[static_cast<size_t>(m)] * 16 + 1e-9);
  }
}

}  // namespace
}  // namespace gyre
