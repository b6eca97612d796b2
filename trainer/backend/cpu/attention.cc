// Attention, a block of queries of one head at a time: their scores against all keys that any of
// them sees, in scratch memory of the thread. The pairs of blocks that nobody in them sees are
// never computed; backward, probabilities are computed again from the scores and log_sum_exp.
// Threads take heads as they become free: what is computed for a head does not depend on by whom.

#include <algorithm>
#include <atomic>
#include <cmath>

#include "trainer/backend/cpu/operations.h"

namespace gyre::cpu {
namespace {

// The queries [first, first + count) of one head of one row, and the keys [key, key + keys) that
// they see.
struct Block {
  int first = 0, count = 0;
  int key = 0, keys = 0;
  int first_visible[kQueryBlock];  // per query, counted from `key`
};

// Addresses of one row of the batch.
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

  Block QueriesFrom(int first) const {
    Block block;
    block.first = first;
    block.count = std::min(kQueryBlock, op_.length - first);
    block.key = FirstKey(first);  // never falls along the row
    block.keys = first + block.count - block.key;
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

float Scale(const Attention& op) { return static_cast<float>(1 / std::sqrt(op.head_dim)); }

ScoreBlock Scores(const Attention& op, int head, const Block& block, float* scores) {
  return {.scores = scores,
          .stride = Workspace::ScoreStride(block.keys),
          .queries = block.count,
          .keys = block.keys,
          .first = block.first_visible,
          .last = block.first - block.key,
          .slope = op.alibi_slopes ? Data(op.alibi_slopes)[head] : 0};
}

// Scores = q k / sqrt(d), before any mask.
void MultiplyKeys(Device& device, const Attention& op, const Row& row, int head, const Block& block,
                  const ScoreBlock& scores) {
  const int key_head = head / (op.heads / op.kv_heads);
  const float* qkv = Data(op.qkv);
  device.Multiply({.m = block.count,
                   .n = block.keys,
                   .k = op.head_dim,
                   .a = {qkv + row.Query(head, block.first), row.stride()},
                   .b = {qkv + row.Key(key_head, block.key), row.stride(), /*transposed=*/true},
                   .c = scores.scores,
                   .c_stride = scores.stride,
                   .factor = Scale(op)});
}

void ForwardHead(Device& device, const Attention& op, int row_index, int head, float* scratch) {
  const Row row(op, row_index);
  const int key_head = head / (op.heads / op.kv_heads);
  for (int first = 0; first < op.length; first += kQueryBlock) {
    const Block block = row.QueriesFrom(first);
    const ScoreBlock scores = Scores(op, head, block, scratch);
    MultiplyKeys(device, op, row, head, block, scores);
    device.kernels.softmax(scores, Data(op.log_sum_exp) + row.LogSumExp(head, first), op.heads);
    device.Multiply({.m = block.count,
                     .n = op.head_dim,
                     .k = block.keys,
                     .a = {scores.scores, scores.stride},
                     .b = {Data(op.qkv) + row.Value(key_head, block.key), row.stride()},
                     .c = Data(op.output) + row.Output(head, first),
                     .c_stride = row.output_stride()});
  }
}

void BackwardBlock(Device& device, const Attention& op, const AttentionGradients& g, const Row& row,
                   int head, const Block& block, float* scratch, float* d_scratch) {
  const int key_head = head / (op.heads / op.kv_heads);
  const float* qkv = Data(op.qkv);
  float* d_qkv = Data(g.d_qkv);
  const int64_t output = row.Output(head, block.first), query = row.Query(head, block.first);
  const int64_t key = row.Key(key_head, block.key), value = row.Value(key_head, block.key);
  const Matrix d_output{Data(g.d_output) + output, row.output_stride()};
  const ScoreBlock scores = Scores(op, head, block, scratch);

  MultiplyKeys(device, op, row, head, block, scores);
  device.Multiply({.m = block.count,
                   .n = block.keys,
                   .k = op.head_dim,
                   .a = d_output,
                   .b = {qkv + value, row.stride(), /*transposed=*/true},
                   .c = d_scratch,
                   .c_stride = scores.stride});
  device.kernels.softmax_backward(scores,
                                  {.d_scores = d_scratch,
                                   .scale = Scale(op),
                                   .output = Data(op.output) + output,
                                   .d_output = d_output.data,
                                   .output_stride = row.output_stride(),
                                   .head_dim = op.head_dim},
                                  Data(op.log_sum_exp) + row.LogSumExp(head, block.first),
                                  op.heads);
  device.Multiply({.m = block.keys,
                   .n = op.head_dim,
                   .k = block.count,
                   .a = {scratch, scores.stride, /*transposed=*/true},
                   .b = d_output,
                   .c = d_qkv + value,
                   .c_stride = row.stride(),
                   .add = true});
  device.Multiply({.m = block.keys,
                   .n = op.head_dim,
                   .k = block.count,
                   .a = {d_scratch, scores.stride, /*transposed=*/true},
                   .b = {qkv + query, row.stride()},
                   .c = d_qkv + key,
                   .c_stride = row.stride(),
                   .add = true});
  device.Multiply({.m = block.count,
                   .n = op.head_dim,
                   .k = block.keys,
                   .a = {d_scratch, scores.stride},
                   .b = {qkv + key, row.stride()},
                   .c = d_qkv + query,
                   .c_stride = row.stride()});
}

void BackwardKeyHead(Device& device, const Attention& op, const AttentionGradients& g,
                     int row_index, int key_head, float* scratch, float* d_scratch) {
  const Row row(op, row_index);
  for (int place = 0; place < op.length; ++place) {
    std::fill_n(Data(g.d_qkv) + row.Key(key_head, place), op.head_dim, 0.0f);
    std::fill_n(Data(g.d_qkv) + row.Value(key_head, place), op.head_dim, 0.0f);
  }
  const int group = op.heads / op.kv_heads;
  for (int head = key_head * group; head < (key_head + 1) * group; ++head) {
    for (int first = 0; first < op.length; first += kQueryBlock) {
      BackwardBlock(device, op, g, row, head, row.QueriesFrom(first), scratch, d_scratch);
    }
  }
}

// Calls item(row, head, thread) for all of rows x heads, on whichever thread is free.
template <typename Item>
void ForEachHead(Device& device, int rows, int heads, const Item& item) {
  std::atomic<int64_t> next{0};
  device.pool.Run([&](int thread) {
    const int64_t count = int64_t{rows} * heads;
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      item(static_cast<int>(i / heads), static_cast<int>(i % heads), thread);
    }
  });
}

}  // namespace

void AttentionForward(Device& device, const Attention& op) {
  ForEachHead(device, op.rows, op.heads, [&](int row, int head, int thread) {
    ForwardHead(device, op, row, head, device.workspace.scores(thread));
  });
}

void AttentionBackward(Device& device, const Attention& op, const AttentionGradients& g) {
  ForEachHead(device, op.rows, op.kv_heads, [&](int row, int key_head, int thread) {
    BackwardKeyHead(device, op, g, row, key_head, device.workspace.scores(thread),
                    device.workspace.d_scores(thread));
  });
}

}  // namespace gyre::cpu
