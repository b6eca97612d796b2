#include "trainer/pretrained/export_config.h"

#include <algorithm>
#include <cmath>

namespace gyre {
namespace {

// The block as hugging_face_position.cc reads it.
Json EncodingJson(const EncodingConfig& encoding) {
  Json json = {
      {"type", encoding.type}, {"theta", encoding.theta},     {"p", encoding.p},
      {"keep", encoding.keep}, {"spacing", encoding.spacing}, {"pairing", encoding.pairing}};
  if (encoding.band) json["band"] = {encoding.band->first, encoding.band->second};
  const ScalingConfig& scaling = encoding.scaling;
  json["scaling"] = {{"type", scaling.type}};
  if (scaling.type == "none") return json;
  Json& of = json["scaling"];
  of["factor"] = scaling.factor;
  of["original_max_position_embeddings"] = scaling.original_max_position_embeddings;
  of["low_freq_factor"] = scaling.low_freq_factor;
  of["high_freq_factor"] = scaling.high_freq_factor;
  of["beta_fast"] = scaling.beta_fast;
  of["beta_slow"] = scaling.beta_slow;
  if (scaling.attention_factor) of["attention_factor"] = *scaling.attention_factor;
  return json;
}

std::vector<int> WindowsOf(const ModelConfig& model, const PositionConfig& position) {
  if (!position.windows.empty()) return position.windows;
  return std::vector<int>(static_cast<size_t>(model.num_hidden_layers), model.sliding_window);
}

Json GyreBlock(const ModelConfig& model, const PositionConfig& position) {
  Json block = {{"position", EncodingJson(position.common)}};
  for (const EncodingConfig& layer : position.layers) {
    block["position"]["layers"].push_back(EncodingJson(layer));
  }
  block["attention"] = {{"qk_norm", model.qk_norm}, {"windows", WindowsOf(model, position)}};
  if (!model.gated()) block["mlp"] = model.mlp;
  return block;
}

class RopeKeys {
 public:
  RopeKeys(const ModelConfig& model, const PositionConfig& position, ExportedConfig* exported)
      : model_(model), position_(position), exported_(exported) {}

  // rope_parameters, of which rope_scaling is the older form.
  Json Parameters() {
    CheckModel();
    const bool mixed = std::any_of(position_.layers.begin(), position_.layers.end(),
                                   [&](const EncodingConfig& e) { return e != Common(); });
    if (mixed) Cannot("an encoding that differs from layer to layer");
    const Json parameters = Rope(Common());
    return exported_->not_in_transformers.empty() ? parameters : Json{{"rope_type", "gyre"}};
  }

 private:
  const EncodingConfig& Common() const {
    return position_.layers.empty() ? position_.common : position_.layers.front();
  }
  void Cannot(const std::string& what) { exported_->not_in_transformers.push_back(what); }

  void CheckModel() {
    const std::vector<int> windows = WindowsOf(model_, position_);
    if (std::any_of(windows.begin(), windows.end(), [](int window) { return window > 0; })) {
      Cannot("attention within a window (model.sliding_window)");
    }
    if (!model_.gated()) Cannot("an MLP without a gate (model.mlp)");
    if (model_.qk_norm) Cannot("a norm of queries and keys (model.qk_norm)");
  }

  Json Rope(const EncodingConfig& encoding) {
    if (encoding.type == "alibi") {
      Cannot("ALiBi (position.type)");
      return {};
    }
    if (encoding.type == "nope") return Proportional(encoding, 0);
    if (encoding.pairing == "interleaved") {
      Cannot("interleaved pairs (position.pairing): its pairs are (k, k + head_dim / 2)");
    }
    const int pairs = model_.head_dim / 2;
    int first = 0, last = static_cast<int>(std::floor(encoding.p * model_.head_dim / 2));
    if (encoding.keep == "low") first = pairs - last, last = pairs;
    if (encoding.band) first = encoding.band->first, last = encoding.band->second;
    if (encoding.spacing == "respaced" && encoding.p < 1) {
      Cannot(
          "a ladder on a part of the head (position.spacing respaced): its Llama and Gemma "
          "rotate whole heads");
      return {};
    }
    if (first == last) {
      if (encoding.scaling.type == "yarn") Cannot("yarn's factor of attention without a rotation");
      return Proportional(encoding, 0);
    }
    if (first > 0) {
      Cannot("frequencies without the highest (position.keep low, position.band)");
      return {};
    }
    return last < pairs ? Proportional(encoding, last) : Whole(encoding);
  }

