#pragma once

// Where the numbers of one row of the batch are, which of its keys a block of queries sees, and who
// works on which head.

#include <algorithm>
#include <cmath>

#include "trainer/backend/cpu/device.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {

/// The queries [first, first + count) of one head of one row, and the keys [key, key + keys), among
/// which are all that they see; key is a multiple of the most queries that were asked for.
template <typename Narrow>
struct Block {
  static constexpr int kMost = kQueryBlock<Narrow>;

  int first = 0, count = 0;
  int key = 0, keys = 0;
  int64_t stride = 0;        // from one query's scores to the next one's
  int first_visible[kMost];  // per query, counted from `key`
};

/// Addresses of one row of the batch.
class Row {
 public:
  Row(const Attention& op, int row) : op_(op), first_token_(int64_t{row} * op.length) {}

  int64_t stride() const { return int64_t{op_.heads + 2 * op_.kv_heads} * op_.head_dim; }
  int64_t output_stride() const { return int64_t{op_.heads} * op_.head_dim; }
  int64_t Query(int head, int place) const { return InQkv(head, place); }
  int64_t Key(int key_head, int place) const { return InQkv(op_.heads + key_head, place); }
  int64_t Value(int key_head, int place) const {
    return InQkv(op_.heads + op_.kv_heads + key_head, place);
  }
  int64_t Output(int head, int place) const {
    return (first_token_ + place) * output_stride() + int64_t{head} * op_.head_dim;
  }
  int64_t LogSumExp(int head, int place) const { return (first_token_ + place) * op_.heads + head; }

  template <typename Narrow>
  Block<Narrow> QueriesFrom(int first, int most = Block<Narrow>::kMost) const {
    Block<Narrow> block;
    block.first = first;
    block.count = std::min(most, op_.length - first);
    block.key = FirstKey(first) / most * most;  // never falls along the row
    block.keys = first + block.count - block.key;
    block.stride = ScoreStride(block.keys, op_.length);
    for (int i = 0; i < block.count; ++i) {
      block.first_visible[i] = FirstKey(first + i) - block.key;
    }
    return block;
  }

 private:
  int64_t InQkv(int head, int place) const {
    return (first_token_ + place) * stride() + int64_t{head} * op_.head_dim;
  }
  int FirstKey(int place) const {
    const int document = op_.document_starts ? Data(op_.document_starts)[first_token_ + place] : 0;
    return std::max({0, document, op_.window > 0 ? place - op_.window + 1 : 0});
  }

  const Attention& op_;
  const int64_t first_token_;
};

/// The scores of a block of one head's queries.
template <typename Narrow>
ScoreBlock Scores(const Attention& op, int head, const Block<Narrow>& block, float* scores) {
  return {.scores = scores,
          .stride = block.stride,
          .queries = block.count,
          .keys = block.keys,
          .first = block.first_visible,
          .last = block.first - block.key,
          .scale = static_cast<float>(1 / std::sqrt(op.head_dim)),
          .slope = op.alibi_slopes ? Data(op.alibi_slopes)[head] : 0};
}

/// Calls item(row, head, thread) for all of rows x heads, as ThreadPool::Share does.
template <typename Item>
void ForEachHead(Device& device, int rows, int heads, const Item& item) {
  device.pool.Share(int64_t{rows} * heads, [&](int64_t i, int thread) {
    item(static_cast<int>(i / heads), static_cast<int>(i % heads), thread);
  });
}

}  // namespace gyre::cpu
