#include "trainer/pretrained/hugging_face_config.h"

#include <algorithm>

#include "base/files.h"
#include "trainer/pretrained/json_reader.h"

namespace gyre {
namespace {

void ParseShapes(JsonReader* in, ModelConfig* model) {
  in->Required("vocab_size", &model->vocab_size);
  in->Required("num_hidden_layers", &model->num_hidden_layers);
  in->Required("hidden_size", &model->hidden_size);
  in->Required("intermediate_size", &model->intermediate_size);
  in->Required("num_attention_heads", &model->num_attention_heads);
  model->num_key_value_heads = model->num_attention_heads;
  in->Optional("num_key_value_heads", &model->num_key_value_heads);
  if (!in->Optional("head_dim", &model->head_dim) && model->num_attention_heads > 0) {
    if (model->hidden_size % model->num_attention_heads != 0) {
      in->Fail("head_dim", "is missing, and num_attention_heads does not divide hidden_size");
    }
    model->head_dim = model->hidden_size / model->num_attention_heads;
  }
}

// What this trainer has no form of. Biases would also show as tensors that no model has.
void RefuseOtherFamilies(JsonReader* in, const ModelConfig& model) {
  const bool gemma = model.model_type == "gemma";
  if (!gemma && model.model_type != "llama") {
    in->Fail("model_type", "is '" + model.model_type + "'; llama and gemma are supported");
  }
  for (const char* key : {"hidden_act", "hidden_activation"}) {
    std::string activation;
    if (!in->Optional(key, &activation)) continue;
    // Gemma's first files say "gelu" and mean its tanh form, as Hugging Face's own code does.
    const bool known = gemma ? activation == "gelu_pytorch_tanh" || activation == "gelu"
                             : activation == "silu" || activation == "swish";
    if (!known) in->Fail(key, "is '" + activation + "', which this family does not have");
  }
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    bool bias = false;
    if (in->Optional(key, &bias) && bias) in->Fail(key, "is true; biases are not supported");
  }
}

}  // namespace

Result<HuggingFaceConfig> ParseHuggingFaceConfig(const Json& json) {
  HuggingFaceConfig config;
  ModelConfig& model = config.model;
  Status status;
  JsonReader in(json, "", &status);
  in.Required("model_type", &model.model_type);
  ParseShapes(&in, &model);
  RefuseOtherFamilies(&in, model);
  in.Optional("rms_norm_eps", &model.rms_norm_eps);
  in.Optional("initializer_range", &model.initializer_range);
  model.tie_word_embeddings = model.model_type == "gemma";  // Hugging Face's defaults
  in.Optional("tie_word_embeddings", &model.tie_word_embeddings);
  config.says_qk_norm = in.Optional("use_qk_norm", &model.qk_norm);
  GYRE_RETURN_IF_ERROR(status);
  GYRE_RETURN_IF_ERROR(ParsePosition(json, &config));
  return config;
}

HuggingFaceConfig SaidOnce(HuggingFaceConfig config) {
  const auto alike = [](const auto& values) {
    return std::all_of(values.begin(), values.end(),
                       [&](const auto& value) { return value == values.front(); });
  };
  PositionConfig& position = config.position;
  if (!position.layers.empty() && alike(position.layers)) {
    position.common = position.layers.front();
    position.layers.clear();
  }
  if (!position.windows.empty() && alike(position.windows)) {
    config.model.sliding_window = position.windows.front();
    position.windows.clear();
  }
  return config;
}

Result<HuggingFaceConfig> ReadHuggingFaceConfig(const std::filesystem::path& file) {
  GYRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, size_t{1} << 26));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument(file.string() + " is not JSON");
  auto config = ParseHuggingFaceConfig(json);
  if (!config.ok()) return config.status().WithContext(file.string());
  return config;
}

}  // namespace gyre
