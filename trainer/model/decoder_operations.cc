// Which operation gets which weights and activations.

#include <cmath>

#include "trainer/model/decoder.h"

namespace gyre {

Embedding Decoder::EmbeddingOp() const {
  return {.tokens = int64_t{rows_} * length_,
          .hidden = config_.hidden_size,
          .scale = gemma() ? std::sqrt(config_.hidden_size) : 1.0,
          .ids = ids_,
          .table = weights_.At(layout_.embedding),
          .x = activations_.layers[0].x};
}

void Decoder::SetAttentionOps(size_t l, const LayerActivations& own, LayerOps* layer) const {
  LayerOps& ops = *layer;
  const int64_t tokens = int64_t{rows_} * length_;
  const LayerOffsets& at = layout_.layers[l];
  const int heads = config_.num_attention_heads, kv_heads = config_.num_key_value_heads;
  const int head_dim = config_.head_dim, hidden = config_.hidden_size;
  ops.qkv = {.rows = rows_,
             .length = length_,
             .hidden = hidden,
             .heads = heads,
             .kv_heads = kv_heads,
             .head_dim = head_dim,
             .kind = norm(),
             .x = own.x,
             .norm_weight = weights_.At(at.input_norm),
             .weight = weights_.At(at.qkv),
             .rotation = &layers_[l].rotation,
             .inverse_rms = own.inverse_rms,
             .qkv = own.qkv,
             .raw_qk = own.raw_qk,
             .qk_inverse_rms = own.qk_inverse_rms};
  if (config_.qk_norm) {
    ops.qkv.q_norm = weights_.At(at.q_norm);
    ops.qkv.k_norm = weights_.At(at.k_norm);
  }
  ops.attention = {.rows = rows_,
                   .length = length_,
                   .heads = heads,
                   .kv_heads = kv_heads,
                   .head_dim = head_dim,
                   .window = layers_[l].window,
                   .alibi_slopes = layers_[l].alibi_slopes,
                   .document_starts = masks_documents_ ? document_starts_ : Ints(),
                   .qkv = own.qkv,
                   .output = own.attention,
                   .log_sum_exp = own.log_sum_exp};
  ops.out = {.tokens = tokens,
             .inputs = heads * head_dim,
             .outputs = hidden,
             .x = own.attention,
             .weight = weights_.At(at.o),
             .residual = own.x,
             .y = own.middle};
}

Decoder::LayerOps Decoder::OpsOf(size_t l, const LayersActivations& all) const {
  const LayerOffsets& at = layout_.layers[l];
  const LayerActivations& own = all[l];
  LayerOps ops;
  SetAttentionOps(l, own, &ops);
  ops.mlp = {.tokens = int64_t{rows_} * length_,
             .hidden = config_.hidden_size,
             .intermediate = config_.intermediate_size,
             .kind = norm(),
             .activation = gemma() ? Activation::kGeluTanh : Activation::kSilu,
             .gated = config_.gated(),
             .x = own.middle,
             .norm_weight = weights_.At(at.post_attention_norm),
             .weight = weights_.At(at.gate_up),
             .down = weights_.At(at.down),
             .inverse_rms = own.middle_inverse_rms,
             .gate_up = own.gate_up,
             .y = l + 1 < layers_.size() ? all[l + 1].x : activations_.last};
  return ops;
}

Norm Decoder::FinalNormOp() const {
  return {.tokens = int64_t{rows_} * length_,
          .hidden = config_.hidden_size,
          .kind = norm(),
          .x = activations_.last,
          .weight = weights_.At(layout_.final_norm),
          .y = activations_.final_normed,
          .inverse_rms = activations_.final_inverse_rms};
}

LinearCrossEntropy Decoder::LossOp() const {
  return {.tokens = int64_t{rows_} * length_,
          .hidden = config_.hidden_size,
          .vocab = config_.vocab_size,
          .targets = targets_,
          .x = activations_.final_normed,
          .weight = weights_.At(layout_.head),
          .nll = activations_.nll};
}

}  // namespace gyre
