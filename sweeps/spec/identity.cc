#include "sweeps/spec/identity.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace gyre {
namespace {

void Append(std::string* text, double value) {
  char digits[32];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::hex);
  text->append(digits, error == std::errc() ? end : digits);
  *text += ' ';
}

void Append(std::string* text, int value) { *text += std::to_string(value) + ' '; }

// What a layer's rotation does to queries and keys: pairs that turn, and the factor where it is not
// 1. How coordinates that stay as they are would be paired is no effect. `dynamic` scaling is a
// rule: other lengths than the context have other frequencies.
std::string EffectOf(const LayerPosition& layer, const EncodingConfig& encoding) {
  const Rotation& rotation = layer.rotation;
  std::string turned;
  std::vector<int> scaled;
  for (size_t k = 0; k < rotation.frequencies.size(); ++k) {
    const auto [a, b] = rotation.pairs[k];
    if (rotation.attention_factor != 1 && rotation.scaled[k]) scaled.insert(scaled.end(), {a, b});
    if (rotation.frequencies[k] == 0) continue;
    Append(&turned, a);
    Append(&turned, b);
    Append(&turned, rotation.frequencies[k]);
  }
  std::string effect = "turned " + turned + "factor ";
  std::sort(scaled.begin(), scaled.end());
  if (!scaled.empty()) Append(&effect, rotation.attention_factor);
  for (const int coordinate : scaled) Append(&effect, coordinate);
  effect += "slopes ";
  for (const double slope : layer.alibi_slopes) Append(&effect, slope);
  effect += "window ";
  Append(&effect, layer.window);
  if (encoding.type != "rope" || encoding.scaling.type != "dynamic" || turned.empty()) {
    return effect;
  }
  effect += "dynamic ";
  Append(&effect, encoding.theta);
  Append(&effect, encoding.scaling.factor);
  Append(&effect, encoding.scaling.original_max_position_embeddings);
  return effect;
}

// Effects of the layers, each once, with how many layers in a row have it.
Json EffectsOf(const PositionConfig& position, const std::vector<LayerPosition>& positions) {
  const auto encoding = [&](size_t i) -> const EncodingConfig& {
    return position.layers.empty() ? position.common : position.layers[i];
  };
  Json runs = Json::array();
  const size_t layers = positions.size();
  for (size_t begin = 0, end = 0; begin < layers; begin = end) {
    const std::string effect = EffectOf(positions[begin], encoding(begin));
    for (end = begin + 1; end < layers; ++end) {
      const bool same = positions[end] == positions[begin] && encoding(end) == encoding(begin);
      if (!same && EffectOf(positions[end], encoding(end)) != effect) break;
    }
    runs.push_back({end - begin, effect});
  }
  return runs;
}

// A switch is the rule: from which step on which effect. One that changes nothing is none, nor is
// one that another follows at the same step.
Json SwitchesOf(const Variant& variant) {
  const auto step_of = [&variant](size_t i) {
    const int64_t at = variant.config.position.switches[i].at;
    const int64_t batch = variant.config.train.batch_tokens;
    return at / batch + (at % batch != 0);
  };
  Json switches = Json::array();
  Json in_force = EffectsOf(variant.config.position, variant.positions);
  for (size_t i = 0; i < variant.switched.size(); ++i) {
    if (i + 1 < variant.switched.size() && step_of(i + 1) == step_of(i)) continue;
    Json effects = EffectsOf(variant.config.position.switches[i].to, variant.switched[i]);
    if (effects == in_force) continue;
    switches.push_back({step_of(i), effects});
    in_force = std::move(effects);
  }
  return switches;
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
  config.train.recompute = TrainConfig().recompute;
  // Weights by content; where they are not known yet, by what is asked for.
  const std::string init_from = std::exchange(config.train.init_from, "");
  Json identity = ToJson(config);
  if (config.statistics.collect.empty())
    identity.erase("statistics");  // as jobs were before there were any
  identity["numerics"] = kNumericsVersion;
  identity["position"] = EffectsOf(variant.config.position, variant.positions);
  if (Json switches = SwitchesOf(variant); !switches.empty()) {
    identity["switch"] = std::move(switches);
  }
  if (!init_from.empty()) {
    identity["init_from"] = variant.initial_weights.empty() ? init_from : variant.initial_weights;
  }
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
