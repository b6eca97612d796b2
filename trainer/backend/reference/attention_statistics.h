#pragma once

#include <cmath>
#include <vector>

#include "trainer/backend/reference/attention.h"

namespace gyre::reference {

template <typename T>
void CollectNorms(const AttentionStatistics& op, int row) {
  const Attention& shape = op.attention;
  const int pairs = shape.head_dim / 2, heads = shape.heads + 2 * shape.kv_heads;
  for (int head = 0; head < heads; ++head) {
    const bool turned = head < shape.heads + shape.kv_heads;
    for (int k = 0; k < pairs; ++k) {
      double first = 0, others = 0;
      for (int t = 0; t < Data(op.lengths)[row]; ++t) {
        const int64_t token = int64_t{row} * shape.length + t;
        const T* x = Data<T>(shape.qkv) + (token * heads + head) * shape.head_dim;
        const double a = x[Data(op.pairs)[2 * k]], b = x[Data(op.pairs)[2 * k + 1]];
        const double amplitude = turned ? Data<T>(op.amplitudes)[k] : 1;
        (t == 0 ? first : others) += std::sqrt(a * a + b * b) / amplitude;
      }
      const int64_t at = (int64_t{row} * heads + head) * pairs + k;
      Data<T>(op.first_norms)[at] = static_cast<T>(first);
      Data<T>(op.norms)[at] = static_cast<T>(others);
    }
  }
}

template <typename T>
void CollectHead(const AttentionStatistics& op, int row, int h) {
  const Attention& shape = op.attention;
  const int pairs = shape.head_dim / 2;
  const T* qkv = Data<T>(shape.qkv);
  const AttentionHead<T> head(shape, row, h);
  std::vector<double> first(pairs), others(pairs), scores(HeadScore::kCount);
  for (int i = 0; i < Data(op.lengths)[row]; ++i) {
    for (int j = head.FirstKey(i); j <= i; ++j) {
      for (int k = 0; k < pairs; ++k) {
        const int a = Data(op.pairs)[2 * k], b = Data(op.pairs)[2 * k + 1];
        const T *q = qkv + head.Query(i), *key = qkv + head.Key(j);
        const double c = static_cast<double>(q[a]) * key[a] + static_cast<double>(q[b]) * key[b];
        (j == 0 ? first : others)[k] += std::abs(c) / std::sqrt(shape.head_dim);
      }
      const double log_alpha = head.Logit(i, j) - Data<T>(shape.log_sum_exp)[head.LogSumExp(i)];
      const double alpha = std::exp(log_alpha);
      if (j == i) scores[HeadScore::kDiagonal] += alpha;
      if (j == i - 1) scores[HeadScore::kPrevious] += alpha;
      if (j == 0) scores[HeadScore::kFirst] += alpha;
      scores[HeadScore::kEntropy] -= alpha * log_alpha;
      scores[HeadScore::kDistance] += alpha * (i - j);
    }
  }
  const int64_t at = int64_t{row} * shape.heads + h;
  for (int k = 0; k < pairs; ++k) {
    Data<T>(op.first_contributions)[at * pairs + k] = static_cast<T>(first[k]);
    Data<T>(op.contributions)[at * pairs + k] = static_cast<T>(others[k]);
  }
  for (int s = 0; s < HeadScore::kCount; ++s) {
    Data<T>(op.scores)[at * HeadScore::kCount + s] = static_cast<T>(scores[s]);
  }
}

template <typename T>
void CollectAttentionStatistics(const AttentionStatistics& op) {
  for (int row = 0; row < op.attention.rows; ++row) {
    CollectNorms<T>(op, row);
    for (int head = 0; head < op.attention.heads; ++head) CollectHead<T>(op, row, head);
  }
}

}  // namespace gyre::reference
