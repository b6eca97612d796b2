#pragma once

// What one job trains: the sweep language's configuration blocks, resolved (every default filled
// in, every alias in its neutral form), as plain structs. The JSON form has the same names as the
// YAML; it is what `gyre plan --format json` shows, what the wire carries and what the database
// keeps.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gyre {

using Json = nlohmann::ordered_json;

struct ModelConfig {
  std::string model_type = "llama";  // "llama" | "gemma": norm, activation, embedding scaling
  int vocab_size = 257;
  int num_hidden_layers = 4;
  int hidden_size = 256;
  int intermediate_size = 1024;
  std::string mlp = "gated";  // gated | plain
  int num_attention_heads = 4;
  int num_key_value_heads = 4;
  int head_dim = 64;
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  bool tie_word_embeddings = true;
  bool qk_norm = false;
  int sliding_window = 0;  // tokens; 0 = no limit (null in JSON)

  bool gated() const { return mlp == "gated"; }
};

struct ScalingConfig {
  std::string type =
      "none";  // none | linear | dynamic | yarn | llama3 (longrope: not yet supported)
  double factor = 1;
  int original_max_position_embeddings = 0;
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1;              // yarn
  std::optional<double> attention_factor;            // yarn; default 0.1 ln(factor) + 1
  friend bool operator==(const ScalingConfig&, const ScalingConfig&) = default;
};

/// One encoding without per-layer overrides.
struct EncodingConfig {
  std::string type = "rope";  // rope | nope | alibi
  double theta = 10000;
  double p = 1;
  std::string keep = "high";                // high | low
  std::string spacing = "full";             // full | respaced
  std::optional<std::pair<int, int>> band;  // pairs [a, b) kept, 0 the fastest; excludes p and keep
  ScalingConfig scaling;
  std::string pairing = "half";  // half | interleaved
  friend bool operator==(const EncodingConfig&, const EncodingConfig&) = default;
};

struct PositionSwitch;

struct PositionConfig {
  EncodingConfig common;
  /// Per layer, resolved: empty, or one a layer, each the common encoding with the layer's
  /// overrides.
  std::vector<EncodingConfig> layers;
  /// Per layer, tokens, 0 = no limit: empty (then model.sliding_window holds everywhere), or one a
  /// layer.
  std::vector<int> windows;
  /// Changes during training (position.switch), in order of their place; mostly none.
  std::vector<PositionSwitch> switches;
};

/// From the weights of the first step whose tokens reach `at` on, the encoding is `to`: that step's
/// evaluation has it, and so have all later updates.
struct PositionSwitch {
  int64_t at = 0;
  PositionConfig to;  // without switches of its own
};

struct DataConfig {
  Json train;       // a source, or a list of {source, weight}, as in the YAML
  Json validation;  // {name: source}
  Json tokenizer = "bytes";
  int context = 512;
  std::string packing = "documents";  // documents | stream
  double holdout = 0.05;
};

struct OptimizerConfig {
  std::string name = "adamw";
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;  // 0 = no clipping
};

struct ScheduleConfig {
  std::string name = "cosine";  // cosine | constant
  int64_t warmup_tokens = 0;
  double final_lr_fraction = 0.1;
};

/// What train.init_from begins with where it is no folder.
inline constexpr char kCheckpointPrefix[] = "checkpoint:";

struct TrainConfig {
  int64_t tokens = 0;
  int64_t batch_tokens = 0;
  int micro_batch = 0;  // sequences a micro-batch; resolved by the plan from the shapes alone
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  std::string precision = "float32";
  std::string recompute = "none";  // none | layers: less memory, more work, the same bits
  int64_t checkpoint_every = 0;    // tokens
  /// Where the initial weights come from: the absolute path of a pretrained model,
  /// "checkpoint:JOB[@STEP]", or empty. TrainerJob::initial_weights says which they are.
  std::string init_from;
};

/// What the kinds of interventions are called, in JSON and at the beginning of their names.
inline constexpr char kZero[] = "zero";
inline constexpr char kFreeze[] = "freeze";
inline constexpr char kPosition[] = "position";

/// A change of a model that is made for the evaluation at the end and undone after it
/// (config/intervention.h).
struct Intervention {
  std::string name;                 // what its metrics are called by: "zero-24-32", "nope-layer-3"
  std::string kind;                 // kZero | kFreeze | kPosition
  std::vector<int> layers;          // it changes, ascending; empty: all
  std::pair<int, int> pairs{0, 0};  // of zero and freeze: [a, b), 0 the fastest
  PositionConfig position;          // of position: what stands in place of the model's own
};

