// Theorem 5.3 of Barbero et al. (arXiv 2410.06205), built by hand and put through the real model
// and its statistics: under RoPE a head may look at its own token or at the one before alone, and
// without a rotation (Proposition 5.2) none can.

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "tests/trainer/data/made_dataset.h"
#include "tests/trainer/data/temporary_home.h"
#include "trainer/backend/create_backend.h"
#include "trainer/collect_statistics.h"

namespace gyre {
namespace {

constexpr int kTokens = 24, kHeads = 3, kHeadDim = 8, kHidden = 24, kVocabulary = 257;
constexpr int kDiagonal = 0, kPrevious = 1, kUniform = 2;

class SharpHeadsTest : public TemporaryHomeTest {
 protected:
  SharpHeadsTest() {
    ModelConfig& model = config_.model;
    model.num_hidden_layers = 1;
    model.hidden_size = kHidden;
    model.intermediate_size = 8;
    model.num_attention_heads = model.num_key_value_heads = kHeads;
    model.head_dim = kHeadDim;
    config_.data.context = kTokens;
    config_.statistics = {
        .every = 1, .sequences = 2, .collect = {kFrequencyNorms, kLogitShares, kHeadScores}};
  }

  // |psi|^2 that is enough for a weight of 1 - epsilon everywhere: the fastest frequency turns by a
  // radian a token, and the nearest that another distance comes to a whole turn is what is left.
  static double EnoughNorm(double epsilon) {
    double least = 2;
    for (int t = 1; t < kTokens; ++t) least = std::min(least, 1 - std::cos(t));
    return std::sqrt(kHeadDim) * std::log((kTokens - 1) * (1 - epsilon) / epsilon) / least;
  }

  // The first number of every embedding is 1, the others differ from token to token, with one norm:
  // what follows the norm begins with the same number for all tokens.
  static std::vector<float> Embeddings() {
    const Random random(1, "embeddings");
    std::vector<float> table;
    for (uint64_t token = 0; token < kVocabulary; ++token) {
      table.push_back(1);
      for (uint64_t i = 1; i < kHidden; ++i) table.push_back(random.Below(2, token, i) ? 1 : -1);
    }
    return table;
  }

  // Rows of a projection that take that first number alone: `a` and `b` are what the two
  // coordinates of the fastest pair become in each head.
  static std::vector<float> Projection(const std::vector<std::pair<double, double>>& psi) {
    std::vector<float> weight(kHeads * kHeadDim * kHidden);
    for (size_t head = 0; head < kHeads; ++head) {
      weight[head * kHeadDim * kHidden] = static_cast<float>(psi[head].first);
      weight[(head * kHeadDim + kHeadDim / 2) * kHidden] = static_cast<float>(psi[head].second);
    }
    return weight;
  }

  StatisticsRecord Collect() {
    const auto hash =
        MakeDataset(home_, {"the quick brown fox jumps over the lazy dog, and so on"});
    const Dataset dataset = *Dataset::Open(home_, hash);
    const Windows windows = *Windows::Create(&dataset, kTokens);
    const auto backend = *CreateBackend("cpu", 1);
    const auto model =
        *Model::Create(config_.model, *ResolvePositions(config_.position, config_.model, kTokens),
                       backend.get(), 2, kTokens, /*training=*/false);
    EXPECT_TRUE(model->InitializeWeights(1, 1).ok());
    const double size = std::sqrt(EnoughNorm(0.005));
    const auto load = [&](const std::string& name, const std::vector<float>& values) {
      EXPECT_TRUE(model->Load(TensorKind::kWeight, name, values).ok()) << name;
    };
    load("model.embed_tokens.weight", Embeddings());
    load("model.layers.0.self_attn.q_proj.weight", Projection({{size, 0}, {size, 0}, {size, 0}}));
    load("model.layers.0.self_attn.k_proj.weight",
         Projection({{size, 0}, {size * std::cos(1), size * std::sin(1)}, {0, 0}}));
    auto record = CollectStatistics(config_, 0, windows, 2, Ranks(), model.get());
    EXPECT_TRUE(record.ok()) << record.status();
    return *std::move(record);
  }

  JobConfig config_;
};

TEST_F(SharpHeadsTest, UnderRopeAHeadCanBeDiagonalOrLookAtThePreviousToken) {
  const StatisticsRecord record = Collect();
  const HeadScores& diagonal = record.head_scores[kDiagonal];
  EXPECT_GT(diagonal.diagonal, 0.99);
  EXPECT_LT(diagonal.previous, 0.01);
  EXPECT_LT(diagonal.distance, 0.1);
  EXPECT_LT(diagonal.entropy, 0.05);
  const HeadScores& previous = record.head_scores[kPrevious];
  EXPECT_GT(previous.previous, 0.99);
  EXPECT_NEAR(previous.diagonal, 1.0 / kTokens, 0.01);  // the first token has no other
  EXPECT_NEAR(previous.first, 2.0 / kTokens, 0.01);     // and is the second's previous
  // Only the fastest pair has a say.
  for (const int head : {kDiagonal, kPrevious}) {
    const LogitShares& shares = record.logit_shares[static_cast<size_t>(head)];
    EXPECT_GT(shares.contributions[0], 100);
    for (size_t k = 1; k < kHeadDim / 2; ++k) EXPECT_EQ(shares.contributions[k], 0);
    const FrequencyNorms& norms = record.frequency_norms[static_cast<size_t>(head)];
    EXPECT_NEAR(norms.norms[0], std::sqrt(EnoughNorm(0.005)), 1e-3);
    EXPECT_EQ(norms.norms[1], 0);
  }
}

TEST_F(SharpHeadsTest, WithoutARotationTheSameHeadsLookEverywhereAlike) {
  config_.position.common.type = "nope";
  const StatisticsRecord record = Collect();
  double diagonal = 0, entropy = 0;
  for (int i = 1; i <= kTokens; ++i) {
    diagonal += 1.0 / i / kTokens;
    entropy += std::log(i) / kTokens;
  }
  for (const int head : {kDiagonal, kPrevious, kUniform}) {
    const HeadScores& scores = record.head_scores[static_cast<size_t>(head)];
    EXPECT_NEAR(scores.diagonal, diagonal, 1e-4);
    EXPECT_NEAR(scores.first, diagonal, 1e-4);
    EXPECT_NEAR(scores.previous, (diagonal * kTokens - 1) / (kTokens - 1), 1e-4);
    EXPECT_NEAR(scores.entropy, entropy, 1e-4);
    EXPECT_NEAR(scores.distance, (kTokens - 1) / 4.0, 1e-3);
  }
}

}  // namespace
}  // namespace gyre
