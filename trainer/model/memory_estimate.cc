#include "trainer/model/memory_estimate.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "trainer/backend/cuda/plugin.h"
#include "trainer/backend/cuda/scratch_bytes.h"
#include "trainer/model/activations.h"

namespace gyre {
namespace {

constexpr int64_t kFloat = sizeof(float);
// Measured: the process with its libraries, and what a thread has beside its share of the
// workspace.
constexpr int64_t kProgram = int64_t{20} << 20, kThread = int64_t{2} << 20;
// What CUDA's driver and libraries take of a device for themselves in each process, and what
// the pool of memory loses between blocks: an allowance, not measured yet.
constexpr int64_t kContext = int64_t{600} << 20;

/// Of a number that goes into matrix products.
int64_t NarrowBytes(const TrainConfig& train) {
  return train.precision == "bf16" ? sizeof(uint16_t) : kFloat;
}

int64_t ActivationBytes(const JobConfig& config, int64_t tokens, Kept kept) {
  const ActivationSizes sizes = SizesOfActivations(config.model, tokens, kept);
  return sizes.reals * kFloat + sizes.narrows * NarrowBytes(config.train);
}

/// The CPU backend's, which is as large as the operation that takes most: its packed weights, and
/// the rows that all threads work on at a time (trainer/backend/cpu/scratch.h).
int64_t WorkspaceBytes(const JobConfig& config, int64_t context, int threads) {
  const ModelConfig& model = config.model;
  const int64_t narrow = NarrowBytes(config.train), copy = narrow == kFloat ? 0 : narrow;
  const int64_t hidden = model.hidden_size, inner = model.intermediate_size;
  const int64_t queries = narrow == kFloat ? 64 : 128;
  const int64_t scores = 2 * queries * (kFloat + copy), head = model.head_dim;
  const int64_t attention = threads * context * (scores + head * (2 * kFloat + 4 * narrow + copy));
  const int64_t rows = int64_t{128} * threads;
  const int64_t block = narrow == kFloat ? rows : 2 * rows;
  const int64_t width = (model.num_attention_heads + int64_t{2} * model.num_key_value_heads) * head;
  const int64_t qkv = width * hidden * narrow + block * (hidden + width) * narrow +
                      rows * ((hidden + width) * kFloat + hidden * copy);
  const int64_t mlp = 3 * hidden * inner * narrow + block * (2 * hidden + 3 * inner) * narrow +
                      rows * (hidden * (narrow + kFloat) + 2 * inner * narrow + inner * copy);
  const int64_t vocab = (int64_t{model.vocab_size} + 15) / 16 * 16;
  const int64_t padded = vocab == model.vocab_size ? 0 : kFloat;
  const int64_t logit_rows =
      threads * std::clamp<int64_t>((1 << 20) / std::max<int64_t>(vocab, 1), 64, 128);
  const int64_t loss = vocab * hidden * (2 * narrow + padded) + block * hidden * (narrow + copy) +
                       logit_rows * vocab * (kFloat + narrow + copy);
  return std::max({attention, qkv, mlp, loss});
}

/// Rows of the largest batch that is computed at once.
int64_t MicroBatch(const JobConfig& config) {
  const int64_t context = std::max(config.data.context, 1);
  const int64_t rows = std::max<int64_t>(config.train.batch_tokens / context, 1);
  const int64_t micro = config.train.micro_batch;
  return micro > 0 ? std::min(micro, rows) : rows;
}

/// What a layer's statistics take in the backend and on the host (decoder_statistics.cc).
int64_t StatisticsBytes(const ModelConfig& model, int64_t rows) {
  const int64_t heads = model.num_attention_heads, kv_heads = model.num_key_value_heads;
  const int64_t row = (2 * heads + 2 * kv_heads) * model.head_dim + heads * HeadScore::kCount;
  return rows * row * (kFloat + static_cast<int64_t>(sizeof(double)));
}

/// Angles of the rotations, pairs and amplitudes, and the angles of one layer in double precision
/// on the way there; token ids, losses, statistics.
int64_t TableBytes(const ModelConfig& model, int64_t context, int64_t tokens) {
  const int64_t layer = context * model.head_dim + model.num_attention_heads + 2 * model.head_dim;
  const int64_t rows = tokens / std::max<int64_t>(context, 1);
  return model.num_hidden_layers * layer * kFloat + StatisticsBytes(model, rows) +
         context * model.head_dim * static_cast<int64_t>(sizeof(double)) +
         tokens * (3 * static_cast<int64_t>(sizeof(int32_t)) + sizeof(double) + sizeof(float));
}

/// The largest tensor, which a checkpoint copies.
int64_t LargestTensor(const ModelConfig& model) {
  return std::max({int64_t{model.vocab_size} * model.hidden_size,
                   int64_t{model.intermediate_size} * model.hidden_size,
                   int64_t{model.num_attention_heads} * model.head_dim * model.hidden_size});
}

/// What operations take for themselves, of a batch of so many tokens in rows of so many.
using Workspace = std::function<int64_t(int64_t context, int64_t tokens)>;

/// At the largest of evaluate.contexts, beside the model that was trained; as
/// trainer/final_evaluation.h makes its model. The workspace grows where it must.
int64_t EvaluationBytes(const JobConfig& config, int64_t tokens, const Workspace& workspace) {
  const int64_t trained = workspace(config.data.context, tokens);
  int64_t most = 0;
  for (const int context : config.evaluate.contexts) {
    if (context < 1 || context == config.data.context) continue;
    const int64_t rows = std::max<int64_t>(tokens / context, 1);
    const int64_t model = ParameterCount(config.model) * kFloat +
                          ActivationBytes(config, rows * context, Kept::kNothing);
    most = std::max(most, model + TableBytes(config.model, context, rows * context) +
                              std::max<int64_t>(workspace(context, rows * context) - trained, 0));
  }
  return most;
}

// All but the program.
MemoryEstimate EstimateBuffers(const JobConfig& config, const Workspace& workspace) {
  const int64_t tokens = MicroBatch(config) * config.data.context;
  MemoryEstimate estimate;
  estimate.weights = ParameterCount(config.model) * kFloat;
  const bool trains = TotalSteps(config.train) > 0;
  if (trains) {
    estimate.gradients = estimate.weights;
    estimate.optimizer = 2 * estimate.weights;
  }
  const Kept kept = !trains                              ? Kept::kNothing
                    : config.train.recompute == "layers" ? Kept::kInputs
                                                         : Kept::kEverything;
  estimate.activations = ActivationBytes(config, tokens, kept);
  estimate.evaluation = EvaluationBytes(config, tokens, workspace);
  estimate.program = workspace(config.data.context, tokens) +
                     TableBytes(config.model, config.data.context, tokens);
  return estimate;
}

}  // namespace

MemoryEstimate EstimateMemory(const JobConfig& config, int threads) {
  threads = std::max(threads, 1);
  MemoryEstimate estimate = EstimateBuffers(
      config, [&](int64_t context, int64_t) { return WorkspaceBytes(config, context, threads); });
  estimate.program += kProgram + threads * kThread + LargestTensor(config.model) * kFloat;
  return estimate;
}

MemoryEstimate EstimateDeviceMemory(const JobConfig& config) {
  const ModelConfig& model = config.model;
  const int64_t narrow = NarrowBytes(config.train);
  MemoryEstimate estimate = EstimateBuffers(config, [&](int64_t context, int64_t tokens) {
    const WorkspaceShape shape{tokens,
                               static_cast<int>(context),
                               model.hidden_size,
                               model.intermediate_size,
                               model.vocab_size,
                               model.num_attention_heads,
                               model.num_key_value_heads,
                               model.head_dim};
    return cuda::ScratchBytes(shape, narrow, CudaOptions().logits);
  });
  // Weights are kept rounded, too.
  if (narrow != kFloat) estimate.weights += ParameterCount(model) * narrow;
  estimate.program += kContext + cuda::kProductBytes;
  return estimate;
}

std::string DescribeBytes(int64_t bytes) {
  char text[32];
  const auto value = static_cast<double>(bytes);
  if (bytes < int64_t{1} << 30) {
    std::snprintf(text, sizeof text, "%.0f MiB", value / (1 << 20));
  } else {
    std::snprintf(text, sizeof text, "%.1f GiB", value / (1 << 30));
  }
  return text;
}

std::string DescribeParts(const MemoryEstimate& estimate) {
  return "weights " + DescribeBytes(estimate.weights) + ", gradients " +
         DescribeBytes(estimate.gradients) + ", optimizer " + DescribeBytes(estimate.optimizer) +
         ", activations " + DescribeBytes(estimate.activations) +
         (estimate.evaluation > 0 ? ", evaluation " + DescribeBytes(estimate.evaluation) : "") +
         ", program " + DescribeBytes(estimate.program);
}

std::string HowToNeedLess() {
  return "lower train.micro_batch or data.context for the activations (or set train.recompute: "
         "layers), the model's sizes for the rest";
}

Status CheckMemory(const MemoryEstimate& estimate, int64_t available, const std::string& where) {
  if (available == 0 || estimate.total() <= available) return OkStatus();
  return ResourceExhausted("the job needs about " + DescribeBytes(estimate.total()) +
                           " of memory (" + DescribeParts(estimate) + "), and " + where + " has " +
                           DescribeBytes(available) + " for it; " + HowToNeedLess());
}

}  // namespace gyre
