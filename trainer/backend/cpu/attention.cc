#include <algorithm>
#include <cmath>
#include <cstring>

#include "trainer/backend/cpu/device.h"
#include "trainer/backend/cpu/query_block.h"

namespace gyre::cpu {
namespace {

// Addresses of one head in one row. Tokens are `width` apart in qkv, `out_width` in outputs.
struct HeadView {
  HeadView(const Attention& op, int row, int head)
      : d(op.head_dim),
        width(int64_t{op.heads + 2 * op.kv_heads} * d),
        out_width(int64_t{op.heads} * d),
        query(row * op.length * width + int64_t{head} * d),
        key(row * op.length * width + int64_t{op.heads + head / (op.heads / op.kv_heads)} * d),
        value(key + int64_t{op.kv_heads} * d),
        out(row * op.length * out_width + int64_t{head} * d),
        log_sum_exp(int64_t{row} * op.length * op.heads + head) {}

  int d;
  int64_t width, out_width;
  int64_t query, key, value, out, log_sum_exp;  // offsets of the row's first token
};

float Slope(const Attention& op, int head) {
  return op.alibi_slopes ? Data(op.alibi_slopes)[head] : 0.0f;
}

const int32_t* DocumentStarts(const Attention& op, int row) {
  return op.document_starts ? Data(op.document_starts) + int64_t{row} * op.length : nullptr;
}

}  // namespace

QueryBlock::QueryBlock(const Attention& op, const int32_t* document_starts, int first_query)
    : first_query(first_query), queries(std::min(kQueryBlock, op.length - first_query)) {
  const auto first_seen = [&](int i) {
    const int document = document_starts != nullptr ? document_starts[i] : 0;
    return std::max(document, op.window > 0 ? i - op.window + 1 : 0);
  };
  first_key = first_seen(first_query);  // neither documents nor windows ever begin earlier for a later query
  keys = first_query + queries - first_key;
  for (int r = 0; r < queries; ++r) {
    visible[r] = {first_seen(first_query + r) - first_key, first_query + r + 1 - first_key};
  }
}

void Device::AttentionForwardHead(const Attention& op, int row, int head, float* scores) {
  const HeadView at(op, row, head);
  const float* qkv = Data(op.qkv);
  const float scale = 1 / std::sqrt(static_cast<float>(at.d));
  for (int first = 0; first < op.length; first += kQueryBlock) {
    const QueryBlock block(op, DocumentStarts(op, row), first);
    const int64_t stride = PaddedKeys(block.keys);
    Product(block.queries, block.keys, at.d, scale, {qkv + at.query + first * at.width, at.width},
            {qkv + at.key + block.first_key * at.width, at.width, true}, 0, scores, stride);
    kernels_.softmax(block.queries, block.keys, stride, block.visible, Slope(op, head),
                     first - block.first_key, scores,
                     Data(op.log_sum_exp) + at.log_sum_exp + int64_t{first} * op.heads, op.heads);
    Product(block.queries, at.d, block.keys, 1, {scores, stride},
            {qkv + at.value + block.first_key * at.width, at.width}, 0,
            Data(op.output) + at.out + first * at.out_width, at.out_width);
  }
}

// All query heads that read one key/value head, so that its gradient has one writer and one order of sums.
void Device::AttentionBackwardGroup(const Attention& op, const AttentionGradients& g, int row,
                                    int kv_head, float* scores) {
  const int group = op.heads / op.kv_heads;
  const float* qkv = Data(op.qkv);
  float* d_qkv = Data(g.d_qkv);
  float* d_scores = scores + ScoreStride();
  const HeadView keys(op, row, kv_head * group);
  for (int t = 0; t < op.length; ++t) {
    std::memset(d_qkv + keys.key + t * keys.width, 0, sizeof(float) * static_cast<size_t>(keys.d));
    std::memset(d_qkv + keys.value + t * keys.width, 0,
                sizeof(float) * static_cast<size_t>(keys.d));
  }
  const float scale = 1 / std::sqrt(static_cast<float>(keys.d));
  for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    const HeadView at(op, row, head);
    for (int first = 0; first < op.length; first += kQueryBlock) {
      const QueryBlock block(op, DocumentStarts(op, row), first);
      const int64_t stride = PaddedKeys(block.keys);
      const int queries = block.queries, seen = block.keys;
      const Operand query{qkv + at.query + first * at.width, at.width};
      const Operand key{qkv + at.key + block.first_key * at.width, at.width};
      const Operand value{qkv + at.value + block.first_key * at.width, at.width};
      const Operand d_output{Data(g.d_output) + at.out + first * at.out_width, at.out_width};
      Product(queries, seen, at.d, scale, query, {key.data, key.stride, true}, 0, scores, stride);
      kernels_.softmax_again(queries, seen, stride, block.visible, Slope(op, head),
                             first - block.first_key,
                             Data(op.log_sum_exp) + at.log_sum_exp + int64_t{first} * op.heads,
                             op.heads, scores);
      Product(queries, seen, at.d, 1, d_output, {value.data, value.stride, true}, 0, d_scores,
              stride);
      kernels_.softmax_backward(queries, seen, stride, block.visible, scale, at.d, at.out_width,
                                Data(op.output) + at.out + first * at.out_width, d_output.data,
                                scores, d_scores);
      Product(seen, at.d, queries, 1, {scores, stride, true}, d_output, 1,
              d_qkv + at.value + block.first_key * at.width, at.width);
      Product(seen, at.d, queries, 1, {d_scores, stride, true}, query, 1,
              d_qkv + at.key + block.first_key * at.width, at.width);
      Product(queries, at.d, seen, 1, {d_scores, stride}, key, 0,
              d_qkv + at.query + first * at.width, at.width);
    }
  }
}

void Device::AttentionForward(const Attention& op) {
  Split(int64_t{op.rows} * op.heads, [&](int thread, Range tasks) {
    for (int64_t task = tasks.begin; task < tasks.end; ++task) {
      AttentionForwardHead(op, static_cast<int>(task / op.heads), static_cast<int>(task % op.heads),
                           scores_ + thread * 2 * ScoreStride());
    }
  });
}

void Device::AttentionBackward(const Attention& op, const AttentionGradients& gradients) {
  Split(int64_t{op.rows} * op.kv_heads, [&](int thread, Range tasks) {
    for (int64_t task = tasks.begin; task < tasks.end; ++task) {
      AttentionBackwardGroup(op, gradients, static_cast<int>(task / op.kv_heads),
                             static_cast<int>(task % op.kv_heads),
                             scores_ + thread * 2 * ScoreStride());
    }
  });
}

}  // namespace gyre::cpu
