#include "trainer/pretrained/model_extras.h"

#include <sstream>

namespace gyre {
namespace {

std::string With(const std::string& what, double number) {
  std::ostringstream text;
  text << what << " " << number;
  return text.str();
}

}  // namespace

std::vector<std::string> Describe(const ModelExtras& extras) {
  std::vector<std::string> found;
  if (extras.qkv_bias) found.push_back("biases of q_proj, k_proj and v_proj");
  if (extras.post_norms) found.push_back("norms after attention and MLP");
  if (extras.qk_norm_adds_one) found.push_back("q_norm and k_norm of the form 1 + w");
  if (extras.query_scale != 0) found.push_back(With("logits times", extras.query_scale));
  if (extras.attention_softcap != 0) {
    found.push_back(With("attention logits capped at", extras.attention_softcap));
  }
  if (extras.logit_softcap != 0) {
    found.push_back(With("output logits capped at", extras.logit_softcap));
  }
  return found;
}

Status CheckTrainable(const ModelExtras& extras) {
  std::string list;
  for (const std::string& what : Describe(extras)) list += (list.empty() ? "" : ", ") + what;
  if (list.empty()) return OkStatus();
  return InvalidArgument("the model has what the trainer does not: " + list +
                         "; `gyre analyze` looks at such models");
}

std::vector<Parameter> ExtraParameters(const ModelConfig& model, const ModelExtras& extras) {
  std::vector<Parameter> found;
  const auto add = [&found](std::string name, int64_t count) {
    found.push_back({.name = std::move(name), .shape = {count}, .count = count});
  };
  const int64_t queries = int64_t{model.num_attention_heads} * model.head_dim;
  const int64_t keys = int64_t{model.num_key_value_heads} * model.head_dim;
  for (int l = 0; l < model.num_hidden_layers; ++l) {
    const std::string layer = "model.layers." + std::to_string(l) + ".";
    if (extras.qkv_bias) {
      add(layer + "self_attn.q_proj.bias", queries);
      add(layer + "self_attn.k_proj.bias", keys);
      add(layer + "self_attn.v_proj.bias", keys);
    }
    if (extras.post_norms) {
      add(layer + "pre_feedforward_layernorm.weight", model.hidden_size);
      add(layer + "post_feedforward_layernorm.weight", model.hidden_size);
    }
  }
  return found;
}

}  // namespace gyre
