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
      row_index_(row),
      head_(head),
      key_head_(head / (op.heads / op.kv_heads)),
      thread_(thread) {}

bool TiledHead::StoresKeys(const Attention& op) {
  return op.heads == op.kv_heads && op.length <= QueryGroup(op.length);
}

void TiledHead::Forward() const {
  const Bf16* qkv = Data<Bf16>(op_.qkv);
  Bf16* const values = scratch_.head_values.Of(thread_);
  PackColumns(qkv + row_.Key(key_head_, 0), row_.stride(), scratch_.head_keys.Of(thread_));
  PackRows(qkv + row_.Value(key_head_, 0), row_.stride(), values);
  for (int first = 0; first < op_.length; first += kTileStrip) {
    const auto block = row_.QueriesFrom<Bf16>(first, kTileStrip);
    QueryStrip strip = Strip(block);
    Next(first, {{qkv, kQuery}, {qkv, kKey}, {qkv, kValue}, {Data<Bf16>(op_.output), kOutput}},
         &strip);
    device_.kernels.tiles.attend({.strip = strip,
                                  .value_rows = values + block.key * kTileStrip,
                                  .depth = op_.length,
                                  .scores = scratch_.scores.Of(thread_),
                                  .probabilities = scratch_.probabilities.Of(thread_),
                                  .output = Data<Bf16>(op_.output) + row_.Output(head_, first),
                                  .output_stride = row_.output_stride()});
  }
}

void TiledHead::Backward(const AttentionGradients& g) const {
  const Bf16* qkv = Data<Bf16>(op_.qkv);
  const Bf16* d_outputs = Data<Bf16>(g.d_output);
  // One thread takes all heads that share keys, one after the other.
  if (head_ % (op_.heads / op_.kv_heads) == 0) {
    PackColumns(qkv + row_.Key(key_head_, 0), row_.stride(), scratch_.head_keys.Of(thread_));
    PackColumns(qkv + row_.Value(key_head_, 0), row_.stride(), scratch_.head_values.Of(thread_));
    PackRows(qkv + row_.Key(key_head_, 0), row_.stride(), scratch_.key_rows.Of(thread_));
  }
  PackRows(qkv + row_.Query(head_, 0), row_.stride(), scratch_.head_queries.Of(thread_));
  PackRows(d_outputs + row_.Output(head_, 0), row_.output_stride(), scratch_.d_output.Of(thread_));
  const int most = QueryGroup(op_.length);
  for (int first = 0; first < op_.length; first += most) {
    const Group group = StripsBackward(g, first, std::min(most, op_.length - first));
    if (StoresKeys(op_)) {
      Bf16* const to = Data<Bf16>(g.d_qkv);
      ForKeys(group, scratch_.p_transposed.Of(thread_), scratch_.d_output.Of(thread_),
              to + row_.Value(key_head_, 0), row_.stride());
      ForKeys(group, scratch_.d_transposed.Of(thread_), scratch_.head_queries.Of(thread_),
              to + row_.Key(key_head_, 0), row_.stride());
    } else {
      ForKeys(group, scratch_.p_transposed.Of(thread_), scratch_.d_output.Of(thread_),
              scratch_.d_values.Of(thread_), op_.head_dim);
      ForKeys(group, scratch_.d_transposed.Of(thread_), scratch_.head_queries.Of(thread_),
              scratch_.d_keys.Of(thread_), op_.head_dim);
    }
  }
}

