#include "trainer/statistics/means.h"

#include <gmock/gmock.h>

#include <cmath>

#include "trainer/backend/backend.h"

namespace gyre {
namespace {

using testing::ElementsAre;

ModelConfig OneLayer() {
  ModelConfig model;
  model.num_hidden_layers = 1;
  model.num_attention_heads = 2;
  model.num_key_value_heads = 1;
  model.head_dim = 4;
  return model;
}

// 2 rows of 3 tokens: 2 first and 4 other tokens, 12 pairs of a query and a key.
std::vector<AttentionSums> Sums() {
  std::vector<AttentionSums> sums = ZeroSums(OneLayer());
  AttentionSums& layer = sums[0];
  layer.first_tokens = 2;
  layer.other_tokens = 4;
  layer.seen_keys = 12;
  layer.first_norms = {2, 4, 6, 8, 10, 12, 14, 16};
  layer.other_norms = {4, 2, 6, 4, 8, 6, 10, 8};
  layer.first_contributions = {12, 24, 36, 48};
  layer.other_contributions = {24, 0, 12, 60};
  layer.scores = {1, 2, 3, 4, 5, 6, 8, 12, 18, 24};
  return sums;
}

StatisticsRecord Means(const std::vector<AttentionSums>& sums,
                       const std::vector<std::string>& collect) {
  StatisticsRecord record;
  AppendMeans(sums, OneLayer(), {.collect = collect}, &record);
  return record;
}

TEST(MeansTest, NormsAreOverTokensWithAndWithoutTheFirst) {
  const StatisticsRecord record = Means(Sums(), {kFrequencyNorms});
  ASSERT_EQ(record.frequency_norms.size(), 4u);  // two heads of q, one of k, one of v
  const FrequencyNorms& second_q = record.frequency_norms[1];
  EXPECT_EQ(second_q.tensor, "q");
  EXPECT_EQ(second_q.head, 1);
  EXPECT_THAT(second_q.norms, ElementsAre(12 / 6.0, 12 / 6.0));
  EXPECT_THAT(second_q.norms_without_first, ElementsAre(6 / 4.0, 4 / 4.0));
  EXPECT_EQ(record.frequency_norms[2].tensor, "k");
  const FrequencyNorms& v = record.frequency_norms[3];
  EXPECT_EQ(v.tensor, "v");
  EXPECT_EQ(v.head, 0);
  EXPECT_THAT(v.norms, ElementsAre(24 / 6.0, 24 / 6.0));
}

TEST(MeansTest, ContributionsAreSplitByTheFirstKey) {
  const StatisticsRecord record = Means(Sums(), {kLogitShares});
  ASSERT_EQ(record.logit_shares.size(), 2u);
  const LogitShares& shares = record.logit_shares[1];
  EXPECT_EQ(shares.head, 1);
  EXPECT_THAT(shares.contributions, ElementsAre(4, 9));
  EXPECT_THAT(shares.first, ElementsAre(3, 4));
  EXPECT_THAT(shares.others, ElementsAre(1, 5));
}

TEST(MeansTest, ScoresAreOverQueriesAndThePreviousTokenOverThoseThatHaveOne) {
  const StatisticsRecord record = Means(Sums(), {kHeadScores});
  ASSERT_EQ(record.head_scores.size(), 2u);
  const HeadScores& scores = record.head_scores[1];
  EXPECT_EQ(scores.diagonal, 1);
  EXPECT_EQ(scores.previous, 2);
  EXPECT_EQ(scores.first, 2);
  EXPECT_EQ(scores.entropy, 3);
  EXPECT_EQ(scores.distance, 4);
}

TEST(MeansTest, OnlyWhatIsAskedForIsThere) {
  const StatisticsRecord record = Means(Sums(), {kTokenNorms});
  EXPECT_TRUE(record.frequency_norms.empty());
  EXPECT_TRUE(record.logit_shares.empty());
  EXPECT_TRUE(record.head_scores.empty());
}

TEST(MeansTest, AMeanOverNothingIsNotANumber) {
  std::vector<AttentionSums> sums = Sums();
  sums[0].other_tokens = 0;  // windows of one token
  sums[0].other_norms.assign(8, 0);
  const StatisticsRecord record = Means(sums, {kFrequencyNorms, kHeadScores});
  EXPECT_TRUE(std::isnan(record.frequency_norms[0].norms_without_first[0]));
  EXPECT_EQ(record.frequency_norms[0].norms[0], 1);
  EXPECT_FALSE(std::isfinite(record.head_scores[0].previous));
  EXPECT_EQ(ToJson(record)["head_scores"][0]["previous"], nullptr);
}

TEST(MeansTest, EveryNumberIsVisitedOnce) {
  std::vector<AttentionSums> sums = Sums();
  size_t count = 0;
  double total = 0;
  sums[0].ForEach([&](double& value) {
    ++count;
    total += value;
  });
  EXPECT_EQ(count, 3u + 8 + 8 + 4 + 4 + 2 * HeadScore::kCount);
  EXPECT_EQ(total, 18.0 + 72 + 48 + 120 + 96 + 83);
}

}  // namespace
}  // namespace gyre
