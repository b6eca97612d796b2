#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer/backend/reference/memory.h"

namespace gyre::reference {

/// What one query head of one row sees: addresses and the visible keys.
template <typename T>
struct AttentionHead {
  AttentionHead(const Attention& op, int row, int head)
      : op(op),
        head(head),
        first_token(static_cast<int64_t>(row) * op.length),
        key_head(head / (op.heads / op.kv_heads)) {}

  int64_t width() const { return static_cast<int64_t>(op.heads + 2 * op.kv_heads) * op.head_dim; }
  int64_t Query(int i) const { return (first_token + i) * width() + head * op.head_dim; }
  int64_t Key(int j) const {
    return (first_token + j) * width() + (op.heads + key_head) * op.head_dim;
  }
  int64_t Value(int j) const { return Key(j) + op.kv_heads * op.head_dim; }
  int64_t Output(int i) const {
    return ((first_token + i) * op.heads + head) * static_cast<int64_t>(op.head_dim);
  }
  int64_t LogSumExp(int i) const { return (first_token + i) * op.heads + head; }

  int FirstKey(int i) const {
    const int document = op.document_starts ? Data(op.document_starts)[first_token + i] : 0;
    return std::max({0, document, op.window > 0 ? i - op.window + 1 : 0});
  }

  double Logit(int i, int j) const {
    const T* qkv = Data<T>(op.qkv);
    double dot = 0;
    for (int c = 0; c < op.head_dim; ++c) {
      dot += static_cast<double>(qkv[Query(i) + c]) * qkv[Key(j) + c];
    }
    const double slope = op.alibi_slopes ? Data<T>(op.alibi_slopes)[head] : 0;
    return dot / std::sqrt(op.head_dim) - slope * (i - j);
  }

  const Attention& op;
  int head;
  int64_t first_token;
  int key_head;
};

template <typename T>
void AttentionForward(const Attention& op) {
  std::vector<double> weight(op.length), sum(op.head_dim);
  for (int row = 0; row < op.rows; ++row) {
    for (int h = 0; h < op.heads; ++h) {
      const AttentionHead<T> head(op, row, h);
      for (int i = 0; i < op.length; ++i) {
        const int first = head.FirstKey(i);
        double largest = -INFINITY, total = 0;
        for (int j = first; j <= i; ++j) {
          weight[j] = head.Logit(i, j);
          largest = std::max(largest, weight[j]);
        }
        for (int j = first; j <= i; ++j) total += std::exp(weight[j] - largest);
        const double log_sum_exp = largest + std::log(total);
        sum.assign(op.head_dim, 0);
        for (int j = first; j <= i; ++j) {
          for (int c = 0; c < op.head_dim; ++c) {
            sum[c] += std::exp(weight[j] - log_sum_exp) * Data<T>(op.qkv)[head.Value(j) + c];
          }
        }
        for (int c = 0; c < op.head_dim; ++c) {
          Data<T>(op.output)[head.Output(i) + c] = static_cast<T>(sum[c]);
        }
        Data<T>(op.log_sum_exp)[head.LogSumExp(i)] = static_cast<T>(log_sum_exp);
      }
    }
  }
}

template <typename T>
void AttentionBackward(const Attention& op, const AttentionGradients& g) {
  const T* qkv = Data<T>(op.qkv);
  const T* d_output = Data<T>(g.d_output);
  const double scale = 1 / std::sqrt(op.head_dim);
  const int64_t count =
      static_cast<int64_t>(op.rows) * op.length * (op.heads + 2 * op.kv_heads) * op.head_dim;
  std::vector<double> d_qkv(count, 0.0);
  for (int row = 0; row < op.rows; ++row) {
    for (int h = 0; h < op.heads; ++h) {
      const AttentionHead<T> head(op, row, h);
      for (int i = 0; i < op.length; ++i) {
        const int64_t out = head.Output(i), query = head.Query(i);
        double mean = 0;  // sum_j alpha_j d_alpha_j
        for (int c = 0; c < op.head_dim; ++c) {
          mean += static_cast<double>(d_output[out + c]) * Data<T>(op.output)[out + c];
        }
        for (int j = head.FirstKey(i); j <= i; ++j) {
          const int64_t key = head.Key(j), value = head.Value(j);
          const double alpha =
              std::exp(head.Logit(i, j) - Data<T>(op.log_sum_exp)[head.LogSumExp(i)]);
          double d_alpha = 0;
          for (int c = 0; c < op.head_dim; ++c) {
            d_alpha += static_cast<double>(d_output[out + c]) * qkv[value + c];
            d_qkv[value + c] += alpha * d_output[out + c];
          }
          const double d_dot = alpha * (d_alpha - mean) * scale;
          for (int c = 0; c < op.head_dim; ++c) {
            d_qkv[query + c] += d_dot * qkv[key + c];
            d_qkv[key + c] += d_dot * qkv[query + c];
          }
        }
      }
    }
  }
  for (int64_t i = 0; i < count; ++i) Data<T>(g.d_qkv)[i] = static_cast<T>(d_qkv[i]);
}

}  // namespace gyre::reference
