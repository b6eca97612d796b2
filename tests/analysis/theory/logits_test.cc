#include "analysis/theory/logits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/analysis/theory/synthetic.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// What attention computes: both rotated to their own positions.
TEST(PairLogit, IsTheProductOfBothRotatedToTheirPositions) {
  EncodingConfig partial{.p = 0.5, .spacing = "respaced", .pairing = "interleaved"};
  partial.scaling = {.type = "yarn", .factor = 4, .original_max_position_embeddings = 64};
  for (const EncodingConfig& encoding : {EncodingConfig{}, EncodingConfig{.p = 0.75}, partial}) {
    const auto rotation = RotationOfHead(encoding, 16, 64);
    ASSERT_TRUE(rotation.ok()) << rotation.status();
    const Random random(1, "test");
    const auto q = Normals(random, 0, 0, 16), k = Normals(random, 0, 16, 16);
    for (const auto& [i, j] : {std::pair(0, 0), std::pair(9, 2), std::pair(1000, 1)}) {
      auto rotated_q = Turned(*rotation, q, i), rotated_k = Turned(*rotation, k, j);
      for (size_t pair = 0; pair < 8; ++pair) {
        if (!rotation->scaled[pair]) continue;
        const auto [a, b] = rotation->pairs[pair];
        for (const int c : {a, b}) {
          rotated_q[static_cast<size_t>(c)] *= rotation->attention_factor;
          rotated_k[static_cast<size_t>(c)] *= rotation->attention_factor;
        }
      }
      EXPECT_NEAR(PairLogit(*rotation, q, k).At(i - j), Dot(rotated_q, rotated_k), 1e-11);
    }
  }
}

TEST(PairLogit, IsTheSameAtEveryDistanceWithoutRotation) {
  const Random random(2, "test");
  const auto q = Normals(random, 0, 0, 8), k = Normals(random, 0, 8, 8);
  const PairLogit logit(RopeRotation(8, 10000, 0), q, k);
  for (const double distance : {0.0, 1.0, 777.0}) EXPECT_NEAR(logit.At(distance), Dot(q, k), 1e-15);
}

TEST(RotationOfHead, NamesWhatIsWrong) {
  EXPECT_THAT(RotationOfHead({}, 7, 1).status().message(), HasSubstr("odd"));
  EXPECT_THAT(RotationOfHead({.theta = 1}, 8, 1).status().message(), HasSubstr("theta"));
}

TEST(PStar, IsTheRecordedOne) {
  ASSERT_EQ(Synthetic()["p_star"].size(), 27u);
  for (const auto& recorded : Synthetic()["p_star"]) {
    EXPECT_NEAR(PStar(recorded["L"], recorded["theta"]), recorded["value"], 1e-11);
  }
}

// At p* the slowest pair that is kept is the last to complete a turn.
TEST(PStar, IsTheShareOfPairsThatCompleteATurn) {
  for (const double theta : {1e4, 5e5}) {
    const Rotation rotation = RopeRotation(256, theta);
    int complete = 0;
    for (const double f : rotation.frequencies) complete += Turns(f, 8192) >= 1 ? 1 : 0;
    EXPECT_EQ(complete, static_cast<int>(std::floor(PStar(8192, theta) * 128)) + 1) << theta;
  }
}

// The paper: the slowest channel turns about 2.04 times over 128k tokens (it takes 1/theta for that
// channel's frequency), and pair 119 of Gemma's 128 about a quarter of a turn over 8000 tokens.
TEST(Turns, AreThoseThatThePaperQuotes) {
  EXPECT_NEAR(Turns(1.0 / 10000, 128000), 2.04, 0.005);
  const std::vector<double> frequencies = RopeRotation(256).frequencies;
  EXPECT_NEAR(Turns(frequencies[127], 128000), 2.19, 0.005);
  EXPECT_NEAR(frequencies[118], 2.05e-4, 0.005e-4);
  EXPECT_NEAR(frequencies[118] * 8000, 1.64, 0.005);
  EXPECT_NEAR(Turns(frequencies[118], 8000), 0.26, 0.005);
}

}  // namespace
}  // namespace gyre
