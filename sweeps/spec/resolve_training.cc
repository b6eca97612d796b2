// Model shapes, data and training of a merged point.

#include <algorithm>

#include "sweeps/spec/point_checks.h"

namespace gyre {
namespace {

constexpr int64_t kDefaultTokens = 20'000'000;
constexpr int64_t kDefaultBatchTokens = 16384;
constexpr int64_t kDefaultEvaluateTokens = 65536;
constexpr double kMicroBatchBytes = 512.0 * 1024 * 1024;

const int kModelType = FieldIndexOrDie("model.model_type");
const int kVocabulary = FieldIndexOrDie("model.vocab_size");
const int kTokenizer = FieldIndexOrDie("data.tokenizer");
const int kHiddenLayers = FieldIndexOrDie("model.num_hidden_layers");
const int kHidden = FieldIndexOrDie("model.hidden_size");
const int kIntermediate = FieldIndexOrDie("model.intermediate_size");
const int kMlp = FieldIndexOrDie("model.mlp");
const int kHeads = FieldIndexOrDie("model.num_attention_heads");
const int kKeyHeads = FieldIndexOrDie("model.num_key_value_heads");
const int kHeadDim = FieldIndexOrDie("model.head_dim");
const int kNormEps = FieldIndexOrDie("model.rms_norm_eps");
const int kInitializer = FieldIndexOrDie("model.initializer_range");
const int kTied = FieldIndexOrDie("model.tie_word_embeddings");
const int kQkNorm = FieldIndexOrDie("model.qk_norm");
const int kWindow = FieldIndexOrDie("model.sliding_window");
const int kUseWindow = FieldIndexOrDie("model.use_sliding_window");
const int kActivation = FieldIndexOrDie("model.hidden_act");

const int kContext = FieldIndexOrDie("data.context");
const int kPacking = FieldIndexOrDie("data.packing");
const int kHoldout = FieldIndexOrDie("data.holdout");
const int kTokens = FieldIndexOrDie("train.tokens");
const int kInitFrom = FieldIndexOrDie("train.init_from");
const int kBatchTokens = FieldIndexOrDie("train.batch_tokens");
const int kMicroBatch = FieldIndexOrDie("train.micro_batch");
const int kOptimizer = FieldIndexOrDie("train.optimizer.name");
const int kRate = FieldIndexOrDie("train.optimizer.lr");
const int kBetas = FieldIndexOrDie("train.optimizer.betas");
const int kEps = FieldIndexOrDie("train.optimizer.eps");
const int kDecay = FieldIndexOrDie("train.optimizer.weight_decay");
const int kClip = FieldIndexOrDie("train.optimizer.clip_norm");
const int kSchedule = FieldIndexOrDie("train.schedule.name");
const int kWarmup = FieldIndexOrDie("train.schedule.warmup_tokens");
const int kFinalRate = FieldIndexOrDie("train.schedule.final_lr_fraction");
const int kPrecision = FieldIndexOrDie("train.precision");
const int kRecompute = FieldIndexOrDie("train.recompute");
const int kCheckpoint = FieldIndexOrDie("train.checkpoint_every");
const int kEvery = FieldIndexOrDie("evaluate.every");
const int kEvaluateTokens = FieldIndexOrDie("evaluate.tokens");
const int kContexts = FieldIndexOrDie("evaluate.contexts");
const int kPositions = FieldIndexOrDie("evaluate.positions");
const int kDocumentLengths = FieldIndexOrDie("evaluate.document_lengths");
const int kStatisticsEvery = FieldIndexOrDie("statistics.every");
const int kSequences = FieldIndexOrDie("statistics.sequences");
const int kCollect = FieldIndexOrDie("statistics.collect");

std::string Text(int64_t value) { return std::to_string(value); }

// `percent` of the budget, at least a token.
int64_t Share(int64_t tokens, int percent) {
  return std::max<int64_t>(tokens / 100 * percent + tokens % 100 * percent / 100, 1);
}

void ResolveHeads(PointChecks* checks, ModelConfig* model, bool pretrained) {
  model->num_attention_heads = checks->Get(kHeads, model->num_attention_heads);
  model->num_key_value_heads =
      checks->Get(kKeyHeads, pretrained ? model->num_key_value_heads : model->num_attention_heads);
  const int heads = model->num_attention_heads;
  const int key_heads = model->num_key_value_heads;
  if (heads % key_heads != 0) {
    checks->Add({kKeyHeads, kHeads}, "model.num_key_value_heads " + Text(key_heads) +
                                         " does not divide model.num_attention_heads " +
                                         Text(heads));
  }
  if (pretrained) {
    model->head_dim = checks->Get(kHeadDim, model->head_dim);
    return;
  }
  if (!checks->Has(kHeadDim) && model->hidden_size % heads != 0) {
    checks->Add({kHidden, kHeads, kHeadDim},
                "model.hidden_size " + Text(model->hidden_size) +
                    " is no multiple of model.num_attention_heads " + Text(heads) +
                    ", so there is no head_dim",
                "give model.head_dim");
  }
  model->head_dim = checks->Get(kHeadDim, std::max(model->hidden_size / heads, 1));
}

}  // namespace

void ResolveModel(PointChecks* checks, int vocabulary, bool pretrained, ModelConfig* model) {
  model->model_type = checks->Get(kModelType, model->model_type);
  model->vocab_size = checks->Get(kVocabulary, pretrained ? model->vocab_size : vocabulary);
  model->num_hidden_layers = checks->Get(kHiddenLayers, model->num_hidden_layers);
  model->hidden_size = checks->Get(kHidden, model->hidden_size);
  model->intermediate_size =
      checks->Get(kIntermediate, pretrained ? model->intermediate_size : 4 * model->hidden_size);
  model->mlp = checks->Get(kMlp, model->mlp);
  ResolveHeads(checks, model, pretrained);
  model->rms_norm_eps = checks->Get(kNormEps, model->rms_norm_eps);
  model->initializer_range = checks->Get(kInitializer, model->initializer_range);
  model->tie_word_embeddings = checks->Get(kTied, model->tie_word_embeddings);
  model->qk_norm = checks->Get(kQkNorm, model->qk_norm);
  model->sliding_window =
      checks->Get(kUseWindow, true) ? checks->Get(kWindow, model->sliding_window) : 0;

  if (model->vocab_size < vocabulary) {
    const std::string own = Text(model->vocab_size);
    checks->Add(
        {kVocabulary, kTokenizer},
        "model.vocab_size must hold the tokenizer's " + Text(vocabulary) + " tokens, and is " + own,
        !pretrained ? ""
                    : "a SentencePiece model that lacks pieces for bytes gets 256 of them; "
                      "ids made with it elsewhere need none: a .bin file, with tokenizer: "
                      "{ids: " +
                          own + "}");
  }
  const bool gemma = model->model_type == "gemma";
  const std::string activation = checks->Get<std::string>(kActivation, "");
  const bool fits = activation.empty() || (activation == "silu") != gemma;
  if (!fits) {
    checks->Add({kActivation, kModelType},
                "model.hidden_act " + activation + " does not go with model_type " +
                    model->model_type + ", which has " + (gemma ? "gelu_pytorch_tanh" : "silu"));
  }
}

void ResolveTraining(PointChecks* checks, JobConfig* config) {
  DataConfig& data = config->data;
  data.context = checks->Get(kContext, data.context);
  data.packing = checks->Get(kPacking, data.packing);
  data.holdout = checks->Get(kHoldout, data.holdout);

  TrainConfig& train = config->train;
  const int64_t context = data.context;
  train.tokens = checks->Get(kTokens, kDefaultTokens);
  if (train.tokens == 0 && train.init_from.empty()) {
    checks->Add({kTokens, kInitFrom},
                "train.tokens 0 evaluates the weights that a job starts from, "
                "and train.init_from names none",
                "for example train: {init_from: FOLDER, tokens: 0}");
  }
  train.batch_tokens =
      checks->Get(kBatchTokens, std::max(kDefaultBatchTokens / context, int64_t{1}) * context);
  if (train.batch_tokens % context != 0) {
    checks->Add({kBatchTokens, kContext},
                "train.batch_tokens " + Text(train.batch_tokens) +
                    " is no multiple of data.context " + Text(context),
                "the nearest are " +
                    Text(std::max(train.batch_tokens / context, int64_t{1}) * context) + " and " +
                    Text((train.batch_tokens / context + 1) * context));
  }
  const int64_t sequences = std::max(train.batch_tokens / context, int64_t{1});
  const Setting* micro_batch = checks->point().At(kMicroBatch);
  if (micro_batch == nullptr || micro_batch->value.is_string()) {
    train.micro_batch = MicroBatchFor(config->model, data.context, sequences);
  } else {
    train.micro_batch = micro_batch->value.get<int>();
    if (train.micro_batch > sequences) {
      checks->Add({kMicroBatch, kBatchTokens, kContext},
                  "train.micro_batch " + Text(train.micro_batch) + " is more than the " +
                      Text(sequences) + " sequences of a batch");
    }
  }

  OptimizerConfig& optimizer = train.optimizer;
  optimizer.name = checks->Get(kOptimizer, optimizer.name);
  optimizer.lr = checks->Get(kRate, optimizer.lr);
  if (const Setting* betas = checks->point().At(kBetas)) {
    optimizer.beta1 = betas->value[0].get<double>();
    optimizer.beta2 = betas->value[1].get<double>();
  }
  optimizer.eps = checks->Get(kEps, optimizer.eps);
  optimizer.weight_decay = checks->Get(kDecay, optimizer.weight_decay);
  optimizer.clip_norm = checks->Get(kClip, optimizer.clip_norm);
  train.schedule.name = checks->Get(kSchedule, train.schedule.name);
  train.schedule.warmup_tokens =
      checks->Get(kWarmup, std::min(Share(train.tokens, 2), train.tokens));
  train.schedule.final_lr_fraction = checks->Get(kFinalRate, train.schedule.final_lr_fraction);
  if (train.schedule.warmup_tokens > train.tokens) {
    checks->Add({kWarmup, kTokens}, "train.schedule.warmup_tokens " +
                                        Text(train.schedule.warmup_tokens) +
                                        " is more than train.tokens " + Text(train.tokens));
  }
  train.precision = checks->Get(kPrecision, train.precision);
  train.recompute = checks->Get(kRecompute, train.recompute);
  train.checkpoint_every = checks->Get(kCheckpoint, Share(train.tokens, 10));
  config->evaluate.every = checks->Get(kEvery, Share(train.tokens, 5));
  config->evaluate.tokens = checks->Get(kEvaluateTokens, kDefaultEvaluateTokens);
  config->evaluate.contexts = checks->Get(kContexts, std::vector<int>());
  config->evaluate.positions = checks->Get(kPositions, std::vector<int>());
  config->evaluate.document_lengths = checks->Get(kDocumentLengths, std::vector<int>());
  config->statistics.every = checks->Get(kStatisticsEvery, Share(train.tokens, 25));
  config->statistics.sequences = checks->Get(kSequences, config->statistics.sequences);
  config->statistics.collect =
      checks->Get(kCollect, std::vector<std::string>{kFrequencyNorms, kLogitShares, kHeadScores});
}

int MicroBatchFor(const ModelConfig& model, int context, int64_t sequences) {
  // Floats kept for the backward pass: per layer some ten vectors of the residual's width, queries,
  // keys, values and the attention's output, three vectors of the MLP.
  const double heads = 2.0 * model.num_attention_heads + 2.0 * model.num_key_value_heads;
  const double layer =
      10.0 * model.hidden_size + heads * model.head_dim + 3.0 * model.intermediate_size;
  const double sequence_bytes = 4.0 * context * layer * model.num_hidden_layers;
  const auto most =
      static_cast<int64_t>(std::clamp(kMicroBatchBytes / sequence_bytes, 1.0, 16777216.0));
  int64_t best = 1;
  for (int64_t d = 1; d * d <= sequences; ++d) {
    if (sequences % d != 0) continue;
    for (const int64_t divisor : {d, sequences / d}) {
      if (divisor <= most) best = std::max(best, divisor);
    }
  }
  return static_cast<int>(best);
}

}  // namespace gyre
