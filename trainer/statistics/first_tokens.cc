#include "trainer/statistics/first_tokens.h"

#include <cmath>

namespace gyre {
namespace {

// One layer's numbers, with names for where they are.
class Layer {
 public:
  Layer(int number, const AttentionTrace& trace, const LayerPosition& position,
        const ModelConfig& model)
      : number_(number),
        trace_(trace),
        position_(position),
        heads_(static_cast<size_t>(model.num_attention_heads)),
        kv_heads_(static_cast<size_t>(model.num_key_value_heads)),
        size_(static_cast<size_t>(model.head_dim)),
        tokens_(trace.log_sum_exp.size() / heads_) {}

  // `first` is that of all heads, those of q, k and v in a row, which the tensor's own begin with.
  TokenNorms Norms(const char* tensor, size_t first, size_t head) const {
    TokenNorms norms{number_, tensor, static_cast<int>(head), {}};
    const Rotation& rotation = position_.rotation;
    for (size_t t = 0; t < tokens_; ++t) {
      const double* x = HeadOf(t, first + head);
      std::vector<double>& row = norms.norms.emplace_back();
      for (size_t k = 0; k < rotation.pairs.size(); ++k) {
        const auto [a, b] = rotation.pairs[k];
        const bool longer = rotation.scaled[k] && first + head < heads_ + kv_heads_;
        row.push_back(std::hypot(x[a], x[b]) / (longer ? rotation.attention_factor : 1));
      }
    }
    return norms;
  }

  AttentionMap Map(size_t head) const {
    AttentionMap map{number_, static_cast<int>(head), {}};
    const size_t key_head = heads_ + head / (heads_ / kv_heads_);
    const double slope = position_.alibi_slopes.empty() ? 0 : position_.alibi_slopes[head];
    for (size_t i = 0; i < tokens_; ++i) {
      std::vector<double>& row = map.weights.emplace_back(tokens_, 0.0);
      for (size_t j = 0; j <= i; ++j) {
        if (position_.window > 0 && i - j >= static_cast<size_t>(position_.window)) continue;
        double logit = 0;
        for (size_t c = 0; c < size_; ++c) logit += HeadOf(i, head)[c] * HeadOf(j, key_head)[c];
        logit *= trace_.scale > 0 ? trace_.scale : 1 / std::sqrt(static_cast<double>(size_));
        if (trace_.softcap > 0) logit = trace_.softcap * std::tanh(logit / trace_.softcap);
        logit -= slope * static_cast<double>(i - j);
        row[j] = std::exp(logit - trace_.log_sum_exp[i * heads_ + head]);
      }
    }
    return map;
  }

 private:
  const double* HeadOf(size_t token, size_t head) const {
    return trace_.qkv.data() + (token * (heads_ + 2 * kv_heads_) + head) * size_;
  }

  const int number_;
  const AttentionTrace& trace_;
  const LayerPosition& position_;
  const size_t heads_, kv_heads_, size_, tokens_;
};

}  // namespace

void AppendFirstTokens(const std::vector<AttentionTrace>& traces,
                       const std::vector<LayerPosition>& positions, const ModelConfig& model,
                       StatisticsRecord* record) {
  const auto heads = static_cast<size_t>(model.num_attention_heads);
  const auto kv_heads = static_cast<size_t>(model.num_key_value_heads);
  for (size_t l = 0; l < traces.size(); ++l) {
    if (traces[l].qkv.empty()) continue;
    const Layer layer(static_cast<int>(l), traces[l], positions[l], model);
    const auto append = [&](const char* tensor, size_t first, size_t count) {
      for (size_t head = 0; head < count; ++head) {
        record->token_norms.push_back(layer.Norms(tensor, first, head));
      }
    };
    append("q", 0, heads);
    append("k", heads, kv_heads);
    append("v", heads + kv_heads, kv_heads);
    for (size_t head = 0; head < heads; ++head) record->attention_maps.push_back(layer.Map(head));
  }
}

}  // namespace gyre