TiledHead::Group TiledHead::StripsBackward(const AttentionGradients& g, int first,
                                           int count) const {
  const Bf16* d_outputs = Data<Bf16>(g.d_output);
  float* const means = scratch_.means.Of(thread_);
  Group group{.first = first, .count = count};
  for (int at = 0; at < count; at += kTileStrip) {
    const auto block = row_.QueriesFrom<Bf16>(first + at, kTileStrip);
    const int64_t output = row_.Output(head_, block.first);
    group.key[at / kTileStrip] = block.key;
    device_.narrow.row_products(Data<Bf16>(op_.output) + output, d_outputs + output, kTileStrip,
                                op_.head_dim, row_.output_stride(), means);
    const int64_t to = int64_t{block.key - group.key[0]} * count;
    QueryStrip strip = Strip(block);
    const Bf16 *const qkv = Data<Bf16>(op_.qkv), *const d_qkv = Data<Bf16>(g.d_qkv);
    Next(block.first,
         {{qkv, kQuery},
          {qkv, kKey},
          {qkv, kValue},
          {d_outputs, kOutput},
          {Data<Bf16>(op_.output), kOutput},
          {d_qkv, kQuery},
          {d_qkv, kKey},
          {d_qkv, kValue}},
         &strip);
    device_.kernels.tiles.attend_backward(
        {.strip = strip,
         .d_output = d_outputs + output,
         .output_stride = row_.output_stride(),
         .means = means,
         .value_columns = scratch_.head_values.Of(thread_) + int64_t{block.key} * op_.head_dim,
         .key_rows = scratch_.key_rows.Of(thread_) + block.key * kTileStrip,
         .key_depth = op_.length,
         .d_scores = scratch_.d_narrow.Of(thread_),
         .at = at,
         .depth = count,
         .probabilities_transposed = scratch_.p_transposed.Of(thread_) + to,
         .d_transposed = scratch_.d_transposed.Of(thread_) + to,
         .d_queries = Data<Bf16>(g.d_qkv) + row_.Query(head_, block.first)});
  }
  return group;
}

QueryStrip TiledHead::Strip(const Block<Bf16>& block) const {
  const ScoreBlock scores = Scores(op_, head_, block, nullptr);
  return {.head_dim = op_.head_dim,
          .keys = block.keys,
          .queries = Data<Bf16>(op_.qkv) + row_.Query(head_, block.first),
          .stride = row_.stride(),
          .key_columns = scratch_.head_keys.Of(thread_) + int64_t{block.key} * op_.head_dim,
          .log_sum_exp = Data(op_.log_sum_exp) + row_.LogSumExp(head_, block.first),
          .log_stride = op_.heads,
          .first = block.first_visible,
          .last = scores.last,
          .scale = scores.scale,
          .slope = scores.slope};
}

void TiledHead::Next(int place, std::initializer_list<NextPart> parts, QueryStrip* strip) const {
  const bool same_row = head_ + 1 < op_.heads;
  if (!same_row && row_index_ + 1 == op_.rows) return;
  const Row row(op_, same_row ? row_index_ : row_index_ + 1);
  const int head = same_row ? head_ + 1 : 0, key_head = head / (op_.heads / op_.kv_heads);
  NextRows* next = strip->next;
  for (const auto& [matrix, kind] : parts) {
    if (same_row && key_head == key_head_ && (kind == kKey || kind == kValue)) continue;
    const int64_t at = kind == kQuery   ? row.Query(head, place)
                       : kind == kKey   ? row.Key(key_head, place)
                       : kind == kValue ? row.Value(key_head, place)
                                        : row.Output(head, place);
    *next++ = {matrix + at, kind == kOutput ? row.output_stride() : row.stride()};
  }
}

template <typename Out>
void TiledHead::ForKeys(const Group& group, const Bf16* transposed, const Bf16* b, Out* to,
                        int64_t stride) const {
  int begin = 0, end = 0;  // of the group's queries, those that see any of the keys
  for (int key = group.key[0]; key < group.first + group.count; key += kTileStrip) {
    begin = std::max(0, key - group.first);
    while (end < group.count && group.key[end / kTileStrip] <= key) end += kTileStrip;
    const Bf16* const a = transposed + int64_t{key - group.key[0]} * group.count;
    TileProduct<Out> product{.m = kTileStrip,
                             .n = op_.head_dim,
                             .k = end - begin,
                             .a = a + begin * kTileStrip,
                             .b = b + (group.first + begin) * kTileStrip,
                             .b_depth = op_.length,
                             .c = to + key * stride,
                             .c_stride = stride};
    if constexpr (std::is_same_v<Out, float>) product.addend = product.c;
    device_.Multiply(product);
  }
}

void TiledHead::PackRows(const Bf16* rows, int64_t stride, Bf16* packed) const {
  device_.kernels.tiles.pack_rows(rows, stride, op_.length, op_.head_dim, 0, op_.length, packed);
}

void TiledHead::PackColumns(const Bf16* rows, int64_t stride, Bf16* packed) const {
  device_.kernels.tiles.pack_columns(rows, stride, op_.length, op_.head_dim, packed);
}

}  // namespace gyre::cpu
