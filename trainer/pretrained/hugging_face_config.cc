#include "trainer/pretrained/hugging_face_config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/files.h"
#include "trainer/pretrained/json_reader.h"

namespace gyre {
namespace {

void ParseShapes(const Family& family, JsonReader* in, ModelConfig* model) {
  in->Required("vocab_size", &model->vocab_size);
  in->Required("num_hidden_layers", &model->num_hidden_layers);
  in->Required("hidden_size", &model->hidden_size);
  in->Required("intermediate_size", &model->intermediate_size);
  in->Required("num_attention_heads", &model->num_attention_heads);
  model->num_key_value_heads = model->num_attention_heads;
  in->Optional("num_key_value_heads", &model->num_key_value_heads);
  model->head_dim = family.head_dim;
  if (!in->Optional("head_dim", &model->head_dim) && family.head_dim == 0 &&
      model->num_attention_heads > 0) {
    if (model->hidden_size % model->num_attention_heads != 0) {
      in->Fail("head_dim", "is missing, and num_attention_heads does not divide hidden_size");
    }
    model->head_dim = model->hidden_size / model->num_attention_heads;
  }
  for (const auto& [key, count] : {std::pair("vocab_size", model->vocab_size),
                                   std::pair("num_hidden_layers", model->num_hidden_layers),
                                   std::pair("hidden_size", model->hidden_size),
                                   std::pair("intermediate_size", model->intermediate_size),
                                   std::pair("num_attention_heads", model->num_attention_heads),
                                   std::pair("num_key_value_heads", model->num_key_value_heads),
                                   std::pair("head_dim", model->head_dim)}) {
    if (count < 1) in->Fail(key, "is " + std::to_string(count) + " and must be above 0");
  }
}

// What nothing here has a form of. Biases would also show as tensors that no model has.
void RefuseUnknownForms(const Family& family, JsonReader* in) {
  const bool gemma = family.like == "gemma";
  for (const char* key : {"hidden_act", "hidden_activation"}) {
    std::string activation;
    if (!in->Optional(key, &activation)) continue;
    // Gemma's first files say "gelu" and mean its tanh form, as Hugging Face's own code does.
    const bool known = gemma ? activation == "gelu_pytorch_tanh" ||
                                   (family.name == "gemma" && activation == "gelu")
                             : activation == "silu" || activation == "swish";
    if (!known) in->Fail(key, "is '" + activation + "', which this family does not have");
  }
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    bool bias = false;
    if (in->Optional(key, &bias) && bias) in->Fail(key, "is true; biases are not supported");
  }
  bool both_ways = false;
  if (in->Optional("use_bidirectional_attention", &both_ways) && both_ways) {
    in->Fail("use_bidirectional_attention", "is true; only decoders are supported");
  }
}

void ParseExtras(const Family& family, JsonReader* in, HuggingFaceConfig* config) {
  ModelExtras& extras = config->extras;
  extras = family.extras;
  if (family.query_pre_attn_scalar == 0) return;  // the family has none of these keys
  const auto positive = [in](const char* key, double* value) {
    in->Optional(key, value);
    if (!std::isfinite(*value) || *value <= 0) in->Fail(key, "must be above 0");
  };
  double scalar = family.query_pre_attn_scalar;
  positive("query_pre_attn_scalar", &scalar);
  if (scalar != config->model.head_dim) extras.query_scale = 1 / std::sqrt(scalar);
  for (const auto& [key, cap] : {std::pair("attn_logit_softcapping", &extras.attention_softcap),
                                 std::pair("final_logit_softcapping", &extras.logit_softcap)}) {
    if (in->IsNull(key)) *cap = 0;
    if (in->Has(key)) positive(key, cap);
  }
}

// Models that also see images keep the decoder's part in text_config, which leaves out what is as
// Gemma3TextConfig has it.
Json TextPart(const Json& text_config) {
  Json text = {{"model_type", "gemma3_text"}, {"vocab_size", 262208},    {"hidden_size", 2304},
               {"intermediate_size", 9216},   {"num_hidden_layers", 26}, {"num_attention_heads", 8},
               {"num_key_value_heads", 4}};
  text.update(text_config);
  return text;
}

Result<HuggingFaceConfig> Parse(const Json& json, const std::string& path) {
  HuggingFaceConfig config;
  ModelConfig& model = config.model;
  Status status;
  JsonReader in(json, path, &status);
  in.Required("model_type", &config.family);
  GYRE_RETURN_IF_ERROR(status);
  const Family* family = FindFamily(config.family);
  if (family == nullptr) {
    in.Fail("model_type", "is '" + config.family + "'; known are " + FamilyNames());
    return status;
  }
  model.model_type = family->like;
  ParseShapes(*family, &in, &model);
  RefuseUnknownForms(*family, &in);
  in.Optional("max_position_embeddings", &config.context);
  in.Optional("rms_norm_eps", &model.rms_norm_eps);
  in.Optional("initializer_range", &model.initializer_range);
  model.tie_word_embeddings = family->tied;
  in.Optional("tie_word_embeddings", &model.tie_word_embeddings);
  model.qk_norm = family->qk_norm;
  config.says_qk_norm = in.Optional("use_qk_norm", &model.qk_norm) || family->qk_norm;
  ParseExtras(*family, &in, &config);
  GYRE_RETURN_IF_ERROR(status);
  GYRE_RETURN_IF_ERROR(ParsePosition(json, path, *family, &config));
  return config;
}

}  // namespace

Result<HuggingFaceConfig> ParseHuggingFaceConfig(const Json& json) {
  if (json.is_object() && json.contains("text_config") &&
      json.value("model_type", Json()) == "gemma3") {
    if (!json["text_config"].is_object()) return InvalidArgument("text_config must be an object");
    return Parse(TextPart(json["text_config"]), "text_config");
  }
  return Parse(json, "");
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

void SetPairing(const std::string& pairing, PositionConfig* position) {
  position->common.pairing = pairing;
  for (EncodingConfig& layer : position->layers) layer.pairing = pairing;
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
