#include "trainer/config/fields.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <unordered_map>

namespace gyre {
namespace {

using enum FieldKind;

constexpr double kMaxTokens = 1e15;

// clang-format off
constexpr Field kFields[] = {
    // The sweep itself.
    {.path = "sweep", .kind = kName, .default_text = "required",
     .meaning = "The sweep's name: a-z, 0-9 and '-', 64 characters at most, not beginning with '-'", .scope = FieldScope::kSweep},
    {.path = "description", .kind = kText, .default_text = "none", .meaning = "What the sweep is, for people", .scope = FieldScope::kSweep},
    {.path = "question", .kind = kText, .default_text = "none", .meaning = "What it should answer; shown in plans and reports", .scope = FieldScope::kSweep},
    {.path = "extends", .kind = kAny, .default_text = "null", .meaning = "Another file that this one is merged over", .later = "*", .scope = FieldScope::kSweep},
    {.path = "base", .kind = kAny, .default_text = "required", .meaning = "A mapping: what every job starts from", .scope = FieldScope::kSweep},
    {.path = "variants", .kind = kAny, .default_text = "one, named 'base'", .meaning = "A mapping from a name to what differs from `base`", .scope = FieldScope::kSweep},
    {.path = "grid", .kind = kAny, .default_text = "none", .meaning = "A mapping from a dotted path to a list of values, or to {range: [a, b], count: n} or {log_range: [a, b], count: n}: the cartesian product, applied to every variant", .scope = FieldScope::kSweep},
    {.path = "sample", .kind = kAny, .default_text = "null", .meaning = "{count, seed}: random points of the grid in place of all", .later = "*", .scope = FieldScope::kSweep},
    {.path = "exclude", .kind = kAny, .default_text = "none", .meaning = "A list of mappings from a dotted path to a value: points that match every pair of an item are dropped", .scope = FieldScope::kSweep},
    {.path = "seeds", .kind = kAny, .default_text = "1", .meaning = "A list of seeds, or a count N that stands for 0..N-1; each variant runs once per seed", .scope = FieldScope::kSweep},
    {.path = "baseline", .kind = kText, .default_text = "none", .meaning = "The variant that the others are compared with, seed by seed; under a grid at the same grid values", .scope = FieldScope::kSweep},
    {.path = "priority", .kind = kCount, .default_text = "0", .meaning = "Higher runs first", .low = -1000, .high = 1000, .scope = FieldScope::kSweep},
    {.path = "resources.gpus", .kind = kCount, .default_text = "0", .meaning = "GPUs a job; 0 = any slot", .low = 0, .high = 1024, .later = "*", .scope = FieldScope::kSweep},
    {.path = "resources.cpus", .kind = kCount, .default_text = "1", .meaning = "Cores a job: its number of threads", .low = 1, .high = 1024, .scope = FieldScope::kSweep},
    {.path = "resources.memory", .kind = kSize, .default_text = "null", .meaning = "Memory a job, e.g. 4GiB; null = not stated", .scope = FieldScope::kSweep},
    {.path = "retry.attempts", .kind = kCount, .default_text = "3", .meaning = "Failures of the trainer until a job counts as failed", .low = 1, .high = 1000, .scope = FieldScope::kSweep},
    {.path = "retry.backoff", .kind = kTime, .default_text = "10s", .meaning = "Pause before a failed job is tried again", .scope = FieldScope::kSweep},
    {.path = "timeout", .kind = kTime, .default_text = "null", .meaning = "Longest time of one attempt; null = no limit", .scope = FieldScope::kSweep},
    {.path = "stop_early", .kind = kAny, .default_text = "null", .meaning = "{rule: asha | median, metric, grace, reduction}: end hopeless jobs early", .later = "*", .scope = FieldScope::kSweep},

    // The model, in the words of Hugging Face's config.json.
    {.path = "model.model_type", .kind = kChoice, .default_text = "llama", .meaning = "Norm, activation and embedding scaling, as Hugging Face has them", .choices = "llama gemma"},
    {.path = "model.vocab_size", .kind = kCount, .default_text = "the tokenizer's", .meaning = "Rows of the embedding: the tokenizer's vocabulary (257 for bytes) or more", .low = 1, .high = 1 << 24},
    {.path = "model.num_hidden_layers", .kind = kCount, .default_text = "4", .meaning = "Layers", .low = 1, .high = 1024},
    {.path = "model.hidden_size", .kind = kCount, .default_text = "256", .meaning = "Width of the residual stream", .low = 1, .high = 1 << 17},
    {.path = "model.intermediate_size", .kind = kCount, .default_text = "4 x hidden_size", .meaning = "Width of the gated MLP", .low = 1, .high = 1 << 20},
    {.path = "model.num_attention_heads", .kind = kCount, .default_text = "4", .meaning = "Query heads", .low = 1, .high = 1024},
    {.path = "model.num_key_value_heads", .kind = kCount, .default_text = "num_attention_heads", .meaning = "Key and value heads; divides the query heads (1 = MQA)", .low = 1, .high = 1024},
    {.path = "model.head_dim", .kind = kCount, .default_text = "hidden_size / num_attention_heads", .meaning = "Size of a head; even where it is rotated", .low = 1, .high = 4096},
    {.path = "model.rms_norm_eps", .kind = kNumber, .default_text = "1e-6", .meaning = "Epsilon of every RMSNorm", .low = 0, .high = 1, .low_open = true},
    {.path = "model.initializer_range", .kind = kNumber, .default_text = "0.02", .meaning = "Standard deviation of the initial matrices", .low = 0, .high = 10, .low_open = true},
    {.path = "model.tie_word_embeddings", .kind = kBoolean, .default_text = "true", .meaning = "Whether the output head is the embedding"},
    {.path = "model.qk_norm", .kind = kBoolean, .default_text = "false", .meaning = "RMSNorm of queries and keys, per head, before the rotation"},
    {.path = "model.sliding_window", .kind = kCount, .default_text = "null", .meaning = "Tokens that a token sees, itself included; null = no limit", .low = 1, .high = 1 << 30},

    // How the model knows positions.
    {.path = "position.type", .kind = kChoice, .default_text = "rope", .meaning = "The encoding", .choices = "rope nope alibi t5 sinusoidal learned xpos", .later = "t5 sinusoidal learned xpos"},
    {.path = "position.theta", .kind = kNumber, .default_text = "10000", .meaning = "Base wavelength of the frequencies theta^(-2j/d)", .low = 1, .high = 1e18, .low_open = true},
    {.path = "position.p", .kind = kShare, .default_text = "1", .meaning = "Share of the frequencies kept: n = floor(p * head_dim / 2) pairs", .low = 0, .high = 1},
    {.path = "position.keep", .kind = kChoice, .default_text = "high", .meaning = "Which frequencies stay: high (p-RoPE) or low (reversed truncation)", .choices = "high low"},
    {.path = "position.spacing", .kind = kChoice, .default_text = "full", .meaning = "full: truncate the full ladder; respaced: a new ladder on the first p * head_dim dimensions (partial rotary)", .choices = "full respaced"},
    {.path = "position.band", .kind = kBand, .default_text = "null", .meaning = "[a, b): the pairs kept, 0 the fastest; in place of p and keep", .low = 0, .high = 2048},
    {.path = "position.scaling.type", .kind = kChoice, .default_text = "none", .meaning = "Change of the frequencies for longer contexts", .choices = "none linear dynamic yarn llama3 longrope", .later = "longrope"},
    {.path = "position.scaling.factor", .kind = kNumber, .default_text = "required with a type", .meaning = "How many times longer", .low = 1, .high = 1e9},
    {.path = "position.scaling.original_max_position_embeddings", .kind = kCount, .default_text = "model.max_position_embeddings", .meaning = "The original context (dynamic, yarn, llama3)", .low = 1, .high = 1 << 30},
    {.path = "position.scaling.low_freq_factor", .kind = kNumber, .default_text = "1", .meaning = "llama3: turns within the original context below which a frequency is divided", .low = 0, .high = 1e9, .low_open = true},
    {.path = "position.scaling.high_freq_factor", .kind = kNumber, .default_text = "4", .meaning = "llama3: turns above which a frequency stays", .low = 0, .high = 1e9, .low_open = true},
    {.path = "position.scaling.beta_fast", .kind = kNumber, .default_text = "32", .meaning = "yarn: turns above which a frequency stays", .low = 0, .high = 1e9, .low_open = true},
    {.path = "position.scaling.beta_slow", .kind = kNumber, .default_text = "1", .meaning = "yarn: turns below which a frequency is divided", .low = 0, .high = 1e9, .low_open = true},
    {.path = "position.scaling.attention_factor", .kind = kNumber, .default_text = "0.1 ln(factor) + 1", .meaning = "yarn: factor of queries and keys", .low = 0, .high = 1e9, .low_open = true},
    {.path = "position.scaling.mscale", .kind = kNumber, .default_text = "null", .meaning = "yarn: as Hugging Face has it", .later = "*"},
    {.path = "position.scaling.mscale_all_dim", .kind = kNumber, .default_text = "null", .meaning = "yarn: as Hugging Face has it", .later = "*"},
    {.path = "position.scaling.truncate", .kind = kBoolean, .default_text = "true", .meaning = "yarn: round the ramp's ends to whole pairs", .later = "*"},
    {.path = "position.scaling.short_factor", .kind = kAny, .default_text = "null", .meaning = "longrope: divisors within the original context", .later = "*"},
    {.path = "position.scaling.long_factor", .kind = kAny, .default_text = "null", .meaning = "longrope: divisors beyond the original context", .later = "*"},
    {.path = "position.pairing", .kind = kChoice, .default_text = "half", .meaning = "Which coordinates form a pair: (k, k + d/2) or (2k, 2k + 1)", .choices = "half interleaved"},
    {.path = "position.layers", .kind = kLayers, .default_text = "null", .meaning = "Overrides: a list of {layers: [0, 3-5, last], ...} with type, theta, p, keep, spacing, band, scaling, pairing or sliding_window"},
    {.path = "position.switch", .kind = kAny, .default_text = "null", .meaning = "{at, to}: change the encoding during training", .later = "*"},
    {.path = "position.randomized_max", .kind = kCount, .default_text = "null", .meaning = "Train with sorted random positions below this number", .later = "*"},

    // The text.
    {.path = "data.train", .kind = kSource, .default_text = "required", .meaning = "corpus:NAME, a file, a folder, a glob, or a list of them; relative to the sweep's file"},
    {.path = "data.validation", .kind = kSources, .default_text = "the held-out part of train", .meaning = "A mapping from a name to a source: one perplexity curve each"},
    {.path = "data.tokenizer", .kind = kTokenizer, .default_text = "bytes", .meaning = "bytes; a SentencePiece .model or {train: bpe, vocab_size: n} are not yet supported"},
    {.path = "data.context", .kind = kCount, .default_text = "512", .meaning = "Tokens of a sequence", .low = 2, .high = 1 << 20},
    {.path = "data.packing", .kind = kChoice, .default_text = "documents", .meaning = "documents: attention and targets end with a document; stream: they don't", .choices = "documents stream"},
    {.path = "data.holdout", .kind = kShare, .default_text = "0.05", .meaning = "Share of a user's documents held out for validation", .low = 0, .high = 1, .low_open = true, .high_open = true},

    // Training.
    {.path = "train.tokens", .kind = kCount, .default_text = "20M", .meaning = "The budget in tokens", .low = 1, .high = kMaxTokens},
    {.path = "train.batch_tokens", .kind = kCount, .default_text = "the multiple of context at or below 16Ki", .meaning = "Tokens of an optimizer step; a multiple of context", .low = 1, .high = 1 << 30},
    {.path = "train.micro_batch", .kind = kCountOrAuto, .default_text = "auto", .meaning = "Sequences computed at once; auto: from the shapes alone", .low = 1, .high = 1 << 24},
    {.path = "train.optimizer.name", .kind = kChoice, .default_text = "adamw", .meaning = "The optimizer", .choices = "adamw"},
    {.path = "train.optimizer.lr", .kind = kNumber, .default_text = "1e-3", .meaning = "Peak learning rate", .low = 0, .high = 1e3, .low_open = true},
    {.path = "train.optimizer.betas", .kind = kBetas, .default_text = "[0.9, 0.95]", .meaning = "Decay of AdamW's two moments", .low = 0, .high = 1, .high_open = true},
    {.path = "train.optimizer.eps", .kind = kNumber, .default_text = "1e-8", .meaning = "AdamW's epsilon", .low = 0, .high = 1, .low_open = true},
    {.path = "train.optimizer.weight_decay", .kind = kNumber, .default_text = "0.1", .meaning = "Decoupled decay, of matrices only", .low = 0, .high = 1e3},
    {.path = "train.optimizer.clip_norm", .kind = kNumber, .default_text = "1.0", .meaning = "Largest norm of the gradient; 0 = no clipping", .low = 0, .high = 1e9},
    {.path = "train.schedule.name", .kind = kChoice, .default_text = "cosine", .meaning = "Course of the learning rate after warm-up", .choices = "cosine constant"},
    {.path = "train.schedule.warmup_tokens", .kind = kCount, .default_text = "2% of train.tokens", .meaning = "Tokens of linear warm-up", .low = 0, .high = kMaxTokens},
    {.path = "train.schedule.final_lr_fraction", .kind = kShare, .default_text = "0.1", .meaning = "Learning rate at the end, as a share of the peak", .low = 0, .high = 1},
    {.path = "train.precision", .kind = kChoice, .default_text = "float32", .meaning = "Arithmetic of the matrix products (bf16: float32 master weights)", .choices = "float32 bf16", .later = "bf16"},
    {.path = "train.init_from", .kind = kAny, .default_text = "null", .meaning = "A Hugging Face folder, or checkpoint:JOB[@STEP]", .later = "*"},
    {.path = "train.checkpoint_every", .kind = kCount, .default_text = "10% of train.tokens", .meaning = "Tokens between checkpoints", .low = 1, .high = kMaxTokens},

    // Evaluation and statistics.
    {.path = "evaluate.every", .kind = kCount, .default_text = "5% of train.tokens", .meaning = "Tokens between evaluations", .low = 1, .high = kMaxTokens},
    {.path = "evaluate.tokens", .kind = kCount, .default_text = "64Ki", .meaning = "Tokens of each validation set on the way; the whole set at the end", .low = 1, .high = kMaxTokens},
    {.path = "evaluate.contexts", .kind = kAny, .default_text = "null", .meaning = "Lengths to evaluate at, also beyond the context", .later = "*"},
    {.path = "evaluate.positions", .kind = kAny, .default_text = "null", .meaning = "Edges of buckets of positions: loss by position", .later = "*"},
    {.path = "statistics.every", .kind = kCount, .default_text = "null", .meaning = "Tokens between statistics", .later = "*"},
    {.path = "statistics.sequences", .kind = kCount, .default_text = "16", .meaning = "Sequences that the statistics are computed from", .later = "*"},
    {.path = "statistics.collect", .kind = kAny, .default_text = "null", .meaning = "frequency_norms, logit_shares, head_scores", .later = "*"},

    // Hugging Face's other spellings.
    {.path = "position.rope_theta", .kind = kNumber, .default_text = "", .meaning = "position.theta", .low = 1, .high = 1e18, .low_open = true, .scope = FieldScope::kHuggingFace},
    {.path = "position.partial_rotary_factor", .kind = kShare, .default_text = "", .meaning = "position.p; spacing full under rope_type proportional, respaced under every other", .low = 0, .high = 1, .scope = FieldScope::kHuggingFace},
    {.path = "position.rope_parameters", .kind = kRope, .default_text = "", .meaning = "{rope_type, rope_theta, partial_rotary_factor, factor, ...}, or one such mapping for each name in layer_types", .scope = FieldScope::kHuggingFace},
    {.path = "position.rope_scaling", .kind = kRope, .default_text = "", .meaning = "The older name of rope_parameters", .scope = FieldScope::kHuggingFace},
    {.path = "position.rope_type", .kind = kChoice, .default_text = "", .meaning = "position.scaling.type; default = none; proportional: partial_rotary_factor is p with spacing full", .choices = "default proportional linear dynamic yarn llama3 longrope", .later = "longrope", .scope = FieldScope::kHuggingFace},
    {.path = "position.alibi", .kind = kBoolean, .default_text = "", .meaning = "true: position.type alibi", .scope = FieldScope::kHuggingFace},
    {.path = "position.no_rope_layers", .kind = kFlags, .default_text = "", .meaning = "One number a layer: 1 rotates, 0 does not (type nope)", .scope = FieldScope::kHuggingFace},
    {.path = "position.no_rope_layer_interval", .kind = kCount, .default_text = "", .meaning = "Every n-th layer does not rotate", .low = 1, .high = 1024, .scope = FieldScope::kHuggingFace},
    {.path = "model.layer_types", .kind = kLayerTypes, .default_text = "", .meaning = "One name a layer: sliding_attention has sliding_window, full_attention has none", .scope = FieldScope::kHuggingFace},
    {.path = "model.use_sliding_window", .kind = kBoolean, .default_text = "", .meaning = "false: sliding_window has no effect", .scope = FieldScope::kHuggingFace},
    {.path = "model.use_qk_norm", .kind = kBoolean, .default_text = "", .meaning = "model.qk_norm", .scope = FieldScope::kHuggingFace},
    {.path = "model.hidden_act", .kind = kChoice, .default_text = "", .meaning = "The activation; must be the one of model_type: silu for llama, gelu_pytorch_tanh for gemma", .choices = "silu gelu_pytorch_tanh gelu", .scope = FieldScope::kHuggingFace},
    {.path = "model.hidden_activation", .kind = kChoice, .default_text = "", .meaning = "The same as hidden_act", .choices = "silu gelu_pytorch_tanh gelu", .scope = FieldScope::kHuggingFace},
    {.path = "model.max_position_embeddings", .kind = kCount, .default_text = "", .meaning = "Default of position.scaling.original_max_position_embeddings; the context is data.context", .low = 1, .high = 1 << 30, .scope = FieldScope::kHuggingFace},
};
// clang-format on

struct Index {
  std::unordered_map<std::string_view, int> fields;
  std::set<std::string, std::less<>> blocks;

