#include <algorithm>
#include <cmath>
#include <utility>

#include "trainer/pretrained/gguf_file.h"
#include "trainer/pretrained/gguf_rope.h"
#include "trainer/pretrained/json_reader.h"
#include "trainer/pretrained/model_file.h"

namespace gyre {
namespace {

struct Architecture {
  std::string_view name, model_type;
  bool interleaved;       // llama.cpp's rope type NORM; the others are NEOX
  int layers_of_27b = 0;  // whose queries are scaled by hidden_size / heads
};

constexpr Architecture kArchitectures[] = {{"llama", "llama", true},
                                           {"smollm3", "smollm3", true},
                                           {"qwen2", "qwen2", false},
                                           {"qwen3", "qwen3", false},
                                           {"gemma", "gemma", false},
                                           {"gemma2", "gemma2", false, 46},
                                           {"gemma3", "gemma3_text", false, 62}};

Result<Architecture> ArchitectureOf(const Json& values) {
  Status status;
  std::string name, known;
  JsonReader(values, "", &status).Required("general.architecture", &name);
  GYRE_RETURN_IF_ERROR(status);
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  return InvalidArgument("general.architecture is '" + name + "'; known are " + known);
}

// Keys of GGUF in Hugging Face's spelling.
class ConfigWriter {
 public:
  ConfigWriter(const GgufFile& file, const Architecture& architecture, Status* status)
      : file_(file),
        architecture_(architecture),
        status_(status),
        in_(file.values(), "", status),
        prefix_(std::string(architecture.name) + ".") {}

  Json Write() {
    json_["model_type"] = architecture_.model_type;
    json_["num_hidden_layers"] = layers_ = Count("block_count", 0);
    json_["hidden_size"] = hidden_ = Count("embedding_length", 0);
    json_["intermediate_size"] = Count("feed_forward_length", 0);
    json_["num_attention_heads"] = heads_ = Count("attention.head_count", 0);
    json_["num_key_value_heads"] = Count("attention.head_count_kv", heads_);
    json_["head_dim"] = head_dim_ =
        Count("attention.key_length", heads_ > 0 ? hidden_ / heads_ : 0);
    if (Count("attention.value_length", head_dim_) != head_dim_) {
      Fail("attention.value_length", "differs from attention.key_length");
    }
    double eps = 0;
    in_.Required(prefix_ + "attention.layer_norm_rms_epsilon", &eps);
    json_["rms_norm_eps"] = eps;
    int context = 0;
    if (in_.Optional(prefix_ + "context_length", &context)) {
      json_["max_position_embeddings"] = context;
    }
    const TensorEntry* embedding = file_.tensors().Find("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2) {
      if (status_->ok()) *status_ = InvalidArgument("has no matrix token_embd.weight");
      return {};
    }
    json_["vocab_size"] = embedding->shape[0];
    json_["tie_word_embeddings"] = file_.tensors().Find("output.weight") == nullptr;
    RefuseUnknownForms();
    WriteWindows();
    WriteScales();
    if (status_->ok()) *status_ = WriteGgufRope(file_, prefix_, head_dim_, &json_);
    return std::move(json_);
  }

 private:
  void Fail(const std::string& key, const std::string& what) { in_.Fail(prefix_ + key, what); }
  // Without a default it is required.
  int Count(const std::string& key, int otherwise) {
    int count = otherwise;
    if (file_.HasList(prefix_ + key)) Fail(key, "differs from layer to layer");
    if (otherwise > 0) {
      in_.Optional(prefix_ + key, &count);
    } else {
      in_.Required(prefix_ + key, &count);
    }
    if (count < 1) Fail(key, "must be above 0");
    return count;
  }

  void RefuseUnknownForms() {
    int experts = 0;
    bool causal = true;
    in_.Optional(prefix_ + "expert_count", &experts);
    in_.Optional(prefix_ + "attention.causal", &causal);
    if (experts > 0) Fail("expert_count", "is above 0; mixtures of experts are not supported");
    if (!causal) Fail("attention.causal", "is false; only decoders are supported");
  }

  void WriteWindows() {
    int window = 0, pattern = 0;
    in_.Optional(prefix_ + "attention.sliding_window", &window);
    json_["sliding_window"] = window > 0 ? Json(window) : Json();
    const std::string key = prefix_ + "attention.sliding_window_pattern";
    if (!file_.HasList(key)) {
      if (in_.Optional(key, &pattern)) json_["sliding_window_pattern"] = pattern;
      return;
    }
    const auto flags = file_.WholeNumbers(key);
    if (!flags.ok()) {
      if (status_->ok()) *status_ = flags.status();
      return;
    }
    for (const int64_t flag : *flags) {
      json_["layer_types"].push_back(flag != 0 ? "sliding_attention" : "full_attention");
    }
  }

