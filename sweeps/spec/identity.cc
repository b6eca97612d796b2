#include "sweeps/spec/identity.h"

#include <algorithm>

#include "base/hash.h"

namespace gyre {
namespace {

// What a layer's rotation does to queries and keys: pairs that turn, and the factor where it is
// not 1. The pairing of coordinates that stay as they are is no effect.
Json EffectOf(const LayerPosition& layer) {
  const Rotation& rotation = layer.rotation;
  Json turned = Json::array(), scaled = Json::array();
  for (size_t k = 0; k < rotation.frequencies.size(); ++k) {
    const auto [a, b] = rotation.pairs[k];
    if (rotation.frequencies[k] != 0) turned.push_back({a, b, rotation.frequencies[k]});
    if (rotation.attention_factor != 1 && rotation.scaled[k]) scaled.insert(scaled.end(), {a, b});
  }
  std::sort(scaled.begin(), scaled.end());
  Json effect{{"turned", std::move(turned)}};
  if (!scaled.empty()) effect["factor"] = {rotation.attention_factor, std::move(scaled)};
  if (!layer.alibi_slopes.empty()) effect["slopes"] = layer.alibi_slopes;
  if (layer.window != 0) effect["window"] = layer.window;
  return effect;
}

// `dynamic` scaling is a rule: other lengths than the context have other frequencies.
void AddRule(const EncodingConfig& encoding, Json* effect) {
  if (encoding.type != "rope" || encoding.scaling.type != "dynamic" || (*effect)["turned"].empty())
    return;
  (*effect)["dynamic"] = {encoding.theta, encoding.scaling.factor,
                          encoding.scaling.original_max_position_embeddings};
}

Json PositionsOf(const Variant& variant) {
  const PositionConfig& position = variant.config.position;
  Json layers = Json::array();
  for (size_t i = 0; i < variant.positions.size(); ++i) {
    Json effect = EffectOf(variant.positions[i]);
    AddRule(position.layers.empty() ? position.common : position.layers[i], &effect);
    layers.push_back(std::move(effect));
  }
  return layers;
}

}  // namespace

std::string VariantIdentity(const Variant& variant, const std::string& train,
                            const std::map<std::string, std::string>& validation) {
  JobConfig config = variant.config;
  // The position block and the source of the data are left as defaults and replaced by what they
  // amount to.
  config.position = {};
  config.data = {.train = nullptr,
                 .validation = nullptr,
                 .tokenizer = nullptr,
                 .context = config.data.context,
                 .packing = config.data.packing,
                 .holdout = 0};
  config.model.sliding_window = 0;
  config.train.checkpoint_every = 0;
  Json identity = ToJson(config);
  identity["numerics"] = kNumericsVersion;
  identity["position"] = PositionsOf(variant);
  identity["data"]["train"] = train;
  identity["data"]["validation"] = validation;
  return Sha256Hex(identity.dump());
}

std::string KeyOf(const std::string& variant_identity, uint64_t seed) {
  return Sha256Hex(variant_identity + "/" + std::to_string(seed));
}

std::string JobKey(const Variant& variant, uint64_t seed, const std::string& train_hash,
                   const std::map<std::string, std::string>& validation_hashes) {
  return KeyOf(VariantIdentity(variant, train_hash, validation_hashes), seed);
}

}  // namespace gyre
