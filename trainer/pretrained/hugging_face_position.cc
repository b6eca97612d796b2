// Where tokens stand, from config.json: the block "gyre", or Hugging Face's many spellings.

#include <algorithm>

#include "trainer/pretrained/hugging_face_config.h"
#include "trainer/pretrained/json_reader.h"

namespace gyre {
namespace {

// Fields of a scaling that both spellings share.
void ParseScalingNumbers(JsonReader* in, ScalingConfig* scaling) {
  in->Optional("factor", &scaling->factor);
  in->Optional("original_max_position_embeddings", &scaling->original_max_position_embeddings);
  in->Optional("low_freq_factor", &scaling->low_freq_factor);
  in->Optional("high_freq_factor", &scaling->high_freq_factor);
  in->Optional("beta_fast", &scaling->beta_fast);
  in->Optional("beta_slow", &scaling->beta_slow);
  double attention_factor = 1;
  if (in->Optional("attention_factor", &attention_factor)) {
    scaling->attention_factor = attention_factor;
  }
}

// The fields that `json` has replace those of `encoding`.
void ParseEncoding(const Json& json, const std::string& path, bool common, Status* status,
                   EncodingConfig* encoding) {
  JsonReader in(json, path, status);
  in.Optional("type", &encoding->type);
  in.Optional("theta", &encoding->theta);
  in.Optional("p", &encoding->p);
  in.Optional("keep", &encoding->keep);
  in.Optional("spacing", &encoding->spacing);
  in.Optional("pairing", &encoding->pairing);
  std::vector<int> band;
  if (in.Optional("band", &band)) {
    if (band.size() != 2) in.Fail("band", "must be two whole numbers");
    if (band.size() == 2) encoding->band = {band[0], band[1]};
  }
  if (const Json* block = in.Object("scaling"); block != nullptr) {
    JsonReader scaling(*block, in.PathOf("scaling"), status);
    encoding->scaling = {};
    scaling.Optional("type", &encoding->scaling.type);
    ParseScalingNumbers(&scaling, &encoding->scaling);
    scaling.NoOtherKeys();
  }
  if (common) in.Array("layers");
  in.NoOtherKeys();
}

void ParseGyre(const Json& json, HuggingFaceConfig* config, Status* status) {
  JsonReader in(json, "gyre", status);
  PositionConfig& position = config->position;
  if (const Json* block = in.Object("position"); block != nullptr) {
    position.common = {};
    position.layers.clear();
    ParseEncoding(*block, "gyre.position", /*common=*/true, status, &position.common);
    if (const auto layers = block->find("layers"); layers != block->end() && layers->is_array()) {
      for (const Json& own : *layers) {
        position.layers.push_back(position.common);
        const std::string path =
            "gyre.position.layers[" + std::to_string(position.layers.size() - 1) + "]";
        ParseEncoding(own, path, /*common=*/false, status, &position.layers.back());
      }
    }
  }
  if (const Json* block = in.Object("attention"); block != nullptr) {
    JsonReader attention(*block, "gyre.attention", status);
    if (attention.Optional("qk_norm", &config->model.qk_norm)) config->says_qk_norm = true;
    attention.Optional("windows", &position.windows);
    attention.NoOtherKeys();
  }
  in.Optional("mlp", &config->model.mlp);
  in.NoOtherKeys();
}

// One rope_parameters or rope_scaling object, over what the flat keys said.
void ParseRope(const Json& json, const std::string& path, int max_position, Status* status,
               EncodingConfig* encoding) {
  JsonReader in(json, path, status);
  std::string type = "default";
  in.Optional("type", &type);  // the older spelling
  in.Optional("rope_type", &type);
  const auto known = {"default", "linear", "dynamic", "yarn", "llama3", "proportional"};
  if (std::find(known.begin(), known.end(), type) == known.end()) {
    in.Fail("rope_type",
            "is '" + type + "'; default, linear, dynamic, yarn, llama3 and proportional are known");
  }
  in.Optional("rope_theta", &encoding->theta);
  const bool partial = in.Optional("partial_rotary_factor", &encoding->p);
  ScalingConfig& scaling = encoding->scaling;
  ParseScalingNumbers(&in, &scaling);
  in.NoOtherKeys();
  if (type == "proportional") {
    encoding->spacing = "full";
    scaling.type = scaling.factor == 1 ? "none" : "linear";
    return;
  }
  if (partial) encoding->spacing = "respaced";
  scaling.type = type == "default" ? "none" : type;
  const bool uses_original = type == "dynamic" || type == "yarn" || type == "llama3";
  if (uses_original && scaling.original_max_position_embeddings == 0) {
    scaling.original_max_position_embeddings = max_position;
  }
}

// 1 where a layer rotates, else 0; empty if all do.
std::vector<int> RotatingLayers(const Family& family, JsonReader* in, int layers) {
  std::vector<int> rotates;
  int interval = family.nope_interval;
  in->Optional("no_rope_layer_interval", &interval);
  if (in->Optional("no_rope_layers", &rotates) && !rotates.empty()) {
    if (rotates.size() != static_cast<size_t>(layers)) {
      in->Fail("no_rope_layers", "has " + std::to_string(rotates.size()) + " entries for " +
                                     std::to_string(layers) + " layers");
    }
  } else if (interval > 0) {
    rotates.clear();
    for (int l = 0; l < layers; ++l) rotates.push_back((l + 1) % interval != 0);
  }
  return rotates;
}

// Which layers have a window, as layer_types or else the family says.
std::vector<bool> LayersWithWindow(const Family& family, JsonReader* in, int layers,
                                   const std::vector<int>& rotates) {
  std::vector<std::string> types;
  if (in->Optional("layer_types", &types) && types.size() != static_cast<size_t>(layers)) {
    in->Fail("layer_types", "has " + std::to_string(types.size()) + " entries for " +
                                std::to_string(layers) + " layers");
  }
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      in->Fail("layer_types", "has '" + type + "', which is not known here");
    }
  }
  int pattern = family.window_pattern, first = family.first_window_layer;
  if (pattern > 0) in->Optional("sliding_window_pattern", &pattern);
  if (first > 0) in->Optional("max_window_layers", &first);
  std::vector<bool> windowed;
  for (int l = 0; l < layers; ++l) {
    if (!types.empty()) {
      windowed.push_back(static_cast<size_t>(l) < types.size() && types[l] == "sliding_attention");
    } else {
      const bool by_rope = !family.window_needs_nope || (!rotates.empty() && rotates[l] == 0);
      windowed.push_back(l >= first && (pattern <= 0 || (l + 1) % pattern != 0) && by_rope);
    }
  }
  return windowed;
}

