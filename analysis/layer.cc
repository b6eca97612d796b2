#include "analysis/layer.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include "analysis/residual.h"
#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/processor.h"

namespace gyre {
namespace {

void Add(const std::vector<double>& from, size_t at, std::vector<double>* to) {
  for (size_t i = 0; i < from.size(); ++i) (*to)[at + i] += from[i];
}

// The sums of one head of one window, where the layer's sums have that head.
void AddTo(AttentionSums* sums, const LayerAttention& layer, int head, const HeadSums& add) {
  const auto pairs = static_cast<size_t>(layer.pairs), number = static_cast<size_t>(head);
  const size_t key_head = number / static_cast<size_t>(layer.heads / layer.kv_heads);
  const size_t at[] = {
      number * pairs, (static_cast<size_t>(layer.heads) + key_head) * pairs,
      static_cast<size_t>(layer.heads + layer.kv_heads) * pairs + key_head * pairs};
  for (const int tensor : {0, 1, 2}) {
    Add(add.first_norms[tensor], at[tensor], &sums->first_norms);
    Add(add.other_norms[tensor], at[tensor], &sums->other_norms);
  }
  Add(add.first_contributions, number * pairs, &sums->first_contributions);
  Add(add.other_contributions, number * pairs, &sums->other_contributions);
  for (size_t s = 0; s < HeadScore::kCount; ++s) {
    sums->scores[number * HeadScore::kCount + s] += add.scores[s];
  }
}

void CountTokens(int tokens, int window, AttentionSums* sums) {
  sums->first_tokens += 1;
  sums->other_tokens += tokens - 1;
  for (int query = 0; query < tokens; ++query) {
    sums->seen_keys += window > 0 ? std::min(query + 1, window) : query + 1;
  }
}

}  // namespace

LayerPass::LayerPass(const LayerContext& context, int layer, const LayerPosition& position)
    : context_(context),
      model_(context.config->model),
      extras_(context.config->extras),
      prefix_("model.layers." + std::to_string(layer) + "."),
      attention_(model_, extras_, position, context.length) {
  for (int thread = 0; thread < context.pool->size(); ++thread) {
    heads_.push_back(std::make_unique<HeadAttention>(&attention_, context.length));
  }
}

Result<std::unique_ptr<LayerPass>> LayerPass::Create(const LayerContext& context, int layer,
                                                     const LayerPosition& position) {
  std::unique_ptr<LayerPass> pass(new LayerPass(context, layer, position));
  GYRE_RETURN_IF_ERROR(pass->ReadVectors());
  return pass;
}

Status LayerPass::ReadVectors() {
  const bool gemma = model_.model_type == "gemma";
  const auto gain = [&](const char* name, int size, bool adds_one,
                        std::vector<float>* to) -> Status {
    GYRE_ASSIGN_OR_RETURN(std::vector<float> weight,
                          context_.weights->Vector(prefix_ + name + ".weight", size));
    *to = GainOf(std::move(weight), adds_one);
    return OkStatus();
  };
  const int hidden = model_.hidden_size;
  GYRE_RETURN_IF_ERROR(gain("input_layernorm", hidden, gemma, &input_gain_));
  if (extras_.post_norms) {
    GYRE_RETURN_IF_ERROR(gain("post_attention_layernorm", hidden, gemma, &after_attention_gain_));
    GYRE_RETURN_IF_ERROR(gain("pre_feedforward_layernorm", hidden, gemma, &mlp_gain_));
    GYRE_RETURN_IF_ERROR(gain("post_feedforward_layernorm", hidden, gemma, &after_mlp_gain_));
  } else {
    GYRE_RETURN_IF_ERROR(gain("post_attention_layernorm", hidden, gemma, &mlp_gain_));
  }
  if (model_.qk_norm) {
    const bool adds_one = extras_.qk_norm_adds_one;
    GYRE_RETURN_IF_ERROR(gain("self_attn.q_norm", model_.head_dim, adds_one, &q_gain_));
    GYRE_RETURN_IF_ERROR(gain("self_attn.k_norm", model_.head_dim, adds_one, &k_gain_));
  }
  if (!extras_.qkv_bias) return OkStatus();
  const int query = model_.num_attention_heads * model_.head_dim;
  const int key = model_.num_key_value_heads * model_.head_dim;
  for (const auto& [name, size] :
       {std::pair("q", query), std::pair("k", key), std::pair("v", key)}) {
    GYRE_ASSIGN_OR_RETURN(
        const std::vector<float> bias,
        context_.weights->Vector(prefix_ + "self_attn." + name + "_proj.bias", size));
    qkv_bias_.insert(qkv_bias_.end(), bias.begin(), bias.end());
  }
  return OkStatus();
}

void LayerPass::NormalizeRows(const float* x, int64_t tokens, const std::vector<float>& gain,
                              float* y) const {
  const size_t hidden = gain.size();
  context_.pool->Share(tokens, [&](int64_t t, int) {
    const auto at = static_cast<size_t>(t) * hidden;
    NormalizeRow({x + at, hidden}, gain, model_.rms_norm_eps, y + at);
  });
}

// residual += projected_, normed first where there is a gain.
void LayerPass::AddRows(const std::vector<float>& gain, int64_t tokens, float* residual) {
  const auto hidden = static_cast<size_t>(model_.hidden_size);
  context_.pool->Share(tokens, [&](int64_t t, int) {
    const auto at = static_cast<size_t>(t) * hidden;
    float* row = projected_.data() + at;
    if (!gain.empty()) NormalizeRow({row, hidden}, gain, model_.rms_norm_eps, row);
    for (size_t i = 0; i < hidden; ++i) residual[at + i] += row[i];
  });
}

// Bias, and the norms of queries and keys.
void LayerPass::FinishQkv(float* row) const {
  for (size_t i = 0; i < qkv_bias_.size(); ++i) row[i] += qkv_bias_[i];
  if (q_gain_.empty()) return;
  const auto size = static_cast<size_t>(model_.head_dim);
  for (int head = 0; head < model_.num_attention_heads + model_.num_key_value_heads; ++head) {
    float* x = row + static_cast<size_t>(head) * size;
    const std::vector<float>& gain = head < model_.num_attention_heads ? q_gain_ : k_gain_;
    NormalizeRow({x, size}, gain, model_.rms_norm_eps, x);
  }
}

Status LayerPass::MakeQkv(const float* residual, int64_t tokens) {
  const int64_t hidden = model_.hidden_size, width = attention_.width();
  normed_.resize(static_cast<size_t>(tokens * hidden));
  qkv_.resize(static_cast<size_t>(tokens * width));
  NormalizeRows(residual, tokens, input_gain_, normed_.data());
  int64_t at = 0;
  for (const auto& [name, heads] :
       {std::pair("q", model_.num_attention_heads), std::pair("k", model_.num_key_value_heads),
        std::pair("v", model_.num_key_value_heads)}) {
    const int64_t outputs = int64_t{heads} * model_.head_dim;
    GYRE_RETURN_IF_ERROR(context_.linear->Multiply(prefix_ + "self_attn." + name + "_proj.weight",
                                                   {normed_.data(), tokens, hidden}, outputs,
                                                   qkv_.data() + at, width));
    at += outputs;
  }
  context_.pool->Share(tokens, [&](int64_t t, int) { FinishQkv(qkv_.data() + t * width); });
  return OkStatus();
}

Status LayerPass::AttendWindows(const std::vector<WindowPlace>& windows, AttentionSums* sums,
                                AttentionTrace* trace) {
  const int64_t heads = model_.num_attention_heads, base = windows.front().first;
  const int64_t out_width = heads * model_.head_dim;
  std::vector<HeadSums> all(windows.size() * static_cast<size_t>(heads));
  std::atomic<bool> failed{false};
  context_.pool->Share(static_cast<int64_t>(all.size()), [&](int64_t i, int thread) {
    const auto window = static_cast<size_t>(i / heads);
    const int64_t at = windows[window].first - base;
    const bool done = heads_[static_cast<size_t>(thread)]->Run(
        qkv_.data() + at * attention_.width(), windows[window].tokens, static_cast<int>(i % heads),
        attended_.data() + at * out_width, &all[static_cast<size_t>(i)],
        window == 0 ? trace : nullptr);
    if (!done) failed = true;
  });
  if (failed) return ResourceExhausted("there is not enough memory for attention");
  // In their order, whoever computed them.
  for (size_t i = 0; i < all.size(); ++i) {
    AddTo(sums, attention_, static_cast<int>(static_cast<int64_t>(i) % heads), all[i]);
  }
  for (const WindowPlace& window : windows) CountTokens(window.tokens, attention_.window, sums);
  return OkStatus();
}

Status LayerPass::Attend(const std::vector<WindowPlace>& windows, float* residual,
                         AttentionSums* sums, AttentionTrace* trace) {
  const int64_t hidden = model_.hidden_size;
  const int64_t inputs = int64_t{model_.num_attention_heads} * model_.head_dim;
  int64_t tokens = 0;
  for (const WindowPlace& window : windows) tokens += window.tokens;
  float* rows = residual + windows.front().first * hidden;
  GYRE_RETURN_IF_ERROR(MakeQkv(rows, tokens));
  attended_.resize(static_cast<size_t>(tokens * inputs));
  projected_.resize(static_cast<size_t>(tokens * hidden));
  GYRE_RETURN_IF_ERROR(AttendWindows(windows, sums, trace));
  GYRE_RETURN_IF_ERROR(context_.linear->Multiply(prefix_ + "self_attn.o_proj.weight",
                                                 {attended_.data(), tokens, inputs}, hidden,
                                                 projected_.data(), hidden));
  AddRows(after_attention_gain_, tokens, rows);
  return OkStatus();
}

Status LayerPass::Feed(float* residual, int64_t tokens) {
  const int64_t hidden = model_.hidden_size, inner = model_.intermediate_size;
  const int64_t width = model_.gated() ? 2 * inner : inner;
  normed_.resize(static_cast<size_t>(tokens * hidden));
  gate_up_.resize(static_cast<size_t>(tokens * width));
  activated_.resize(static_cast<size_t>(tokens * inner));
  projected_.resize(static_cast<size_t>(tokens * hidden));
  NormalizeRows(residual, tokens, mlp_gain_, normed_.data());
  const Linear::Input input{normed_.data(), tokens, hidden};
  if (model_.gated()) {
    GYRE_RETURN_IF_ERROR(context_.linear->Multiply(prefix_ + "mlp.gate_proj.weight", input, inner,
                                                   gate_up_.data(), width));
  }
  GYRE_RETURN_IF_ERROR(context_.linear->Multiply(prefix_ + "mlp.up_proj.weight", input, inner,
                                                 gate_up_.data() + width - inner, width));
  const cpu::Kernels& kernels = *cpu::SupportedKernels().front();
  const Activation activation =
      model_.model_type == "gemma" ? Activation::kGeluTanh : Activation::kSilu;
  context_.pool->Share(tokens, [&](int64_t t, int) {
    float* row = gate_up_.data() + t * width;
    kernels.to_float.activate({.activation = activation,
                               .gated = model_.gated(),
                               .rows = 1,
                               .intermediate = model_.intermediate_size},
                              row, row, activated_.data() + t * inner);
  });
  GYRE_RETURN_IF_ERROR(context_.linear->Multiply(prefix_ + "mlp.down_proj.weight",
                                                 {activated_.data(), tokens, inner}, hidden,
                                                 projected_.data(), hidden));
  AddRows(after_mlp_gain_, tokens, residual);
  return OkStatus();
}

}  // namespace gyre
