#include "trainer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gyre {

double LearningRate(const TrainConfig& train, int64_t step) {
  const double tokens = static_cast<double>(step) * static_cast<double>(train.batch_tokens);
  const double budget =
      static_cast<double>(TotalSteps(train)) * static_cast<double>(train.batch_tokens);
  const double warmup = static_cast<double>(train.schedule.warmup_tokens);
  const double peak = train.optimizer.lr;
  if (tokens < warmup) return peak * std::max(tokens, 0.0) / warmup;
  if (train.schedule.name != "cosine" || budget <= warmup) return peak;
  const double progress = std::clamp((tokens - warmup) / (budget - warmup), 0.0, 1.0);
  const double last = train.schedule.final_lr_fraction;
  return peak *
         std::clamp(last + (1 - last) * (1 + std::cos(std::numbers::pi * progress)) / 2, 0.0, 1.0);
}

bool ReachesMultiple(int64_t step, int64_t batch_tokens, int64_t every) {
  if (every <= 0 || step <= 0) return false;
  const int64_t tokens = step * batch_tokens;
  return tokens / every > (tokens - batch_tokens) / every;
}

namespace {

bool ComesUpAt(const TrainConfig& train, int64_t every, int64_t step) {
  return step == 0 || step == TotalSteps(train) || ReachesMultiple(step, train.batch_tokens, every);
}

}  // namespace

bool EvaluatesAt(const JobConfig& config, int64_t step) {
  return ComesUpAt(config.train, config.evaluate.every, step);
}

bool CollectsAt(const JobConfig& config, int64_t step) {
  return !config.statistics.collect.empty() &&
         ComesUpAt(config.train, config.statistics.every, step);
}

bool CheckpointsAt(const TrainConfig& train, int64_t step) {
  return step < TotalSteps(train) &&
         ReachesMultiple(step, train.batch_tokens, train.checkpoint_every);
}

bool ReportsLossAt(const TrainConfig& train, int64_t step) {
  const int64_t steps = TotalSteps(train);
  const int64_t stride = (steps + kMaxLossPoints - 1) / kMaxLossPoints;
  return step >= 1 && (step == 1 || step == steps || step % stride == 0);
}

}  // namespace gyre
