#include "analysis/logit_parts.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "analysis/alignment.h"

namespace gyre {
namespace {

using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;
using testing::IsNan;

ModelConfig TwoHeads() {
  ModelConfig model;
  model.num_attention_heads = 2;
  model.num_key_value_heads = 1;
  model.head_dim = 4;
  return model;
}

const LayerPosition kHalves{{{1, 0.1}, 1, {{0, 2}, {1, 3}}, {true, true}}, {}, 0};

TEST(LogitParts, MeansByKindOfKey) {
  AttentionTrace trace;
  trace.scale = 1;
  // Queries of head 1 are (1, 2, 3, 4) everywhere; the key of token t is t + 1 in all coordinates.
  const int tokens = 5;
  for (int t = 0; t < tokens; ++t) {
    for (const double x : {9, 9, 9, 9, 1, 2, 3, 4}) trace.qkv.push_back(x);
    for (int i = 0; i < 4; ++i) trace.qkv.push_back(t + 1);
    for (int i = 0; i < 4; ++i) trace.qkv.push_back(7);
  }
  trace.log_sum_exp.resize(2 * tokens);
  const LogitParts parts = LogitPartsOf(3, 1, trace, TwoHeads(), kHalves);
  EXPECT_EQ(parts.tokens, 5);
  // Pair (0, 2) supplies 4 times the key, (1, 3) 6 times. Queries are tokens 2, 3 and 4.
  EXPECT_THAT(parts.means[0], ElementsAre(DoubleEq(4), DoubleEq(6)));
  EXPECT_THAT(parts.means[1], ElementsAre(DoubleEq(4 * 4), DoubleEq(6 * 4)));
  EXPECT_THAT(parts.means[2], ElementsAre(DoubleEq(4 * 3), DoubleEq(6 * 3)));
  // Token 3 has the key of 1 beside them, token 4 those of 1 and 2.
  EXPECT_THAT(parts.means[3], ElementsAre(DoubleEq(4 * 7 / 3.), DoubleEq(6 * 7 / 3.)));
  EXPECT_DOUBLE_EQ(parts.Spread(1), 18);
  // With a window of three tokens, only token 2 sees the first, and only 3 and 4 one of the others.
  LayerPosition windowed = kHalves;
  windowed.window = 3;
  const LogitParts seen = LogitPartsOf(3, 1, trace, TwoHeads(), windowed);
  EXPECT_THAT(seen.means[0], ElementsAre(DoubleEq(4), DoubleEq(6)));
  EXPECT_THAT(seen.means[3], ElementsAre(DoubleEq(4 * 5 / 2.), DoubleEq(6 * 5 / 2.)));
}

TEST(LogitParts, PairsAddUpToTheLogits) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  AttentionTrace trace;
  for (int i = 0; i < 3 * 16; ++i) trace.qkv.push_back(normal(random));
  trace.log_sum_exp.resize(6);
  const LogitParts parts = LogitPartsOf(0, 0, trace, TwoHeads(), kHalves);
  const HeadAlignment aligned = AlignmentsOf(0, trace, TwoHeads())[0];
  EXPECT_NEAR(parts.means[1][0] + parts.means[1][1], aligned.own[2], 1e-12);
  EXPECT_NEAR(parts.means[2][0] + parts.means[2][1], aligned.previous[2], 1e-12);
  // Of three tokens there are no others.
  EXPECT_THAT(parts.means[3], Each(IsNan()));
  EXPECT_GT(parts.Spread(0), 0);
}

}  // namespace
}  // namespace gyre
