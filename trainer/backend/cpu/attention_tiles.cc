#include "trainer/backend/cpu/attention_tiles.h"

namespace gyre::cpu {

bool TiledHead::Fits(const NarrowDevice<Bf16>& device, const Attention& op) {
  return device.kernels.tiles.available && op.head_dim % kTileStrip == 0 &&
         op.length % kTileDepth == 0;
}

TiledHead::TiledHead(NarrowDevice<Bf16>& device, const Attention& op,
                     const AttentionScratch<Bf16>& scratch, int row, int head, int thread)
    : device_(device),
      op_(op),
      scratch_(scratch),
      row_(op, row),
      head_(head),
      key_head_(head / (op.heads / op.kv_heads)),
      thread_(thread) {}

void TiledHead::Forward() const {
  const Bf16* qkv = Data<Bf16>(op_.qkv);
  Bf16* const keys = scratch_.head_keys.Of(thread_);
  Bf16* const values = scratch_.head_values.Of(thread_);
  float* const scores = scratch_.scores.Of(thread_);
  Bf16* const probabilities = scratch_.probabilities.Of(thread_);
  PackColumns(qkv + row_.Key(key_head_, 0), row_.stride(), keys);
  PackRows(qkv + row_.Value(key_head_, 0), row_.stride(), values);
  for (int first = 0; first < op_.length; first += kQueryBlock<Bf16>) {
    const auto block = row_.QueriesFrom<Bf16>(first);
    MultiplyByColumns(block, qkv + row_.Query(head_, first), row_.stride(), keys, scores);
    device_.narrow.softmax(Scores(op_, head_, block, scores), probabilities,
                           Data(op_.log_sum_exp) + row_.LogSumExp(head_, first), op_.heads);
    MultiplyByRows(block, probabilities, values, Data<Bf16>(op_.output) + row_.Output(head_, first),
                   row_.output_stride());
  }
}

void TiledHead::Backward(const AttentionGradients& g) const {
  const Bf16* qkv = Data<Bf16>(op_.qkv);
  const Bf16* d_outputs = Data<Bf16>(g.d_output);
  Bf16* const keys = scratch_.head_keys.Of(thread_);
  Bf16* const values = scratch_.head_values.Of(thread_);
  Bf16* const key_rows = scratch_.key_rows.Of(thread_);
  Bf16* const query_rows = scratch_.head_queries.Of(thread_);
  Bf16* const d_output_rows = scratch_.d_output.Of(thread_);
  float* const scores = scratch_.scores.Of(thread_);
  float* const d_scores = scratch_.d_scores.Of(thread_);
  float* const means = scratch_.means.Of(thread_);
  Bf16* const probabilities = scratch_.probabilities.Of(thread_);
  Bf16* const d_narrow = scratch_.d_narrow.Of(thread_);
  PackColumns(qkv + row_.Key(key_head_, 0), row_.stride(), keys);
  PackColumns(qkv + row_.Value(key_head_, 0), row_.stride(), values);
  PackRows(qkv + row_.Key(key_head_, 0), row_.stride(), key_rows);
  PackRows(qkv + row_.Query(head_, 0), row_.stride(), query_rows);
  PackRows(d_outputs + row_.Output(head_, 0), row_.output_stride(), d_output_rows);
  for (int first = 0; first < op_.length; first += kQueryBlock<Bf16>) {
    const auto block = row_.QueriesFrom<Bf16>(first);
    const int64_t at = row_.Output(head_, first);
    MultiplyByColumns(block, qkv + row_.Query(head_, first), row_.stride(), keys, scores);
    MultiplyByColumns(block, d_outputs + at, row_.output_stride(), values, d_scores);
    device_.narrow.row_products(Data<Bf16>(op_.output) + at, d_outputs + at, block.count,
                                op_.head_dim, row_.output_stride(), means);
    device_.narrow.softmax_backward(Scores(op_, head_, block, scores), d_scores, means,
                                    Data(op_.log_sum_exp) + row_.LogSumExp(head_, first), op_.heads,
                                    probabilities, d_narrow);
    // Nobody needs the scores any more.
    AddToKeys(block, probabilities, reinterpret_cast<Bf16*>(scores),
              d_output_rows + first * kTileStrip, scratch_.d_values.Of(thread_));
    AddToKeys(block, d_narrow, reinterpret_cast<Bf16*>(d_scores), query_rows + first * kTileStrip,
              scratch_.d_keys.Of(thread_));
    MultiplyByRows(block, d_narrow, key_rows, Data<Bf16>(g.d_qkv) + row_.Query(head_, first),
                   row_.stride());
  }
}

template <typename Out>
TileProduct<Out> TiledHead::Product(int64_t m, int64_t n, int64_t k, const Bf16* a,
                                    int64_t a_stride, const Bf16* b, int64_t b_depth, Out* c,
                                    int64_t c_stride) const {
  return {.m = m,
          .n = n,
          .k = k,
          .a = a,
          .a_stride = a_stride,
          .b = b,
          .b_depth = b_depth,
          .c = c,
          .c_stride = c_stride};
}

void TiledHead::PackRows(const Bf16* rows, int64_t stride, Bf16* packed) const {
  device_.kernels.tiles.pack_rows(rows, stride, op_.length, op_.head_dim, 0, op_.length, packed);
}

void TiledHead::PackColumns(const Bf16* rows, int64_t stride, Bf16* packed) const {
  device_.kernels.tiles.pack_columns(rows, stride, op_.length, op_.head_dim, packed);
}

void TiledHead::MultiplyByColumns(const Block<Bf16>& block, const Bf16* queries, int64_t stride,
                                  const Bf16* b, float* scores) const {
  const int64_t d = op_.head_dim;
  device_.Multiply(Product(block.count, block.keys, d, queries, stride, b + block.key * d, d,
                           scores, block.stride));
}

void TiledHead::MultiplyByRows(const Block<Bf16>& block, const Bf16* factors, const Bf16* b,
                               Bf16* to, int64_t stride) const {
  device_.Multiply(Product(block.count, op_.head_dim, block.keys, factors, block.stride,
                           b + block.key * kTileStrip, op_.length, to, stride));
}

void TiledHead::AddToKeys(const Block<Bf16>& block, const Bf16* factors, Bf16* transposed,
                          const Bf16* b, float* sums) const {
  device_.kernels.tiles.pack_transposed(factors, block.stride, block.count, block.keys, 0,
                                        block.count, transposed);
  const int64_t d = op_.head_dim;
  auto product =
      Product(block.keys, d, block.count, transposed, 0, b, op_.length, sums + block.key * d, d);
  product.addend = product.c;
  device_.Multiply(product);
}

}  // namespace gyre::cpu
