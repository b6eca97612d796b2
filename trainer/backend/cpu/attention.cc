// Attention, a block of queries of one head at a time: their scores against all keys that any of
// them sees, in scratch memory of the thread. The pairs of blocks that nobody in them sees are
// never computed; backward, probabilities are computed again from the scores and log_sum_exp.
// Threads take heads as they become free: what is computed for a head does not depend on by whom.
// Products with many keys are made of some with kKeyBlock, and their scores lie equally far apart:
// so there are few shapes, for each of which the library keeps code.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {
namespace {

// The queries [first, first + count) of one head of one row, and the keys [key, key + keys), among
// which are all that they see; key is a multiple of kMost.
template <typename Narrow>
struct Block {
  static constexpr int kMost = kQueryBlock<Narrow>;

  int first = 0, count = 0;
  int key = 0, keys = 0;
  int64_t stride = 0;        // from one query's scores to the next one's
  int first_visible[kMost];  // per query, counted from `key`
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

  template <typename Narrow>
  Block<Narrow> QueriesFrom(int first) const {
    Block<Narrow> block;
    block.first = first;
    block.count = std::min(block.kMost, op_.length - first);
    block.key = FirstKey(first) / block.kMost * block.kMost;  // never falls along the row
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

// One head on one thread.
template <typename Narrow>
class Head {
 public:
  Head(NarrowDevice<Narrow>& device, const Attention& op, const AttentionScratch<Narrow>& scratch,
       int row, int head, int thread)
      : device_(device),
        op_(op),
        row_(op, row),
        head_(head),
        key_head_(head / (op.heads / op.kv_heads)),
        scores_(scratch.scores.Of(thread)),
        d_scores_(scratch.d_scores.Of(thread)),
        probabilities_(scratch.probabilities.Of(thread)),
        d_narrow_(scratch.d_narrow.Of(thread)),
        d_keys_(scratch.d_keys.Of(thread)),
        d_values_(scratch.d_values.Of(thread)),
        queries_(scratch.queries.Of(thread)),
        means_(scratch.means.Of(thread)),
        head_queries_(scratch.head_queries.Of(thread)),
        head_keys_(scratch.head_keys.Of(thread)),
        head_values_(scratch.head_values.Of(thread)),
        d_output_(scratch.d_output.Of(thread)) {
    const Narrow* qkv = Data<Narrow>(op.qkv);
    Gather(qkv + row_.Query(head_, 0), row_.stride(), head_queries_);
    Gather(qkv + row_.Key(key_head_, 0), row_.stride(), head_keys_);
    Gather(qkv + row_.Value(key_head_, 0), row_.stride(), head_values_);
  }

  void Forward() {
    for (int first = 0; first < op_.length; first += kQueryBlock<Narrow>) {
      const Block block = row_.template QueriesFrom<Narrow>(first);
      const ScoreBlock scores = Scores(block);
      MultiplyByRows(block, Queries(block), Key(block), scores_);
      device_.narrow.softmax(scores, probabilities_,
                             Data(op_.log_sum_exp) + row_.LogSumExp(head_, first), op_.heads);
      MultiplyKeys(block, probabilities_, Value(block));
      StoreQueries(block, Data<Narrow>(op_.output) + row_.Output(head_, first),
                   row_.output_stride());
    }
  }

  // Adds to d_keys, d_values.
  void Backward(const AttentionGradients& g) {
    Gather(Data<Narrow>(g.d_output) + row_.Output(head_, 0), row_.output_stride(), d_output_);
    for (int first = 0; first < op_.length; first += kQueryBlock<Narrow>) {
      const Block block = row_.template QueriesFrom<Narrow>(first);
      const int64_t at = row_.Output(head_, first);
      const Narrow* d_output = d_output_ + int64_t{first} * op_.head_dim;
      MultiplyByRows(block, Queries(block), Key(block), scores_);
      MultiplyByRows(block, d_output, Value(block), d_scores_);
      device_.narrow.row_products(Data<Narrow>(op_.output) + at, Data<Narrow>(g.d_output) + at,
                                  block.count, op_.head_dim, row_.output_stride(), means_);
      device_.narrow.softmax_backward(Scores(block), d_scores_, means_,
                                      Data(op_.log_sum_exp) + row_.LogSumExp(head_, first),
                                      op_.heads, probabilities_, d_narrow_);
      AddToKeys(block, probabilities_, d_output, d_values_);
      AddToKeys(block, d_narrow_, Queries(block), d_keys_);
      MultiplyKeys(block, d_narrow_, Key(block));
      StoreQueries(block, Data<Narrow>(g.d_qkv) + row_.Query(head_, first), row_.stride());
    }
  }

  void ZeroKeys() {
    std::fill_n(d_keys_, int64_t{op_.length} * op_.head_dim, 0.0f);
    std::fill_n(d_values_, int64_t{op_.length} * op_.head_dim, 0.0f);
  }
  void StoreKeys(const AttentionGradients& g) {
    for (int place = 0; place < op_.length; ++place) {
      const int64_t from = int64_t{place} * op_.head_dim;
      Narrow* to = Data<Narrow>(g.d_qkv);
      device_.narrow.narrow(d_keys_ + from, op_.head_dim, to + row_.Key(key_head_, place));
      device_.narrow.narrow(d_values_ + from, op_.head_dim, to + row_.Value(key_head_, place));
    }
  }

 private:
  // heads (T, d) = the rows of one head, without gaps: products are faster so.
  void Gather(const Narrow* rows, int64_t stride, Narrow* heads) const {
    const size_t bytes = static_cast<size_t>(op_.head_dim) * sizeof(Narrow);
    for (int place = 0; place < op_.length; ++place) {
      std::memcpy(heads + int64_t{place} * op_.head_dim, rows + place * stride, bytes);
    }
  }

  const Narrow* Queries(const Block<Narrow>& block) const {
    return head_queries_ + int64_t{block.first} * op_.head_dim;
  }
  const Narrow* Key(const Block<Narrow>& block) const {
    return head_keys_ + int64_t{block.key} * op_.head_dim;
  }
  const Narrow* Value(const Block<Narrow>& block) const {
    return head_values_ + int64_t{block.key} * op_.head_dim;
  }

  ScoreBlock Scores(const Block<Narrow>& block) const {
    return {.scores = scores_,
            .stride = block.stride,
            .queries = block.count,
            .keys = block.keys,
            .first = block.first_visible,
            .last = block.first - block.key,
            .scale = static_cast<float>(1 / std::sqrt(op_.head_dim)),
            .slope = op_.alibi_slopes ? Data(op_.alibi_slopes)[head_] : 0};
  }

  // Calls part(key, keys) for parts of the block's keys.
  template <typename Part>
  static void ForKeys(const Block<Narrow>& block, const Part& part) {
    for (int key = 0; key < block.keys; key += kKeyBlock) {
      part(key, std::min(kKeyBlock, block.keys - key));
    }
  }

  // products (queries, keys) = queries rows^T, rows (keys, d) being keys or values.
  void MultiplyByRows(const Block<Narrow>& block, const Narrow* queries, const Narrow* rows,
                      float* products) {
    ForKeys(block, [&](int key, int keys) {
      device_.Multiply(MatrixProduct<Narrow, float>{
          .m = block.count,
          .n = keys,
          .k = op_.head_dim,
          .a = {queries, op_.head_dim},
          .b = {rows + int64_t{key} * op_.head_dim, op_.head_dim, Layout::kTransposed},
          .c = products + key,
          .c_stride = block.stride});
    });
  }

  // queries_ (queries, d) = factors (queries, keys) rows.
  void MultiplyKeys(const Block<Narrow>& block, const Narrow* factors, const Narrow* rows) {
    ForKeys(block, [&](int key, int keys) {
      device_.Multiply(
          MatrixProduct<Narrow, float>{.m = block.count,
                                       .n = op_.head_dim,
                                       .k = keys,
                                       .a = {factors + key, block.stride},
                                       .b = {rows + int64_t{key} * op_.head_dim, op_.head_dim},
                                       .c = queries_,
                                       .c_stride = op_.head_dim,
                                       .add = key > 0});
    });
  }

  void StoreQueries(const Block<Narrow>& block, Narrow* to, int64_t stride) {
    for (int i = 0; i < block.count; ++i) {
      device_.narrow.narrow(queries_ + i * op_.head_dim, op_.head_dim, to + i * stride);
    }
  }

  // sums (T, d) += factors^T queries, at the block's keys.
  void AddToKeys(const Block<Narrow>& block, const Narrow* factors, const Narrow* queries,
                 float* sums) {
    ForKeys(block, [&](int key, int keys) {
      device_.Multiply(
          MatrixProduct<Narrow, float>{.m = keys,
                                       .n = op_.head_dim,
                                       .k = block.count,
                                       .a = {factors + key, block.stride, Layout::kTransposed},
                                       .b = {queries, op_.head_dim},
                                       .c = sums + int64_t{block.key + key} * op_.head_dim,
                                       .c_stride = op_.head_dim,
                                       .add = true});
    });
  }

  NarrowDevice<Narrow>& device_;
  const Attention& op_;
  const Row row_;
  const int head_, key_head_;
  float *const scores_, *const d_scores_;
  Narrow *const probabilities_, *const d_narrow_;
  float *const d_keys_, *const d_values_, *const queries_, *const means_;
  Narrow *const head_queries_, *const head_keys_, *const head_values_, *const d_output_;
};

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

template <typename Narrow>
void AttentionForward(NarrowDevice<Narrow>& device, const Attention& op) {
  const AttentionScratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  ForEachHead(device, op.rows, op.heads, [&](int row, int head, int thread) {
    Head<Narrow>(device, op, scratch, row, head, thread).Forward();
  });
}

template <typename Narrow>
void AttentionBackward(NarrowDevice<Narrow>& device, const Attention& op,
                       const AttentionGradients& g) {
  const AttentionScratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  const int group = op.heads / op.kv_heads;
  ForEachHead(device, op.rows, op.kv_heads, [&](int row, int key_head, int thread) {
    for (int i = 0; i < group; ++i) {
      Head<Narrow> head(device, op, scratch, row, key_head * group + i, thread);
      if (i == 0) head.ZeroKeys();
      head.Backward(g);
      if (i == group - 1) head.StoreKeys(g);
    }
  });
}

#define GYRE_INSTANTIATE(Narrow)                                           \
  template void AttentionForward(NarrowDevice<Narrow>&, const Attention&); \
  template void AttentionBackward(NarrowDevice<Narrow>&, const Attention&, \
                                  const AttentionGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cpu
