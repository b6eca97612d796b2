#include "trainer/config/job_config.h"

#include <algorithm>
#include <set>
#include <utility>

#include "trainer/config/json_archive.h"

namespace gyre {
namespace config_json {

// Each struct names its keys once, in a Fields() below; a Writer and a Reader walk that same list,
// so that the two directions cannot drift apart (json_archive.h).

template <typename T>
void Fields(T& archive, ModelConfig& model);
template <typename T>
void Fields(T& archive, ScalingConfig& scaling);
template <typename T>
void Fields(T& archive, EncodingConfig& encoding);
template <typename T>
void Fields(T& archive, PositionConfig& position);
template <typename T>
void Fields(T& archive, DataConfig& data);
template <typename T>
void Fields(T& archive, OptimizerConfig& optimizer);
template <typename T>
void Fields(T& archive, ScheduleConfig& schedule);
template <typename T>
void Fields(T& archive, TrainConfig& train);
template <typename T>
void Fields(T& archive, EvaluateConfig& evaluate);
template <typename T>
void Fields(T& archive, StatisticsConfig& statistics);
template <typename T>
void Fields(T& archive, JobConfig& config);

// A window of 0 (no limit) is null in JSON.
void Window(Writer& writer, int& window) {
  writer.Put("sliding_window", window == 0 ? Json() : Json(window));
}
void Window(Reader& reader, int& window) {
  const Json* json = reader.Take("sliding_window");
  if (json == nullptr) return;
  window = 0;
  if (json->is_null()) return;
  if (!Reader::Integer(*json, &window) || window < 1) {
    reader.Fail(reader.PathOf("sliding_window") + " must be null or a whole number above 0");
  }
}

void Band(Writer& writer, EncodingConfig& encoding) {
  // A band excludes p and keep; null says that they have no say.
  writer.Put("p", encoding.band ? Json() : Json(encoding.p));
  writer.Put("keep", encoding.band ? Json() : Json(encoding.keep));
  writer.Put("band", encoding.band ? Json{encoding.band->first, encoding.band->second} : Json());
}
void Band(Reader& reader, EncodingConfig& encoding) {
  const Json* p = reader.Take("p");
  const Json* keep = reader.Take("keep");
  const Json* band = reader.Take("band");
  if (band == nullptr) return;
  encoding.band.reset();
  if (band->is_null()) {
    if (!p->is_number()) return reader.Fail(reader.PathOf("p") + " must be a number");
    if (!keep->is_string()) return reader.Fail(reader.PathOf("keep") + " must be a string");
    encoding.p = p->get<double>();
    encoding.keep = keep->get<std::string>();
    return;
  }
  std::pair<int, int> pairs;
  if (!band->is_array() || band->size() != 2 || !Reader::Integer((*band)[0], &pairs.first) ||
      !Reader::Integer((*band)[1], &pairs.second)) {
    return reader.Fail(reader.PathOf("band") + " must be null or two whole numbers");
  }
  if (!p->is_null() || !keep->is_null())
    return reader.Fail(reader.PathOf("band") + " excludes p and keep");
  encoding.band = pairs;
}

void Scaling(Writer& writer, ScalingConfig& scaling) {
  if (scaling.type == "none") return writer.Put("scaling", nullptr);
  writer.Field("scaling", scaling);
}
void Scaling(Reader& reader, ScalingConfig& scaling) {
  const Json* json = reader.Take("scaling");
  scaling = ScalingConfig{};
  if (json != nullptr && !json->is_null()) reader.Field("scaling", scaling);
}

void AttentionFactor(Writer& writer, std::optional<double>& factor) {
  writer.Put("attention_factor", factor ? Json(*factor) : Json());
}
void AttentionFactor(Reader& reader, std::optional<double>& factor) {
  const Json* json = reader.Take("attention_factor");
  factor.reset();
  if (json == nullptr || json->is_null()) return;
  if (!json->is_number())
    return reader.Fail(reader.PathOf("attention_factor") + " must be null or a number");
  factor = json->get<double>();
}

void Betas(Writer& writer, OptimizerConfig& optimizer) {
  writer.Put("betas", Json{optimizer.beta1, optimizer.beta2});
}
void Betas(Reader& reader, OptimizerConfig& optimizer) {
  const Json* json = reader.Take("betas");
  if (json == nullptr) return;
  if (!json->is_array() || json->size() != 2 || !(*json)[0].is_number() ||
      !(*json)[1].is_number()) {
    return reader.Fail(reader.PathOf("betas") + " must be two numbers");
  }
  optimizer.beta1 = (*json)[0].get<double>();
  optimizer.beta2 = (*json)[1].get<double>();
}

// `layers` is null, or has one object a layer in the spelling of a sweep: {"layers": [3], "type":
// .., "sliding_window": ..}. The encoding's keys are there if `layers` of the struct is filled, the
// window if `windows` is.
void Layers(Writer& writer, PositionConfig& position) {
  const size_t count = std::max(position.layers.size(), position.windows.size());
  if (count == 0) return writer.Put("layers", nullptr);
  Json layers = Json::array();
  for (size_t i = 0; i < count; ++i) {
    Writer layer;
    layer.Put("layers", Json::array({i}));
    if (i < position.layers.size()) Fields(layer, position.layers[i]);
    if (i < position.windows.size()) Window(layer, position.windows[i]);
    layers.push_back(layer.Take());
  }
  writer.Put("layers", std::move(layers));
}
void Layers(Reader& reader, PositionConfig& position) {
  position.layers.clear();
  position.windows.clear();
  const Json* json = reader.Take("layers");
  if (json == nullptr || json->is_null()) return;
  if (!json->is_array() || json->empty()) {
    return reader.Fail(reader.PathOf("layers") + " must be null or a list of objects");
  }
  const Json& first = (*json)[0];
  const bool encodings = first.is_object() && first.contains("type");
  const bool windows = first.is_object() && first.contains("sliding_window");
  for (size_t i = 0; i < json->size(); ++i) {
    const std::string path = reader.PathOf("layers[" + std::to_string(i) + "]");
    Reader layer((*json)[i], path);
    const Json* number = layer.Take("layers");
    if (number != nullptr && *number != Json::array({i})) {
      layer.Fail(path + ".layers must be [" + std::to_string(i) +
                 "]: one object a layer, in order");
    }
    if (encodings) Fields(layer, position.layers.emplace_back());
    if (windows) Window(layer, position.windows.emplace_back());
    if (Status status = layer.Finish(); !status.ok()) return reader.Keep(std::move(status));
  }
}

// A list of structs, not there without any.
template <typename T>
void List(Writer& writer, const char* key, std::vector<T>& values) {
  if (values.empty()) return;
  Json list = Json::array();
  for (T& value : values) {
    Writer item;
    Fields(item, value);
    list.push_back(item.Take());
  }
  writer.Put(key, std::move(list));
}
template <typename T>
void List(Reader& reader, const char* key, std::vector<T>& values) {
  values.clear();
  const Json* list = reader.TakeOptional(key);
  if (list == nullptr) return;
  if (!list->is_array()) return reader.Fail(reader.PathOf(key) + " must be a list");
  for (size_t i = 0; i < list->size(); ++i) {
    Reader item((*list)[i], reader.PathOf(key) + "[" + std::to_string(i) + "]");
    Fields(item, values.emplace_back());
    if (Status status = item.Finish(); !status.ok()) return reader.Keep(std::move(status));
  }
}

template <typename T>
void Fields(T& archive, PositionSwitch& change) {
  archive.Field("at", change.at);
  archive.Field("to", change.to);
}

// An intervention has one of "zero": [a, b], "freeze": [a, b] and "position": {a position block}.
void What(Writer& writer, Intervention& intervention) {
  if (intervention.kind == kPosition) return writer.Field(kPosition, intervention.position);
  writer.Put(intervention.kind.c_str(), Json{intervention.pairs.first, intervention.pairs.second});
}
void What(Reader& reader, Intervention& intervention) {
  for (const char* kind : {kZero, kFreeze, kPosition}) {
    const Json* what = reader.TakeOptional(kind);
    if (what == nullptr) continue;
    if (!intervention.kind.empty()) {
      return reader.Fail(reader.PathOf(kind) + " excludes " + intervention.kind);
    }
    intervention.kind = kind;
    if (intervention.kind == kPosition) {
      reader.Field(kPosition, intervention.position);
    } else if (!what->is_array() || what->size() != 2 ||
               !Reader::Integer((*what)[0], &intervention.pairs.first) ||
               !Reader::Integer((*what)[1], &intervention.pairs.second)) {
      return reader.Fail(reader.PathOf(kind) + " must be two whole numbers");
    }
  }
  if (intervention.kind.empty()) reader.Fail(reader.PathOf("name") + " names no change");
}

template <typename T>
void Fields(T& archive, Intervention& intervention) {
  archive.Field("name", intervention.name);
  What(archive, intervention);
  archive.OptionalField("layers", intervention.layers);
}

template <typename T>
void Fields(T& archive, TaskConfig& task) {
  archive.Field("name", task.name);
  archive.Field("task", task.task);
  archive.OptionalField("distances", task.distances);
  archive.Field("rows", task.rows);
  archive.OptionalField("keys", task.keys);
  archive.OptionalField("offset", task.offset);
}

template <typename T>
void Fields(T& archive, ModelConfig& model) {
  archive.Field("model_type", model.model_type);
  archive.Field("vocab_size", model.vocab_size);
  archive.Field("num_hidden_layers", model.num_hidden_layers);
  archive.Field("hidden_size", model.hidden_size);
  archive.Field("intermediate_size", model.intermediate_size);
  archive.OptionalField("mlp", model.mlp, ModelConfig().mlp);
  archive.Field("num_attention_heads", model.num_attention_heads);
  archive.Field("num_key_value_heads", model.num_key_value_heads);
  archive.Field("head_dim", model.head_dim);
  archive.Field("rms_norm_eps", model.rms_norm_eps);
  archive.Field("initializer_range", model.initializer_range);
  archive.Field("tie_word_embeddings", model.tie_word_embeddings);
  archive.Field("qk_norm", model.qk_norm);
  Window(archive, model.sliding_window);
}

template <typename T>
void Fields(T& archive, ScalingConfig& scaling) {
  archive.Field("type", scaling.type);
  archive.Field("factor", scaling.factor);
  archive.Field("original_max_position_embeddings", scaling.original_max_position_embeddings);
  archive.Field("low_freq_factor", scaling.low_freq_factor);
  archive.Field("high_freq_factor", scaling.high_freq_factor);
  archive.Field("beta_fast", scaling.beta_fast);
  archive.Field("beta_slow", scaling.beta_slow);
  AttentionFactor(archive, scaling.attention_factor);
}

template <typename T>
void Fields(T& archive, EncodingConfig& encoding) {
  archive.Field("type", encoding.type);
  archive.Field("theta", encoding.theta);
  Band(archive, encoding);
  archive.Field("spacing", encoding.spacing);
  Scaling(archive, encoding.scaling);
  archive.Field("pairing", encoding.pairing);
}

template <typename T>
void Fields(T& archive, PositionConfig& position) {
  Fields(archive, position.common);
  Layers(archive, position);
  List(archive, "switch", position.switches);
}

template <typename T>
void Fields(T& archive, DataConfig& data) {
  archive.Field("train", data.train);
  archive.Field("validation", data.validation);
  archive.Field("tokenizer", data.tokenizer);
  archive.Field("context", data.context);
  archive.Field("packing", data.packing);
  archive.Field("holdout", data.holdout);
}

template <typename T>
void Fields(T& archive, OptimizerConfig& optimizer) {
  archive.Field("name", optimizer.name);
  archive.Field("lr", optimizer.lr);
  Betas(archive, optimizer);
  archive.Field("eps", optimizer.eps);
  archive.Field("weight_decay", optimizer.weight_decay);
  archive.Field("clip_norm", optimizer.clip_norm);
}

template <typename T>
void Fields(T& archive, ScheduleConfig& schedule) {
  archive.Field("name", schedule.name);
  archive.Field("warmup_tokens", schedule.warmup_tokens);
  archive.Field("final_lr_fraction", schedule.final_lr_fraction);
}

template <typename T>
void Fields(T& archive, TrainConfig& train) {
  archive.Field("tokens", train.tokens);
  archive.Field("batch_tokens", train.batch_tokens);
  archive.Field("micro_batch", train.micro_batch);
  archive.Field("optimizer", train.optimizer);
  archive.Field("schedule", train.schedule);
  archive.Field("precision", train.precision);
  archive.OptionalField("recompute", train.recompute, TrainConfig().recompute);
  archive.Field("checkpoint_every", train.checkpoint_every);
  archive.OptionalField("init_from", train.init_from);
}

template <typename T>
void Fields(T& archive, EvaluateConfig& evaluate) {
  archive.Field("every", evaluate.every);
  archive.Field("tokens", evaluate.tokens);
  archive.OptionalField("contexts", evaluate.contexts);
  archive.OptionalField("positions", evaluate.positions);
  archive.OptionalField("document_lengths", evaluate.document_lengths);
  List(archive, "interventions", evaluate.interventions);
  List(archive, "tasks", evaluate.tasks);
}

void Statistics(Writer& writer, StatisticsConfig& statistics) {
  writer.Field("statistics", statistics);
}
void Statistics(Reader& reader, StatisticsConfig& statistics) {
  statistics = {};
  if (reader.TakeOptional("statistics") != nullptr) reader.Field("statistics", statistics);
}

void Collect(Writer& writer, StatisticsConfig& statistics) {
  writer.Put("collect", Json(statistics.collect));
}
void Collect(Reader& reader, StatisticsConfig& statistics) {
  const Json* list = reader.Take("collect");
  if (list == nullptr) return;
  for (const char* name : {kFrequencyNorms, kLogitShares, kHeadScores, kTokenNorms}) {
    if (list->is_array() && std::find(list->begin(), list->end(), name) != list->end()) {
      statistics.collect.push_back(name);
    }
  }
  if (*list != Json(statistics.collect)) {
    return reader.Fail(reader.PathOf("collect") +
                       " must be a list of frequency_norms, logit_shares, head_scores and "
                       "token_norms, in this order");
  }
  if (statistics.collect.empty()) return;
  if (statistics.every < 1) return reader.Fail(reader.PathOf("every") + " must be at least 1");
  if (statistics.sequences < 1) reader.Fail(reader.PathOf("sequences") + " must be at least 1");
}

template <typename T>
void Fields(T& archive, StatisticsConfig& statistics) {
  archive.Field("every", statistics.every);
  archive.Field("sequences", statistics.sequences);
  Collect(archive, statistics);
}

template <typename T>
void Fields(T& archive, JobConfig& config) {
  archive.Field("model", config.model);
  archive.Field("position", config.position);
  archive.Field("data", config.data);
  archive.Field("train", config.train);
  archive.Field("evaluate", config.evaluate);
  Statistics(archive, config.statistics);
}

// Fields() takes the struct by reference for both directions; a Writer never changes it.
template <typename T>
Json Write(const T& value) {
  Writer writer;
  Fields(writer, const_cast<T&>(value));
  return writer.Take();
}

}  // namespace config_json

bool StatisticsConfig::Collects(std::string_view name) const {
  return std::find(collect.begin(), collect.end(), name) != collect.end();
}

Result<JobConfig> JobConfigFromJson(const Json& json) {
  JobConfig config;
  config_json::Reader reader(json, "");
  config_json::Fields(reader, config);
  GYRE_RETURN_IF_ERROR(reader.Finish());
  return config;
}

Json ToJson(const JobConfig& config) { return config_json::Write(config); }

const PositionConfig& PositionInForce(const PositionConfig& position, int64_t tokens) {
  const PositionConfig* in_force = &position;
  for (const PositionSwitch& change : position.switches) {
    if (change.at <= tokens) in_force = &change.to;
  }
  return *in_force;
}

int64_t TotalSteps(const TrainConfig& train) {
  if (train.batch_tokens <= 0) return 0;
  return train.tokens / train.batch_tokens + (train.tokens % train.batch_tokens != 0);
}

int64_t ParameterCount(const ModelConfig& model) {
  const int64_t hidden = model.hidden_size;
  const int64_t queries = int64_t{model.num_attention_heads} * model.head_dim;
  const int64_t keys = int64_t{model.num_key_value_heads} * model.head_dim;
  const int64_t attention =
      hidden * (2 * queries + 2 * keys) + (model.qk_norm ? 2 * model.head_dim : 0);
  const int64_t mlp = (model.gated() ? 3 : 2) * hidden * model.intermediate_size;
  const int64_t layer = attention + mlp + 2 * hidden;
  const int64_t embedding = hidden * model.vocab_size;
  return (model.tie_word_embeddings ? 1 : 2) * embedding + layer * model.num_hidden_layers + hidden;
}

Result<TrainerJob> TrainerJobFromJson(const Json& json) {
  TrainerJob job;
  config_json::Reader reader(json, "");
  reader.Field("config", job.config);
  reader.Field("seed", job.seed);
  reader.Field("key", job.key);
  reader.Field("initial_weights", job.initial_weights);
  if (const Json* datasets = reader.Take("datasets")) {
    config_json::Reader inner(*datasets, "datasets");
    if (const Json* train = inner.Take("train")) {
      auto texts = TrainTextsFromJson(*train);
      if (texts.ok()) job.train_datasets = *std::move(texts);
      inner.Keep(texts.status());
    }
    if (const Json* validation = inner.Take("validation")) {
      if (!validation->is_object()) inner.Fail("datasets.validation must be an object");
      for (const auto& [name, hash] : validation->items()) {
        if (hash.is_string()) {
          job.validation_datasets[name] = hash.get<std::string>();
        } else {
          inner.Fail("datasets.validation." + name + " must be a string");
        }
      }
    }
    reader.Keep(inner.Finish());
  }
  GYRE_RETURN_IF_ERROR(reader.Finish());
  return job;
}

Json ToJson(const TrainerJob& job) {
  Json validation = Json::object();
  for (const auto& [name, hash] : job.validation_datasets) validation[name] = hash;
  return Json{{"config", ToJson(job.config)},
              {"seed", job.seed},
              {"key", job.key},
              {"datasets", {{"train", ToJson(job.train_datasets)}, {"validation", validation}}},
              {"initial_weights", job.initial_weights}};
}

std::vector<std::string> DatasetsOf(const TrainerJob& job) {
  std::set<std::string> hashes;
  for (const TrainText& text : job.train_datasets) hashes.insert(text.hash);
  for (const auto& [name, hash] : job.validation_datasets) hashes.insert(hash);
  return {hashes.begin(), hashes.end()};
}

}  // namespace gyre
