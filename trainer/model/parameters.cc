#include "trainer/model/parameters.h"

namespace gyre {
namespace {

// Beyond this a product of sizes could leave the range of the backends' indices.
constexpr int kLargestSize = 1 << 24;

Status CheckShapes(const ModelConfig& config) {
  const std::pair<const char*, int> sizes[] = {{"vocab_size", config.vocab_size},
                                               {"num_hidden_layers", config.num_hidden_layers},
                                               {"hidden_size", config.hidden_size},
                                               {"intermediate_size", config.intermediate_size},
                                               {"num_attention_heads", config.num_attention_heads},
                                               {"num_key_value_heads", config.num_key_value_heads},
                                               {"head_dim", config.head_dim}};
  for (const auto& [key, size] : sizes) {
    if (size < 1 || size > kLargestSize) {
      return InvalidArgument(std::string("model.") + key + " must be between 1 and " +
                             std::to_string(kLargestSize) + ", and is " + std::to_string(size));
    }
  }
  const int64_t width = static_cast<int64_t>(config.num_attention_heads) * config.head_dim;
  if (width > kLargestSize) {
    return InvalidArgument("model: num_attention_heads * head_dim is above " +
                           std::to_string(kLargestSize));
  }
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    return InvalidArgument(
        "model.num_key_value_heads = " + std::to_string(config.num_key_value_heads) +
        " does not divide the " + std::to_string(config.num_attention_heads) + " attention heads");
  }
  if (config.model_type != "llama" && config.model_type != "gemma") {
    return InvalidArgument("model.model_type: '" + config.model_type +
                           "' is not one of llama, gemma");
  }
  if (config.mlp != "gated" && config.mlp != "plain") {
    return InvalidArgument("model.mlp: '" + config.mlp + "' is not one of gated, plain");
  }
  if (!(config.rms_norm_eps >= 0 && config.rms_norm_eps < 1)) {
    return InvalidArgument("model.rms_norm_eps must be at least 0 and below 1");
  }
  return OkStatus();
}

// Appends parameters one after another.
class Builder {
 public:
  explicit Builder(ParameterLayout* layout) : layout_(layout) {}

  int64_t Add(const std::string& name, std::vector<int64_t> shape) {
    Parameter parameter{name + ".weight", std::move(shape), layout_->total, 1};
    for (const int64_t size : parameter.shape) parameter.count *= size;
    layout_->total += parameter.count;
    layout_->parameters.push_back(std::move(parameter));
    return layout_->parameters.back().offset;
  }

 private:
  ParameterLayout* layout_;
};

}  // namespace

Result<ParameterLayout> ParameterLayout::Create(const ModelConfig& config) {
  GYRE_RETURN_IF_ERROR(CheckShapes(config));
  const int64_t hidden = config.hidden_size, inner = config.intermediate_size;
  const int64_t queries = static_cast<int64_t>(config.num_attention_heads) * config.head_dim;
  const int64_t keys = static_cast<int64_t>(config.num_key_value_heads) * config.head_dim;
  ParameterLayout layout;
  layout.layers.resize(config.num_hidden_layers);
  Builder builder(&layout);
  layout.embedding = builder.Add("model.embed_tokens", {config.vocab_size, hidden});
  const auto prefix = [](size_t l) { return "model.layers." + std::to_string(l) + "."; };
  for (size_t l = 0; l < layout.layers.size(); ++l) {
    LayerOffsets& layer = layout.layers[l];
    layer.qkv = builder.Add(prefix(l) + "self_attn.q_proj", {queries, hidden});
    builder.Add(prefix(l) + "self_attn.k_proj", {keys, hidden});
    builder.Add(prefix(l) + "self_attn.v_proj", {keys, hidden});
    layer.o = builder.Add(prefix(l) + "self_attn.o_proj", {hidden, queries});
    layer.gate_up = layout.total;
    if (config.gated()) builder.Add(prefix(l) + "mlp.gate_proj", {inner, hidden});
    builder.Add(prefix(l) + "mlp.up_proj", {inner, hidden});
    layer.down = builder.Add(prefix(l) + "mlp.down_proj", {hidden, inner});
  }
  layout.head = config.tie_word_embeddings ? layout.embedding
                                           : builder.Add("lm_head", {config.vocab_size, hidden});
  layout.matrices = layout.total;
  for (size_t l = 0; l < layout.layers.size(); ++l) {
    LayerOffsets& layer = layout.layers[l];
    layer.input_norm = builder.Add(prefix(l) + "input_layernorm", {hidden});
    if (config.qk_norm) {
      layer.q_norm = builder.Add(prefix(l) + "self_attn.q_norm", {config.head_dim});
      layer.k_norm = builder.Add(prefix(l) + "self_attn.k_norm", {config.head_dim});
    }
    layer.post_attention_norm = builder.Add(prefix(l) + "post_attention_layernorm", {hidden});
  }
  layout.final_norm = builder.Add("model.norm", {hidden});
  return layout;
}

const Parameter* ParameterLayout::Find(const std::string& name) const {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

}  // namespace gyre
