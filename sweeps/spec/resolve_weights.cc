// train.init_from of a merged point: the weights it starts from, and whether the model is theirs.

#include <utility>

#include "sweeps/spec/point_checks.h"

namespace gyre {
namespace {

const int kInitFrom = FieldIndexOrDie("train.init_from");

}  // namespace

const InitialWeights* PointResolver::FindWeights(PointChecks* checks, TrainConfig* train) {
  const Setting* setting = checks->point().At(kInitFrom);
  if (setting == nullptr) return nullptr;
  train->init_from = setting->value.get<std::string>();
  auto found = weights_.find(train->init_from);
  if (found == weights_.end()) {
    Result<std::optional<InitialWeights>> weights = std::optional<InitialWeights>();
    if (options_.initial_weights) weights = options_.initial_weights(train->init_from);
    found = weights_.emplace(train->init_from, std::move(weights)).first;
  }
  if (!found->second.ok()) {
    checks->Add({kInitFrom}, "train.init_from: " + found->second.status().message());
    return nullptr;
  }
  if (!found->second->has_value()) {
    notes_->Add("train.init_from " + train->init_from +
                " is looked up when the sweep is submitted; until then the model is what the sweep "
                "says, and defaults");
    return nullptr;
  }
  return &**found->second;
}

void CheckModelOf(PointChecks* checks, const std::string& init_from, const InitialWeights& weights,
                  const ModelConfig& model) {
  std::string differences;
  const auto compare = [&](const char* key, const auto& here, const auto& there) {
    if (here == there) return;
    differences += (differences.empty() ? "" : ", ") + std::string(key) + " " + Json(here).dump() +
                   " (there " + Json(there).dump() + ")";
  };
  const ModelConfig& of = weights.model;
  compare("model_type", model.model_type, of.model_type);
  compare("vocab_size", model.vocab_size, of.vocab_size);
  compare("num_hidden_layers", model.num_hidden_layers, of.num_hidden_layers);
  compare("hidden_size", model.hidden_size, of.hidden_size);
  compare("intermediate_size", model.intermediate_size, of.intermediate_size);
  compare("mlp", model.mlp, of.mlp);
  compare("num_attention_heads", model.num_attention_heads, of.num_attention_heads);
  compare("num_key_value_heads", model.num_key_value_heads, of.num_key_value_heads);
  compare("head_dim", model.head_dim, of.head_dim);
  compare("rms_norm_eps", model.rms_norm_eps, of.rms_norm_eps);
  compare("tie_word_embeddings", model.tie_word_embeddings, of.tie_word_embeddings);
  compare("qk_norm", model.qk_norm, of.qk_norm);
  if (differences.empty()) return;
  checks->Add(
      {kInitFrom},
      "train.init_from: the weights of " + init_from + " are of another model: " + differences,
      "leave these keys of model out, and they are taken from there");
}

}  // namespace gyre
