#include "trainer/statistics/means.h"

#include <utility>

#include "trainer/backend/backend.h"

namespace gyre {
namespace {

using Row = std::vector<double>;

// Pair by pair of one head: (a + b) / count.
Row Mean(const Row& a, const Row& b, size_t head, size_t pairs, double count) {
  Row mean(pairs);
  for (size_t k = 0; k < pairs; ++k) mean[k] = (a[head * pairs + k] + b[head * pairs + k]) / count;
  return mean;
}
Row Mean(const Row& a, size_t head, size_t pairs, double count) {
  Row mean(pairs);
  for (size_t k = 0; k < pairs; ++k) mean[k] = a[head * pairs + k] / count;
  return mean;
}

void AppendNorms(int layer, const AttentionSums& sums, const ModelConfig& model,
                 std::vector<FrequencyNorms>* norms) {
  const auto pairs = static_cast<size_t>(model.head_dim / 2);
  const double tokens = sums.first_tokens + sums.other_tokens;
  size_t at = 0;  // heads of q, then k, then v
  for (const auto& [tensor, heads] :
       {std::pair("q", model.num_attention_heads), std::pair("k", model.num_key_value_heads),
        std::pair("v", model.num_key_value_heads)}) {
    for (int head = 0; head < heads; ++head, ++at) {
      norms->push_back({layer, tensor, head,
                        Mean(sums.first_norms, sums.other_norms, at, pairs, tokens),
                        Mean(sums.other_norms, at, pairs, sums.other_tokens)});
    }
  }
}

LogitShares SharesOf(int layer, int head, const AttentionSums& sums, size_t pairs) {
  const auto at = static_cast<size_t>(head);
  const Row& first = sums.first_contributions;
  const Row& others = sums.other_contributions;
  return {layer, head, Mean(first, others, at, pairs, sums.seen_keys),
          Mean(first, at, pairs, sums.seen_keys), Mean(others, at, pairs, sums.seen_keys)};
}

HeadScores ScoresOf(int layer, int head, const AttentionSums& sums) {
  const double* scores = sums.scores.data() + static_cast<size_t>(head) * HeadScore::kCount;
  const double queries = sums.first_tokens + sums.other_tokens;
  return {.layer = layer,
          .head = head,
          .diagonal = scores[HeadScore::kDiagonal] / queries,
          .previous = scores[HeadScore::kPrevious] / sums.other_tokens,
          .first = scores[HeadScore::kFirst] / queries,
          .entropy = scores[HeadScore::kEntropy] / queries,
          .distance = scores[HeadScore::kDistance] / queries};
}

}  // namespace

std::vector<AttentionSums> ZeroSums(const ModelConfig& model) {
  const auto heads = static_cast<size_t>(model.num_attention_heads);
  const auto kv_heads = static_cast<size_t>(model.num_key_value_heads);
  const auto pairs = static_cast<size_t>(model.head_dim / 2);
  AttentionSums sums;
  sums.first_norms.resize((heads + 2 * kv_heads) * pairs);
  sums.other_norms = sums.first_norms;
  sums.first_contributions.resize(heads * pairs);
  sums.other_contributions = sums.first_contributions;
  sums.scores.resize(heads * HeadScore::kCount);
  return std::vector<AttentionSums>(static_cast<size_t>(model.num_hidden_layers), sums);
}

void AppendMeans(const std::vector<AttentionSums>& sums, const ModelConfig& model,
                 const StatisticsConfig& statistics, StatisticsRecord* record) {
  const auto pairs = static_cast<size_t>(model.head_dim / 2);
  for (size_t l = 0; l < sums.size(); ++l) {
    const int layer = static_cast<int>(l);
    if (statistics.Collects(kFrequencyNorms)) {
      AppendNorms(layer, sums[l], model, &record->frequency_norms);
    }
    for (int head = 0; head < model.num_attention_heads; ++head) {
      if (statistics.Collects(kLogitShares)) {
        record->logit_shares.push_back(SharesOf(layer, head, sums[l], pairs));
      }
      if (statistics.Collects(kHeadScores)) {
        record->head_scores.push_back(ScoresOf(layer, head, sums[l]));
      }
    }
  }
}

}  // namespace gyre