/// A made-up text with known answers (data/task.h); not all parameters are of every task.
struct TaskConfig {
  std::string name;            // what its metrics are called by
  std::string task;            // passkey | recall | induction | copy | self | previous
  std::vector<int> distances;  // edges of buckets, ascending; the last bucket has no end
  int rows = 0;                // made up for each bucket and context
  int keys = 0;                // recall: pairs of a key and a value
  int offset = 0;              // copy: tokens back
};

/// The lists belong to the evaluation at the end, and are mostly empty; those of numbers ascend.
struct EvaluateConfig {
  int64_t every = 0;                  // tokens
  int64_t tokens = 0;                 // of each validation set, on the way
  std::vector<int> contexts;          // lengths to evaluate at
  std::vector<int> positions;         // edges of buckets of places in a window; the first is 0
  std::vector<int> document_lengths;  // edges of buckets of documents' tokens; the first is 0
  std::vector<Intervention> interventions;
  std::vector<TaskConfig> tasks;
};

/// What `collect` may name.
inline constexpr char kFrequencyNorms[] = "frequency_norms";
inline constexpr char kLogitShares[] = "logit_shares";
inline constexpr char kHeadScores[] = "head_scores";
inline constexpr char kTokenNorms[] = "token_norms";

/// What is measured of the model on the way (docs/statistics.md); training is not touched by it.
struct StatisticsConfig {
  int64_t every = 0;                 // tokens
  int sequences = 16;                // windows of the first validation set
  std::vector<std::string> collect;  // distinct, in the order above; empty: no statistics

  bool Collects(std::string_view name) const;
};

struct JobConfig {
  ModelConfig model;
  PositionConfig position;
  DataConfig data;
  TrainConfig train;
  EvaluateConfig evaluate;
  StatisticsConfig statistics;
};

/// INVALID_ARGUMENT with the path of the first key that is missing, unknown or of the wrong type.
/// Keys that came later (model.mlp, position.switch, train.init_from, train.recompute, lists of
/// evaluate) are there only where something is said, so that a job without them has the JSON and
/// the key it always had. A job from before there were statistics has no such block: it collects
/// nothing. The JSON comes from our own plan; what a person typed is checked by
/// sweeps/spec, with lines and columns.
Result<JobConfig> JobConfigFromJson(const Json& json);
Json ToJson(const JobConfig& config);

/// The block in force once `tokens` have been trained on: `position` itself, or the last of its
/// switches that they reach.
const PositionConfig& PositionInForce(const PositionConfig& position, int64_t tokens);

/// Steps of the whole budget: ceil(tokens / batch_tokens).
int64_t TotalSteps(const TrainConfig& train);

/// Number of trained parameters (a tied head counts once).
int64_t ParameterCount(const ModelConfig& model);

/// Version of the numerics: part of every job's key. Raise it when the same job would give other
/// points.
inline constexpr int kNumericsVersion = 2;

/// One of the texts that a job trains on: `weight`, as a share of the sum of all weights, is the
/// share of its rows.
struct TrainText {
  std::string hash;
  double weight = 1;
  friend bool operator==(const TrainText&, const TrainText&) = default;
};
/// The JSON form: the hash if it is one text, else [{"hash", "weight"}, ...].
Json ToJson(const std::vector<TrainText>& texts);
Result<std::vector<TrainText>> TrainTextsFromJson(const Json& json);
/// How job keys and the database write it: the bare hash if it is one text, else the list's JSON.
std::string TextOf(const std::vector<TrainText>& texts);
/// The JSON form of what TextOf() wrote; null if it is damaged.
Json TrainTextsJson(const std::string& text);

/// What a worker's trainer gets: a job and where its data lie (data sets are named by content hash,
/// in GYRE_HOME/datasets/HASH). JSON: {"config", "seed", "key", "datasets": {"train": HASH or
/// [{"hash", "weight"}, ...], "validation": {NAME: HASH}}, "initial_weights": HASH or ""}.
struct TrainerJob {
  JobConfig config;
  uint64_t seed = 0;
  std::string key;                        // identity hash, or empty
  std::vector<TrainText> train_datasets;  // at least one
  std::map<std::string, std::string> validation_datasets;
  std::string initial_weights;  // the object that training starts from (train.init_from), or empty
};
Result<TrainerJob> TrainerJobFromJson(const Json& json);
Json ToJson(const TrainerJob& job);
/// Hashes of every data set that the job reads, each once.
std::vector<std::string> DatasetsOf(const TrainerJob& job);

}  // namespace gyre
