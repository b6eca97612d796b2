#include "analysis/findings.h"

#include <gmock/gmock.h>

#include <cmath>

namespace gyre {
namespace {

using testing::DoubleEq;

LayerPosition Position(std::vector<double> frequencies) {
  LayerPosition position;
  position.rotation.frequencies = std::move(frequencies);
  return position;
}

TEST(Findings, KindsAreThoseOfTheCensus) {
  EXPECT_EQ(KindOf({.diagonal = 0.4, .previous = 0.1, .first = 0.4}), "positional");
  EXPECT_EQ(KindOf({.diagonal = 0.1, .previous = 0.5, .first = 0.6}), "first-token");
  EXPECT_EQ(KindOf({.diagonal = 0.39, .previous = 0.3, .first = 0.3}), "semantic");
  EXPECT_EQ(KindOf({.diagonal = std::nan(""), .previous = 0.5, .first = 0.1}), "");
}

TEST(Findings, SharesPeaksAndCensusByLayer) {
  StatisticsRecord record;
  record.frequency_norms = {{0, "q", 0, {3, 4, 0, 0}, {}},
                            {0, "q", 1, {1, 1, 1, 1}, {}},
                            {0, "k", 0, {1, 1, 8, 2}, {}},
                            {1, "q", 0, {1, 1, 1, 5}, {}},
                            {1, "k", 0, {0, 0, 0, 0}, {}}};
  record.logit_shares = {{0, 0, {1, 0, 1, 2}, {}, {}}};
  record.head_scores = {
      {0, 0, 0.9, 0.1, 0.1, 1, 1}, {0, 1, 0.1, 0.1, 0.8, 1, 1}, {1, 0, 0.1, 0.1, 0.1, 1, 1}};
  const Findings findings = FindIn(record, {Position({1, 0.1, 0.09, 0}), Position({0, 0, 0, 0})});
  ASSERT_EQ(findings.heads.size(), 3u);
  EXPECT_THAT(findings.heads[0].high_norms, DoubleEq(1));
  EXPECT_THAT(findings.heads[1].high_norms, DoubleEq(0.5));
  EXPECT_THAT(findings.heads[2].high_norms, DoubleEq(0));
  EXPECT_THAT(findings.heads[0].high_logits, DoubleEq(0.25));
  EXPECT_TRUE(std::isnan(findings.heads[1].high_logits));
  ASSERT_EQ(findings.layers.size(), 2u);
  EXPECT_EQ(findings.layers[0].positional, 1);
  EXPECT_EQ(findings.layers[0].first_token, 1);
  EXPECT_EQ(findings.layers[1].semantic, 1);
  EXPECT_EQ(findings.layers[0].queries.pair, 1);  // (3 + 1, 4 + 1, 1, 1)
  EXPECT_EQ(findings.layers[0].keys.pair, 2);
  EXPECT_EQ(findings.layers[0].keys.frequency, 0.09);
  EXPECT_EQ(findings.layers[0].keys.ratio, 4);  // of the upper median
  EXPECT_EQ(findings.layers[1].queries.pair, 3);
  EXPECT_EQ(findings.layers[1].keys.pair, -1);  // none is larger than another
  EXPECT_THAT(findings.layers[0].high_norms, DoubleEq(0.75));
}

TEST(Findings, RankCorrelations) {
  EXPECT_DOUBLE_EQ(RankCorrelation({1, 2, 3, 10}, {2, 3, 5, 6}), 1);
  EXPECT_DOUBLE_EQ(RankCorrelation({1, 2, 3}, {9, 5, 1}), -1);
  // With ties each has the mean rank: 0.5, 0.5, 2, 3 against 0, 1, 2, 3.
  EXPECT_NEAR(RankCorrelation({1, 1, 2, 3}, {1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-12);
  EXPECT_DOUBLE_EQ(RankCorrelation({1, 2, std::nan(""), 3}, {1, 2, 0, 3}), 1);
  EXPECT_TRUE(std::isnan(RankCorrelation({1, 2}, {1, 2})));
  EXPECT_TRUE(std::isnan(RankCorrelation({1, 1, 1}, {1, 2, 3})));
}

}  // namespace
}  // namespace gyre
