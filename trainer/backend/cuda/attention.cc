#include "trainer/backend/cuda/operations.h"

namespace gyre::cuda {
namespace {

AttentionShape ShapeOf(const Attention& op) {
  return {.rows = op.rows,
          .length = op.length,
          .heads = op.heads,
          .kv_heads = op.kv_heads,
          .head_dim = op.head_dim,
          .window = op.window,
          .slopes = Data(op.alibi_slopes),
          .document_starts = Data(op.document_starts)};
}

}  // namespace

template <typename Narrow>
void AttentionForward(const Device& device, const Attention& op) {
  AttentionForward<Narrow>(device.stream, ShapeOf(op), Data<Narrow>(op.qkv),
                           Data<Narrow>(op.output), Data(op.log_sum_exp));
}

template <typename Narrow>
void AttentionBackward(const Device& device, const Attention& op, const AttentionGradients& g) {
  const AttentionShape shape = ShapeOf(op);
  const Temporary<float> sums(device.memory, AttentionSums(shape));
  AttentionBackward<Narrow>(device.stream, shape, Data<Narrow>(op.qkv), Data<Narrow>(op.output),
                            Data(op.log_sum_exp), Data<Narrow>(g.d_output), sums,
                            Data<Narrow>(g.d_qkv));
}

template <typename Narrow>
void CollectAttentionStatistics(const Device& device, const AttentionStatistics& op) {
  const AttentionShape shape = ShapeOf(op.attention);
  const Temporary<float> sums(device.memory, StatisticsSums(shape));
  CollectStatistics(device.stream, shape, Data<Narrow>(op.attention.qkv),
                    Data(op.attention.log_sum_exp),
                    {.lengths = Data(op.lengths),
                     .pairs = Data(op.pairs),
                     .amplitudes = Data(op.amplitudes),
                     .norms = Data(op.norms),
                     .first_norms = Data(op.first_norms),
                     .contributions = Data(op.contributions),
                     .first_contributions = Data(op.first_contributions),
                     .scores = Data(op.scores)},
                    sums);
}

#define GYRE_INSTANTIATE(Narrow)                                                               \
  template void CollectAttentionStatistics<Narrow>(const Device&, const AttentionStatistics&); \
  template void AttentionForward<Narrow>(const Device&, const Attention&);                     \
  template void AttentionBackward<Narrow>(const Device&, const Attention&,                     \
                                          const AttentionGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cuda