  Index() {
    for (int i = 0; const Field& field : kFields) {
      fields.emplace(field.path, i++);
      if (field.scope != FieldScope::kJob) continue;
      for (size_t dot = field.path.find('.'); dot != std::string_view::npos;
           dot = field.path.find('.', dot + 1)) {
        blocks.emplace(field.path.substr(0, dot));
      }
    }
  }
};

const Index& TheIndex() {
  static const Index index;
  return index;
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.15g", value);
  return text;
}

}  // namespace

std::span<const Field> AllFields() { return kFields; }

int FieldIndex(std::string_view path) {
  const auto found = TheIndex().fields.find(path);
  return found == TheIndex().fields.end() ? -1 : found->second;
}

int FieldIndexOrDie(std::string_view path) {
  const int index = FieldIndex(path);
  if (index < 0) {
    std::fprintf(stderr, "gyre: no field '%s' in the table\n", std::string(path).c_str());
    std::abort();
  }
  return index;
}

bool IsBlock(std::string_view path) { return TheIndex().blocks.contains(path); }

std::vector<std::string> KeysUnder(std::string_view prefix) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const Field& field : kFields) {
    if (field.scope == FieldScope::kSweep) continue;
    std::string_view rest = field.path;
    if (!prefix.empty()) {
      if (!rest.starts_with(prefix) || rest.size() <= prefix.size() || rest[prefix.size()] != '.')
        continue;
      rest.remove_prefix(prefix.size() + 1);
    }
    std::string key(rest.substr(0, rest.find('.')));
    if (seen.insert(key).second) keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> SweepKeys() {
  std::vector<std::string> keys;
  for (const Field& field : kFields) {
    if (field.scope != FieldScope::kSweep) continue;
    std::string key(field.path.substr(0, field.path.find('.')));
    if (keys.empty() || keys.back() != key) keys.push_back(std::move(key));
  }
  return keys;
}

std::string DescribeType(const Field& field) {
  std::string range;
  const bool low = std::numeric_limits<double>::lowest() < field.low;
  const bool high = field.high < std::numeric_limits<double>::max();
  if (low && high && !field.low_open && !field.high_open) {
    range = " between " + Number(field.low) + " and " + Number(field.high);
  } else {
    if (low) range += (field.low_open ? " above " : " at least ") + Number(field.low);
    if (low && high) range += " and";
    if (high) range += (field.high_open ? " below " : " at most ") + Number(field.high);
  }
  switch (field.kind) {
    case FieldKind::kCount:
      return "a whole number" + range;
    case FieldKind::kCountOrAuto:
      return "auto, or a whole number" + range;
    case FieldKind::kNumber:
      return "a finite number" + range;
    case FieldKind::kShare:
      return "a number or percentage" + range;
    case FieldKind::kBoolean:
      return "true or false";
    case FieldKind::kChoice: {
      std::string list;
      for (const std::string& word : Words(field.choices))
        list += (list.empty() ? "" : ", ") + word;
      return "one of " + list;
    }
    case FieldKind::kName:
      return "a name";
    case FieldKind::kText:
      return "text";
    case FieldKind::kTime:
      return "a time such as 90s, 10m or 2h";
    case FieldKind::kSize:
      return "a size such as 512MiB or 4GiB";
    case FieldKind::kBetas:
      return "a list of two numbers, each" + range;
    case FieldKind::kBand:
      return "a list of two whole numbers, each" + range;
    case FieldKind::kSource:
      return "a source, or a list of sources";
    case FieldKind::kSources:
      return "a mapping from names to sources";
    case FieldKind::kTokenizer:
      return "a tokenizer";
    case FieldKind::kLayers:
      return "a list of mappings";
    case FieldKind::kFlags:
      return "a list of 0 and 1, one a layer";
    case FieldKind::kLayerTypes:
      return "a list of layer types, one a layer";
    case FieldKind::kRope:
      return "a mapping";
    case FieldKind::kAny:
      return "see the meaning";
  }
  return "";
}

std::vector<std::string> Words(std::string_view list) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(' ', begin), list.size());
    if (end > begin) words.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace gyre
