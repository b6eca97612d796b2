#include "analysis/alignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace gyre {

std::vector<HeadAlignment> AlignmentsOf(int layer, const AttentionTrace& trace,
                                        const ModelConfig& model) {
  const auto heads = static_cast<size_t>(model.num_attention_heads);
  const auto kv_heads = static_cast<size_t>(model.num_key_value_heads);
  const auto size = static_cast<size_t>(model.head_dim);
  const size_t tokens = std::min<size_t>(trace.log_sum_exp.size() / heads, kAlignedTokens);
  const double scale = trace.scale > 0 ? trace.scale : 1 / std::sqrt(model.head_dim);
  const auto vector = [&](size_t token, size_t head) {
    return std::span(trace.qkv).subspan((token * (heads + 2 * kv_heads) + head) * size, size);
  };
  const auto product = [](std::span<const double> a, std::span<const double> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  std::vector<HeadAlignment> alignments;
  for (size_t head = 0; head < heads; ++head) {
    HeadAlignment& of = alignments.emplace_back();
    of.layer = layer;
    of.head = static_cast<int>(head);
    const size_t key_head = heads + head / (heads / kv_heads);
    for (size_t t = 0; t < tokens; ++t) {
      const auto q = vector(t, head), k = vector(t, key_head);
      of.bounds.push_back(scale * std::sqrt(product(q, q) * product(k, k)));
      of.own.push_back(scale * product(q, k));
      of.previous.push_back(t == 0 ? std::numeric_limits<double>::quiet_NaN()
                                   : scale * product(q, vector(t - 1, key_head)));
    }
  }
  return alignments;
}

}  // namespace gyre
