// Attention, a block of queries of one head at a time: their scores against all keys that any of
// them sees, in scratch memory of the thread. The pairs of blocks that nobody in them sees are
// never computed; backward, probabilities are computed again from the scores and log_sum_exp.
// Threads take heads as they become free: what is computed for a head does not depend on by whom.
// Products with many keys are made of some with kKeyBlock, and their scores lie equally far apart:
// so there are few shapes, for each of which the library keeps code.

#include <algorithm>
#include <cstring>

#include "trainer/backend/cpu/attention_row.h"
#include "trainer/backend/cpu/attention_tiles.h"
#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {
namespace {

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
      const ScoreBlock scores = Scores(op_, head_, block, scores_);
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
      device_.narrow.softmax_backward(Scores(op_, head_, block, scores_), d_scores_, means_,
                                      Data(op_.log_sum_exp) + row_.LogSumExp(head_, first),
                                      op_.heads, probabilities_, d_narrow_);
      AddToKeys(block, probabilities_, d_output, d_values_);
      AddToKeys(block, d_narrow_, Queries(block), d_keys_);
      MultiplyKeys(block, d_narrow_, Key(block));
      StoreQueries(block, Data<Narrow>(g.d_qkv) + row_.Query(head_, first), row_.stride());
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

// Of the heads that share a key and value head: gradients of those, which one thread adds up.
template <typename Narrow>
class KeySums {
 public:
  KeySums(const Attention& op, const AttentionScratch<Narrow>& scratch, int thread)
      : op_(op), keys_(scratch.d_keys.Of(thread)), values_(scratch.d_values.Of(thread)) {}

  void Zero() const {
    std::fill_n(keys_, int64_t{op_.length} * op_.head_dim, 0.0f);
    std::fill_n(values_, int64_t{op_.length} * op_.head_dim, 0.0f);
  }
  void Store(const NarrowDevice<Narrow>& device, int row, int key_head,
             const AttentionGradients& g) const {
    const Row places(op_, row);
    Narrow* to = Data<Narrow>(g.d_qkv);
    for (int place = 0; place < op_.length; ++place) {
      const int64_t from = int64_t{place} * op_.head_dim;
      device.narrow.narrow(keys_ + from, op_.head_dim, to + places.Key(key_head, place));
      device.narrow.narrow(values_ + from, op_.head_dim, to + places.Value(key_head, place));
    }
  }

 private:
  const Attention& op_;
  float *const keys_, *const values_;
};

// Whether heads store the gradients of keys and values without KeySums.
template <typename Narrow>
bool StoresKeys([[maybe_unused]] const NarrowDevice<Narrow>& device,
                [[maybe_unused]] const Attention& op) {
  if constexpr (std::is_same_v<Narrow, Bf16>) {
    return TiledHead::Fits(device, op) && TiledHead::StoresKeys(op);
  }
  return false;
}

// Calls work(head), with a Head or a TiledHead.
template <typename Narrow, typename Work>
void OnHead(NarrowDevice<Narrow>& device, const Attention& op,
            const AttentionScratch<Narrow>& scratch, int row, int head, int thread,
            const Work& work) {
  if constexpr (std::is_same_v<Narrow, Bf16>) {
    if (TiledHead::Fits(device, op)) {
      TiledHead one(device, op, scratch, row, head, thread);
      work(one);
      return;
    }
  }
  Head<Narrow> one(device, op, scratch, row, head, thread);
  work(one);
}

}  // namespace

template <typename Narrow>
void AttentionForward(NarrowDevice<Narrow>& device, const Attention& op) {
  const AttentionScratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  ForEachHead(device, op.rows, op.heads, [&](int row, int head, int thread) {
    OnHead(device, op, scratch, row, head, thread, [](auto& one) { one.Forward(); });
  });
}

template <typename Narrow>
void AttentionBackward(NarrowDevice<Narrow>& device, const Attention& op,
                       const AttentionGradients& g) {
  const AttentionScratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  const int group = op.heads / op.kv_heads;
  ForEachHead(device, op.rows, op.kv_heads, [&](int row, int key_head, int thread) {
    const KeySums<Narrow> sums(op, scratch, thread);
    const bool stored = StoresKeys(device, op);
    if (!stored) sums.Zero();
    for (int i = 0; i < group; ++i) {
      OnHead(device, op, scratch, row, key_head * group + i, thread,
             [&](auto& one) { one.Backward(g); });
    }
    if (!stored) sums.Store(device, row, key_head, g);
  });
}

#define GYRE_INSTANTIATE(Narrow)                                           \
  template void AttentionForward(NarrowDevice<Narrow>&, const Attention&); \
  template void AttentionBackward(NarrowDevice<Narrow>&, const Attention&, \
                                  const AttentionGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cpu
