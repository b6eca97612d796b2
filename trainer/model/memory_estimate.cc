#include "trainer/model/memory_estimate.h"

#include <algorithm>
#include <cstdio>

#include "trainer/model/activations.h"

namespace gyre {
namespace {

constexpr int64_t kFloat = sizeof(float);
// Measured on the CPU backend: the process with its libraries, and each thread's workspace.
constexpr int64_t kProgram = int64_t{16} << 20, kThread = int64_t{8} << 20;
// Scores of attention in a thread's workspace: twice 64 rows as long as a sequence.
constexpr int64_t kScores = 2 * 64 * kFloat;

/// Rows of the largest batch that is computed at once.
int64_t MicroBatch(const JobConfig& config) {
  const int64_t context = std::max(config.data.context, 1);
  const int64_t rows = std::max<int64_t>(config.train.batch_tokens / context, 1);
  const int64_t micro = config.train.micro_batch;
  return micro > 0 ? std::min(micro, rows) : rows;
}

/// Angles of the rotations, and those of one layer in double precision on the way there; token ids,
/// losses.
int64_t TableBytes(const ModelConfig& model, int64_t context, int64_t tokens) {
  const int64_t layer = context * model.head_dim + model.num_attention_heads;
  return model.num_hidden_layers * layer * kFloat +
         context * model.head_dim * static_cast<int64_t>(sizeof(double)) +
         tokens * (3 * static_cast<int64_t>(sizeof(int32_t)) + sizeof(double) + sizeof(float));
}

/// The largest tensor, which a checkpoint copies.
int64_t LargestTensor(const ModelConfig& model) {
  return std::max({int64_t{model.vocab_size} * model.hidden_size,
                   int64_t{model.intermediate_size} * model.hidden_size,
                   int64_t{model.num_attention_heads} * model.head_dim * model.hidden_size});
}

/// At the largest of evaluate.contexts; as trainer/final_evaluation.h makes its model.
int64_t EvaluationBytes(const JobConfig& config, int64_t tokens, int threads) {
  int64_t most = 0;
  for (const int context : config.evaluate.contexts) {
    if (context < 1 || context == config.data.context) continue;
    const int64_t rows = std::max<int64_t>(tokens / context, 1);
    const int64_t real_numbers =
        ParameterCount(config.model) + ActivationElements(config.model, rows * context, false);
    most =
        std::max(most, real_numbers * kFloat + TableBytes(config.model, context, rows * context) +
                           threads * kScores * context);
  }
  return most;
}

}  // namespace

MemoryEstimate EstimateMemory(const JobConfig& config, int threads) {
  const int64_t tokens = MicroBatch(config) * config.data.context;
  MemoryEstimate estimate;
  estimate.weights = estimate.gradients = ParameterCount(config.model) * kFloat;
  estimate.optimizer = 2 * estimate.weights;
  estimate.activations = ActivationElements(config.model, tokens, /*training=*/true) * kFloat;
  threads = std::max(threads, 1);
  estimate.evaluation = EvaluationBytes(config, tokens, threads);
  estimate.program = kProgram + threads * (kThread + kScores * config.data.context) +
                     TableBytes(config.model, config.data.context, tokens) +
                     LargestTensor(config.model) * kFloat;
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
  return "lower train.micro_batch or data.context for the activations, the model's sizes for the "
         "rest";
}

Status CheckMemory(const MemoryEstimate& estimate, int64_t available) {
  if (available == 0 || estimate.total() <= available) return OkStatus();
  return ResourceExhausted("the job needs about " + DescribeBytes(estimate.total()) +
                           " of memory (" + DescribeParts(estimate) + "), and this machine has " +
                           DescribeBytes(available) + " for it; " + HowToNeedLess());
}

}  // namespace gyre
