#include "analysis/logit_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gyre {
namespace {

constexpr size_t kFirstQuery = 2;  // before it, keys are of several kinds at once

KeyKind KindOf(size_t query, size_t key) {
  if (key == 0) return KeyKind::kFirst;
  if (key == query) return KeyKind::kOwn;
  return key + 1 == query ? KeyKind::kPrevious : KeyKind::kOthers;
}

}  // namespace

double LogitParts::Spread(size_t pair) const {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::vector<double>& of : means) {
    if (std::isnan(of[pair])) continue;
    low = std::min(low, of[pair]);
    high = std::max(high, of[pair]);
  }
  return low <= high ? high - low : 0;
}

LogitParts LogitPartsOf(int layer, int head, const AttentionTrace& trace, const ModelConfig& model,
                        const LayerPosition& position) {
  const auto heads = static_cast<size_t>(model.num_attention_heads);
  const auto kv_heads = static_cast<size_t>(model.num_key_value_heads);
  const auto size = static_cast<size_t>(model.head_dim), own = static_cast<size_t>(head);
  const size_t tokens = trace.log_sum_exp.size() / heads;
  const double scale = trace.scale > 0 ? trace.scale : 1 / std::sqrt(model.head_dim);
  const auto vector = [&](size_t token, size_t of) {
    return &trace.qkv[(token * (heads + 2 * kv_heads) + of) * size];
  };
  LogitParts parts{.layer = layer, .head = head, .tokens = static_cast<int>(tokens)};
  double counts[kKeyKinds] = {};
  const auto& pairs = position.rotation.pairs;
  for (std::vector<double>& of : parts.means) of.resize(pairs.size());
  for (size_t query = kFirstQuery; query < tokens; ++query) {
    const double* q = vector(query, own);
    const auto window = position.window > 0 ? static_cast<size_t>(position.window) : tokens;
    for (size_t key = query + 1 - std::min(window, query + 1); key <= query; ++key) {
      const double* k = vector(key, heads + own / (heads / kv_heads));
      const auto kind = static_cast<size_t>(KindOf(query, key));
      ++counts[kind];
      for (size_t pair = 0; pair < pairs.size(); ++pair) {
        const auto [a, b] = pairs[pair];
        parts.means[kind][pair] += scale * (q[a] * k[a] + q[b] * k[b]);
      }
    }
  }
  for (size_t kind = 0; kind < kKeyKinds; ++kind) {
    for (double& sum : parts.means[kind]) sum /= counts[kind];  // none: 0 / 0
  }
  return parts;
}

}  // namespace gyre