  void WriteScales() {
    if (architecture_.model_type == "gemma2" || architecture_.model_type == "gemma3_text") {
      const bool large = layers_ == architecture_.layers_of_27b;
      json_["query_pre_attn_scalar"] = large ? hidden_ / heads_ : head_dim_;
      for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
        double cap = 0;
        if (in_.Optional(prefix_ + key, &cap)) json_[key] = cap > 0 ? Json(cap) : Json();
      }
    }
    double scale = 0;
    in_.Optional(prefix_ + "attention.scale", &scale);
    if (scale != 0) Fail("attention.scale", "is set; only 1 / sqrt(head_dim) is known here");
  }

  const GgufFile& file_;
  const Architecture& architecture_;
  Status* status_;
  JsonReader in_;
  std::string prefix_;
  Json json_ = Json::object();
  int layers_ = 0, hidden_ = 0, heads_ = 0, head_dim_ = 0;
};

// Hugging Face's name; what is not known keeps its own, so that it can be named.
std::string NameOf(const std::string& gguf, bool post_norms) {
  static const std::pair<std::string_view, const char*> kWhole[] = {
      {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
  static const std::pair<std::string_view, const char*> kOfLayers[] = {
      {"attn_norm", "input_layernorm"},
      {"attn_q", "self_attn.q_proj"},
      {"attn_k", "self_attn.k_proj"},
      {"attn_v", "self_attn.v_proj"},
      {"attn_output", "self_attn.o_proj"},
      {"attn_q_norm", "self_attn.q_norm"},
      {"attn_k_norm", "self_attn.k_norm"},
      {"ffn_gate", "mlp.gate_proj"},
      {"ffn_up", "mlp.up_proj"},
      {"ffn_down", "mlp.down_proj"},
      {"post_attention_norm", "post_attention_layernorm"},
      {"post_ffw_norm", "post_feedforward_layernorm"}};
  const size_t dot = gguf.rfind('.');
  if (dot == std::string::npos) return gguf;
  std::string_view name = std::string_view(gguf).substr(0, dot);
  const std::string end = gguf.substr(dot);
  for (const auto& [from, to] : kWhole) {
    if (name == from) return to + end;
  }
  if (!name.starts_with("blk.")) return gguf;
  name.remove_prefix(4);
  const size_t number = name.find('.');
  if (number == std::string_view::npos) return gguf;
  const std::string layer = "model.layers." + std::string(name.substr(0, number)) + ".";
  name.remove_prefix(number + 1);
  if (name == "ffn_norm") {
    return layer + (post_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm") + end;
  }
  for (const auto& [from, to] : kOfLayers) {
    if (name == from) return layer + to + end;
  }
  return gguf;
}

Result<ModelFile> Translate(GgufFile file) {
  ModelFile model;
  Status status;
  GYRE_ASSIGN_OR_RETURN(const Architecture architecture, ArchitectureOf(file.values()));
  const Json json = ConfigWriter(file, architecture, &status).Write();
  GYRE_RETURN_IF_ERROR(status);
  GYRE_ASSIGN_OR_RETURN(model.config, ParseHuggingFaceConfig(json));
  SetPairing(architecture.interleaved ? "interleaved" : "half", &model.config.position);
  // llama.cpp's converter adds the 1 of Gemma's (1 + w) to the weights.
  const bool gemma = model.config.model.model_type == "gemma";
  model.tensors = std::move(file).TakeTensors();
  GYRE_RETURN_IF_ERROR(model.tensors.Change([&](TensorEntry* tensor) {
    if (gemma && tensor->name.ends_with("norm.weight")) tensor->added = -1;
    const bool divisors = tensor->name == kGgufRopeDivisors;
    tensor->name = NameOf(tensor->name, model.config.extras.post_norms);
    return !divisors;
  }));
  return model;
}

}  // namespace

Result<ModelFile> OpenGgufModel(const std::filesystem::path& path) {
  GYRE_ASSIGN_OR_RETURN(GgufFile file, GgufFile::Open(path));
  auto model = Translate(std::move(file));
  if (!model.ok()) return model.status().WithContext(path.string());
  return model;
}

}  // namespace gyre
