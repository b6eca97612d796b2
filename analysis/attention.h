#pragma once

// One head's attention over one window, and what statistics say of it on the way: everything that
// docs/statistics.md defines, exact. A head's coordinates are laid out by pairs (first coordinates,
// then second ones), which changes no product, so that nothing below knows the pairing. Products go
// through oneDNN and loops over pairs through the CPU backend's kernels; a head of a window runs on
// one thread, a block of queries at a time.

#include <cstdint>
#include <vector>

#include "trainer/backend/backend.h"
#include "trainer/config/job_config.h"
#include "trainer/model/attention_sums.h"
#include "trainer/position/rotation.h"
#include "trainer/pretrained/model_extras.h"

namespace gyre {

/// What all heads of a layer share. Immutable.
class LayerAttention {
 public:
  /// For windows of up to `length` tokens.
  LayerAttention(const ModelConfig& model, const ModelExtras& extras, const LayerPosition& position,
                 int length);

  int heads, kv_heads, head_dim, pairs, lanes;   // lanes: pairs as kernels want them
  int window;                                    // 0 = no limit
  float scale, softcap;                          // of logits; softcap 0 = none
  std::vector<float> slopes;                     // (heads), zeros without ALiBi
  std::vector<std::pair<int, int>> coordinates;  // (pairs)
  std::vector<float> cosine, sine;               // (length, pairs), amplitudes included

  int64_t width() const { return int64_t{heads + 2 * kv_heads} * head_dim; }
};

/// What one head of one window adds to its layer's AttentionSums.
struct HeadSums {
  // By pair; keys and values only of the first query head of a group, else empty.
  std::vector<double> first_norms[3], other_norms[3];  // q, k, v
  std::vector<double> first_contributions, other_contributions;
  double scores[HeadScore::kCount] = {};
};

/// A thread's memory, for any head.
class HeadAttention {
 public:
  HeadAttention(const LayerAttention* layer, int length);

  /// `qkv` (tokens, width): before rotation. Assigns the head's part of `output` (tokens, heads
  /// head_dim). `trace`, if there is one, has room for its tokens: the head's rotated query, and
  /// with the first head of a group key and value, are put there. False: no memory for a product.
  [[nodiscard]] bool Run(const float* qkv, int tokens, int head, float* output, HeadSums* sums,
                         AttentionTrace* trace);

 private:
  enum Tensor { kQuery, kKey, kValue };

  void Spread(const float* qkv, int64_t at, std::vector<float>* rows) const;
  void AddNorms(const std::vector<float>& rows, Tensor tensor, HeadSums* sums);
  void Rotate(std::vector<float>* rows) const;
  void Trace(const std::vector<float>& rows, int64_t at, AttentionTrace* trace) const;
  bool Attend(int first, int queries, int head, float* output, HeadSums* sums);
  void FinishLogits(int first, int queries, int key, int keys, float slope);
  void AddScores(int first, int queries, int key, HeadSums* sums) const;
  void AddContributions(HeadSums* sums);
  void AddBlock(int first, int queries, int key, int keys, std::vector<double>* contributions);

  const LayerAttention* const layer_;
  int tokens_ = 0;
  std::vector<float> queries_, keys_;          // (tokens, 2 lanes)
  std::vector<float> values_;                  // (tokens, head_dim), and spread for norms
  std::vector<float> logits_, probabilities_;  // (a block's queries, stride)
  std::vector<float> log_sum_exp_;             // (tokens)
  std::vector<float> sums_;                    // (lanes)
  std::vector<int> first_visible_;
  int64_t stride_ = 0;
};

}  // namespace gyre