int ParseWindow(const Family& family, JsonReader* in) {
  bool use = family.uses_window;
  in->Optional("use_sliding_window", &use);
  int window = in->IsNull("sliding_window") ? 0 : family.window;
  in->Optional("sliding_window", &window);
  return use ? window : 0;
}

// rope_parameters or rope_scaling and what stands beside them, into position->layers.
void ParseRopes(const Family& family, const std::vector<bool>& windowed, JsonReader* in,
                Status* status, PositionConfig* position) {
  EncodingConfig& common = position->common;
  int max_position = 0;
  in->Optional("max_position_embeddings", &max_position);
  EncodingConfig local = common;
  local.theta = family.local_theta;
  in->Optional("rope_local_base_freq", &local.theta);
  if (const Json* scaling = in->Object("rope_scaling"); scaling != nullptr) {
    ParseRope(*scaling, in->PathOf("rope_scaling"), max_position, status, &common);
  }
  const Json* rope = in->Object("rope_parameters");
  const bool by_type = rope != nullptr && !rope->empty() && rope->begin()->is_object();
  if (rope != nullptr && !by_type) {
    ParseRope(*rope, in->PathOf("rope_parameters"), max_position, status, &common);
  }
  for (const bool window : windowed) {
    EncodingConfig layer = window && local.theta > 0 ? local : common;
    if (by_type) {
      const std::string type = window ? "sliding_attention" : "full_attention";
      const auto found = rope->find(type);
      if (found == rope->end()) {
        in->Fail("rope_parameters", "has no entry for '" + type + "'");
        return;
      }
      ParseRope(*found, in->PathOf("rope_parameters." + type), max_position, status, &layer);
    }
    position->layers.push_back(std::move(layer));
  }
}

void ParseHuggingFaceKeys(const Json& json, const std::string& path, const Family& family,
                          HuggingFaceConfig* config, Status* status) {
  JsonReader in(json, path, status);
  const int layers = config->model.num_hidden_layers;
  PositionConfig& position = config->position;
  EncodingConfig& common = position.common;
  common.theta = family.theta;
  in.Optional("rope_theta", &common.theta);
  if (in.Optional("partial_rotary_factor", &common.p)) common.spacing = "respaced";
  const std::vector<int> rotates = RotatingLayers(family, &in, layers);
  if (!status->ok()) return;
  const std::vector<bool> windowed = LayersWithWindow(family, &in, layers, rotates);
  const int window = ParseWindow(family, &in);
  for (const bool has : windowed) position.windows.push_back(has ? window : 0);
  if (!status->ok()) return;
  bool alibi = false;
  if (in.Optional("alibi", &alibi) && alibi) {
    common = {.type = "alibi"};
    return;
  }
  ParseRopes(family, windowed, &in, status, &position);
  if (!status->ok()) return;
  for (size_t l = 0; l < rotates.size(); ++l) {
    if (rotates[l] == 0) position.layers[l] = {.type = "nope"};
  }
}

}  // namespace

Status ParsePosition(const Json& json, const std::string& path, const Family& family,
                     HuggingFaceConfig* config) {
  const int layers = config->model.num_hidden_layers;
  Status status;
  JsonReader in(json, path, &status);
  if (layers < 1 || layers > 100'000) {
    in.Fail("num_hidden_layers", "must be between 1 and 100000");
    return status;
  }
  const Json* gyre = in.Object("gyre");
  // Windows and qk_norm may be left to Hugging Face's keys even where the block has the encoding.
  Status theirs;
  ParseHuggingFaceKeys(json, path, family, config, &theirs);
  if (gyre == nullptr) return status.ok() ? theirs : status;
  ParseGyre(*gyre, config, &status);
  return status.ok() && !gyre->contains("position") ? theirs : status;
}

}  // namespace gyre