  // p-RoPE: the ladder's first `kept` pairs.
  Json Proportional(const EncodingConfig& encoding, int kept) {
    const ScalingConfig& scaling = encoding.scaling;
    Json parameters = {{"rope_type", "proportional"}, {"rope_theta", encoding.theta}};
    double p = 2.0 * kept / model_.head_dim;
    // int(p * head_dim // 2) must come to `kept` again.
    while (std::floor(p * model_.head_dim / 2) < kept) p = std::nextafter(p, 2.0);
    parameters["partial_rotary_factor"] = p;
    if (kept > 0 && scaling.type == "linear") parameters["factor"] = scaling.factor;
    if (kept > 0 && scaling.type != "none" && scaling.type != "linear") {
      Cannot("a part of the frequencies (position.p) under scaling " + scaling.type);
    }
    exported_->notes.push_back(
        "rope_type proportional (p-RoPE, NoPE) is known to newer versions of transformers alone; "
        "older ones refuse it");
    return parameters;
  }

  Json Whole(const EncodingConfig& encoding) {
    const ScalingConfig& scaling = encoding.scaling;
    Json parameters = {{"rope_type", scaling.type == "none" ? "default" : scaling.type},
                       {"rope_theta", encoding.theta}};
    if (scaling.type == "none") return parameters;
    parameters["factor"] = scaling.factor;
    if (scaling.type == "linear") return parameters;
    parameters["original_max_position_embeddings"] = scaling.original_max_position_embeddings;
    if (scaling.type == "llama3") {
      parameters["low_freq_factor"] = scaling.low_freq_factor;
      parameters["high_freq_factor"] = scaling.high_freq_factor;
    }
    if (scaling.type == "yarn") {
      parameters["beta_fast"] = scaling.beta_fast;
      parameters["beta_slow"] = scaling.beta_slow;
      if (scaling.attention_factor) parameters["attention_factor"] = *scaling.attention_factor;
    }
    return parameters;
  }

  const ModelConfig& model_;
  const PositionConfig& position_;
  ExportedConfig* exported_;
};

// Hugging Face's dynamic scaling begins beyond this number; for yarn some of its versions take the
// ratio between it and the original one in place of the factor.
int64_t MaxPositions(const EncodingConfig& encoding, int context) {
  const ScalingConfig& scaling = encoding.scaling;
  if (encoding.type != "rope") return context;
  if (scaling.type == "dynamic") return scaling.original_max_position_embeddings;
  if (scaling.type != "yarn") return context;
  return std::llround(scaling.factor * scaling.original_max_position_embeddings);
}

}  // namespace

ExportedConfig ExportConfig(const ModelConfig& model, const PositionConfig& position, int context,
                            int bos) {
  ExportedConfig exported;
  const bool gemma = model.model_type == "gemma";
  Json& json = exported.json;
  json = {{"architectures", {gemma ? "GemmaForCausalLM" : "LlamaForCausalLM"}},
          {"model_type", model.model_type},
          {"vocab_size", model.vocab_size},
          {"num_hidden_layers", model.num_hidden_layers},
          {"hidden_size", model.hidden_size},
          {"intermediate_size", model.intermediate_size},
          {"num_attention_heads", model.num_attention_heads},
          {"num_key_value_heads", model.num_key_value_heads},
          {"head_dim", model.head_dim},
          {"hidden_act", gemma ? "gelu_pytorch_tanh" : "silu"},
          {"rms_norm_eps", model.rms_norm_eps},
          {"initializer_range", model.initializer_range},
          {"tie_word_embeddings", model.tie_word_embeddings},
          {"attention_bias", false},
          {"attention_dropout", 0.0},
          {"torch_dtype", "float32"},
          {"dtype", "float32"},
          {"bos_token_id", bos < 0 ? Json() : Json(bos)},
          {"eos_token_id", nullptr},
          {"pad_token_id", nullptr}};
  if (gemma) json["hidden_activation"] = "gelu_pytorch_tanh";
  json["max_position_embeddings"] =
      MaxPositions(position.layers.empty() ? position.common : position.layers[0], context);
  const Json rope = RopeKeys(model, position, &exported).Parameters();
  json["rope_parameters"] = rope;
  if (rope.contains("rope_theta")) json["rope_theta"] = rope["rope_theta"];
  json["rope_scaling"] = rope["rope_type"] == "default" ? Json() : rope;
  json["gyre"] = GyreBlock(model, position);
  return exported;
}

}  // namespace gyre
