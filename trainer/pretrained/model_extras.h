#pragma once

// What a pretrained decoder has beyond the trainer's ModelConfig. `gyre analyze` follows these; the
// trainer has no form of them and refuses such a model by name.

#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/model/parameters.h"

namespace gyre {

struct ModelExtras {
  bool qkv_bias = false;  // Qwen 2: q_proj.bias, k_proj.bias, v_proj.bias
  /// Gemma 2, 3: post_attention_layernorm comes after attention, before the sum; the MLP has
  /// pre_feedforward_layernorm before and post_feedforward_layernorm after it.
  bool post_norms = false;
  bool qk_norm_adds_one = false;  // Gemma 3: q_norm, k_norm have the (1 + w) form
  double query_scale = 0;         // factor of the logits; 0: 1 / sqrt(head_dim)
  double attention_softcap = 0;   // cap * tanh(logit / cap) before the mask; 0: none
  double logit_softcap = 0;       // the same of the head's logits
  friend bool operator==(const ModelExtras&, const ModelExtras&) = default;
};

/// What there is, in words; empty: nothing.
std::vector<std::string> Describe(const ModelExtras& extras);

/// INVALID_ARGUMENT if there is anything: says what, and that `gyre analyze` takes it.
Status CheckTrainable(const ModelExtras& extras);

/// The tensors that come beside those of ParameterLayout::Create(model): name, shape, count.
std::vector<Parameter> ExtraParameters(const ModelConfig& model, const ModelExtras& extras);

}  // namespace gyre
