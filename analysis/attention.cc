#include "analysis/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/matrix_product.h"
#include "trainer/backend/cpu/processor.h"

namespace gyre {
namespace {

// Of queries, and of keys of statistics.
constexpr int kBlock = 64;

int64_t RoundUp(int64_t count) { return (count + cpu::kLanes - 1) / cpu::kLanes * cpu::kLanes; }

const cpu::Kernels& Kernels() {
  static const cpu::Kernels* const kernels = cpu::SupportedKernels().front();
  return *kernels;
}

}  // namespace

LayerAttention::LayerAttention(const ModelConfig& model, const ModelExtras& extras,
                               const LayerPosition& position, int length)
    : heads(model.num_attention_heads),
      kv_heads(model.num_key_value_heads),
      head_dim(model.head_dim),
      pairs(model.head_dim / 2),
      lanes(static_cast<int>(RoundUp(pairs))),
      window(position.window),
      scale(static_cast<float>(extras.query_scale > 0 ? extras.query_scale
                                                      : 1 / std::sqrt(model.head_dim))),
      softcap(static_cast<float>(extras.attention_softcap)),
      slopes(static_cast<size_t>(heads), 0.0f),
      coordinates(position.rotation.pairs) {
  const Rotation& rotation = position.rotation;
  for (size_t h = 0; h < position.alibi_slopes.size(); ++h) {
    slopes[h] = static_cast<float>(position.alibi_slopes[h]);
  }
  for (int t = 0; t < length; ++t) {
    for (size_t k = 0; k < rotation.pairs.size(); ++k) {
      const double amplitude = rotation.scaled[k] ? rotation.attention_factor : 1;
      const double angle = t * rotation.frequencies[k];
      cosine.push_back(static_cast<float>(amplitude * std::cos(angle)));
      sine.push_back(static_cast<float>(amplitude * std::sin(angle)));
    }
  }
}

HeadAttention::HeadAttention(const LayerAttention* layer, int length)
    : layer_(layer), stride_(RoundUp(length)) {
  const auto rows = static_cast<size_t>(length) * 2 * static_cast<size_t>(layer->lanes);
  queries_.resize(rows);
  keys_.resize(rows);
  values_.resize(std::max(rows, static_cast<size_t>(length) * size_t(layer->head_dim)));
  logits_.resize(static_cast<size_t>(kBlock * stride_));
  probabilities_.resize(logits_.size());
  log_sum_exp_.resize(static_cast<size_t>(length));
  sums_.resize(static_cast<size_t>(layer->lanes));
  first_visible_.resize(kBlock);
}

bool HeadAttention::Run(const float* qkv, int tokens, int head, float* output, HeadSums* sums,
                        AttentionTrace* trace) {
  const LayerAttention& layer = *layer_;
  const int group = layer.heads / layer.kv_heads, key_head = head / group;
  const bool leads = head % group == 0;
  const int64_t query_at = int64_t{head} * layer.head_dim;
  const int64_t key_at = int64_t{layer.heads + key_head} * layer.head_dim;
  const int64_t value_at = key_at + int64_t{layer.kv_heads} * layer.head_dim;
  tokens_ = tokens;
  if (leads) {
    Spread(qkv, value_at, &values_);
    AddNorms(values_, kValue, sums);
    if (trace != nullptr) Trace(values_, value_at, trace);
  }
  Spread(qkv, query_at, &queries_);
  Spread(qkv, key_at, &keys_);
  AddNorms(queries_, kQuery, sums);
  if (leads) AddNorms(keys_, kKey, sums);
  Rotate(&queries_);
  Rotate(&keys_);
  if (trace != nullptr) Trace(queries_, query_at, trace);
  if (trace != nullptr && leads) Trace(keys_, key_at, trace);
  for (int t = 0; t < tokens; ++t) {
    std::memcpy(values_.data() + int64_t{t} * layer.head_dim, qkv + t * layer.width() + value_at,
                static_cast<size_t>(layer.head_dim) * sizeof(float));
  }
  for (int first = 0; first < tokens; first += kBlock) {
    if (!Attend(first, std::min(kBlock, tokens - first), head, output, sums)) return false;
  }
  AddContributions(sums);
  for (size_t t = 0; trace != nullptr && t * size_t(layer.heads) < trace->log_sum_exp.size(); ++t) {
    trace->log_sum_exp[t * size_t(layer.heads) + size_t(head)] = log_sum_exp_[t];
  }
  return true;
}

void HeadAttention::Spread(const float* qkv, int64_t at, std::vector<float>* rows) const {
  const LayerAttention& layer = *layer_;
  float* row = rows->data();
  for (int t = 0; t < tokens_; ++t, row += 2 * layer.lanes) {
    const float* x = qkv + t * layer.width() + at;
    std::fill_n(row, 2 * layer.lanes, 0.0f);
    for (int k = 0; k < layer.pairs; ++k) {
      const auto [a, b] = layer.coordinates[static_cast<size_t>(k)];
      row[k] = x[a];
      row[layer.lanes + k] = x[b];
    }
  }
}

void HeadAttention::AddNorms(const std::vector<float>& rows, Tensor tensor, HeadSums* sums) {
  std::vector<double>& first = sums->first_norms[tensor];
  std::vector<double>& others = sums->other_norms[tensor];
  first.assign(static_cast<size_t>(layer_->pairs), 0);
  others.assign(static_cast<size_t>(layer_->pairs), 0);
  for (int t = 0, count = 1; t < tokens_; t += count) {
    count = t == 0 ? 1 : std::min(kBlock, tokens_ - t);
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    Kernels().add_norms(rows.data() + int64_t{2} * t * layer_->lanes, count, layer_->lanes,
                        sums_.data());
    std::vector<double>& to = t == 0 ? first : others;
    for (size_t k = 0; k < to.size(); ++k) to[k] += sums_[k];
  }
}

void HeadAttention::Rotate(std::vector<float>* rows) const {
  const LayerAttention& layer = *layer_;
  for (int t = 0; t < tokens_; ++t) {
    float* a = rows->data() + int64_t{2} * t * layer.lanes;
    float* b = a + layer.lanes;
    const float* cosine = layer.cosine.data() + int64_t{t} * layer.pairs;
    const float* sine = layer.sine.data() + int64_t{t} * layer.pairs;
    for (int k = 0; k < layer.pairs; ++k) {
      const float x = a[k], y = b[k];
      a[k] = x * cosine[k] - y * sine[k];
      b[k] = y * cosine[k] + x * sine[k];
    }
  }
}

void HeadAttention::Trace(const std::vector<float>& rows, int64_t at, AttentionTrace* trace) const {
  const LayerAttention& layer = *layer_;
  const size_t tokens = trace->log_sum_exp.size() / static_cast<size_t>(layer.heads);
  for (size_t t = 0; t < tokens; ++t) {
    double* to = trace->qkv.data() + t * static_cast<size_t>(layer.width()) + at;
    const float* row = rows.data() + 2 * t * static_cast<size_t>(layer.lanes);
    for (int k = 0; k < layer.pairs; ++k) {
      const auto [a, b] = layer.coordinates[static_cast<size_t>(k)];
      to[a] = row[k];
      to[b] = row[layer.lanes + k];
    }
  }
}

bool HeadAttention::Attend(int first, int queries, int head, float* output, HeadSums* sums) {
  const LayerAttention& layer = *layer_;
  const int64_t row = int64_t{2} * layer.lanes, out_stride = int64_t{layer.heads} * layer.head_dim;
  // Whole blocks of keys, so that there are few shapes of products.
  const int seen = layer.window > 0 ? std::max(0, first - layer.window + 1) : 0;
  const int key = seen / kBlock * kBlock, keys = first + queries - key;
  if (!cpu::Multiply(cpu::MatrixProduct<float, float>{
          .m = queries,
          .n = keys,
          .k = row,
          .a = {queries_.data() + first * row, row},
          .b = {keys_.data() + key * row, row, cpu::Layout::kTransposed},
          .c = logits_.data(),
          .c_stride = stride_})) {
    return false;
  }
  FinishLogits(first, queries, key, keys, layer.slopes[static_cast<size_t>(head)]);
  std::copy_n(logits_.data(), queries * stride_, probabilities_.data());
  for (int i = 0; i < queries; ++i) {
    const int visible = layer.window > 0 ? first + i - layer.window + 1 : 0;
    first_visible_[static_cast<size_t>(i)] = std::max(visible, key) - key;
  }
  Kernels().to_float.softmax({.scores = probabilities_.data(),
                              .stride = stride_,
                              .queries = queries,
                              .keys = keys,
                              .first = first_visible_.data(),
                              .last = first - key},
                             probabilities_.data(), log_sum_exp_.data() + first, 1);
  AddScores(first, queries, key, sums);
  return cpu::Multiply(cpu::MatrixProduct<float, float>{
      .m = queries,
      .n = layer.head_dim,
      .k = keys,
      .a = {probabilities_.data(), stride_},
      .b = {values_.data() + int64_t{key} * layer.head_dim, layer.head_dim},
      .c = output + first * out_stride + int64_t{head} * layer.head_dim,
      .c_stride = out_stride});
}

void HeadAttention::FinishLogits(int first, int queries, int key, int keys, float slope) {
  for (int i = 0; i < queries; ++i) {
    float* logits = logits_.data() + i * stride_;
    const int distance = first + i - key;
    for (int j = 0; j < keys; ++j) logits[j] *= layer_->scale;
    if (layer_->softcap > 0) {
      for (int j = 0; j < keys; ++j) {
        logits[j] = layer_->softcap * std::tanh(logits[j] / layer_->softcap);
      }
    }
    if (slope == 0) continue;
    for (int j = 0; j < keys; ++j) logits[j] -= slope * static_cast<float>(distance - j);
  }
}

// Probabilities of what a query does not see are 0.
void HeadAttention::AddScores(int first, int queries, int key, HeadSums* sums) const {
  for (int i = 0; i < queries; ++i) {
    const float* alpha = probabilities_.data() + i * stride_;
    const float* logits = logits_.data() + i * stride_;
    const int query = first + i, own = query - key;
    double mean_logit = 0, distance = 0;
    for (int j = first_visible_[static_cast<size_t>(i)]; j <= own; ++j) {
      mean_logit += static_cast<double>(alpha[j]) * logits[j];
      distance += static_cast<double>(alpha[j]) * (own - j);
    }
    sums->scores[HeadScore::kDiagonal] += alpha[own];
    if (own > 0) sums->scores[HeadScore::kPrevious] += alpha[own - 1];
    if (key == 0) sums->scores[HeadScore::kFirst] += alpha[0];
    sums->scores[HeadScore::kEntropy] += log_sum_exp_[static_cast<size_t>(query)] - mean_logit;
    sums->scores[HeadScore::kDistance] += distance;
  }
}

void HeadAttention::AddContributions(HeadSums* sums) {
  const auto pairs = static_cast<size_t>(layer_->pairs);
  sums->first_contributions.assign(pairs, 0);
  sums->other_contributions.assign(pairs, 0);
  for (int first = 0; first < tokens_; first += kBlock) {
    const int queries = std::min(kBlock, tokens_ - first);
    const int seen = layer_->window > 0 ? std::max(0, first - layer_->window + 1) : 0;
    if (seen == 0) AddBlock(first, queries, 0, 1, &sums->first_contributions);
    // Blocks of keys begin behind the first one.
    for (int key = std::max(seen - 1, 0) / kBlock * kBlock + 1; key < first + queries;
         key += kBlock) {
      AddBlock(first, queries, key, std::min(kBlock, first + queries - key),
               &sums->other_contributions);
    }
  }
}

// The kernel's scores know no softcap: they are made of probabilities above.
void HeadAttention::AddBlock(int first, int queries, int key, int keys,
                             std::vector<double>* contributions) {
  float ignored[HeadScore::kCount] = {};
  std::fill(sums_.begin(), sums_.end(), 0.0f);
  Kernels().add_statistics({.query_rows = queries_.data() + int64_t{2} * first * layer_->lanes,
                            .key_rows = keys_.data() + int64_t{2} * key * layer_->lanes,
                            .pairs = layer_->lanes,
                            .first_query = first,
                            .queries = queries,
                            .first_key = key,
                            .keys = keys,
                            .window = layer_->window,
                            .log_sum_exp = log_sum_exp_.data() + first,
                            .log_stride = 1,
                            .scale = layer_->scale},
                           sums_.data(), ignored);
  for (size_t k = 0; k < contributions->size(); ++k) {
    (*contributions)[k] += static_cast<double>(sums_[k]) * layer_->scale;
  }
}

}  // namespace gyre
