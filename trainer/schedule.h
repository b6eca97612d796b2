#pragma once

// When a job does what, and at which learning rate: functions of the step alone, so a resumed job
// needs no state for any of it. Step s is after s optimizer updates; tokens = s * batch_tokens.

#include <cstdint>

#include "trainer/config/job_config.h"

namespace gyre {

/// Of update `step` (1..TotalSteps). Linear from 0 over warmup_tokens to the peak, then half a
/// cosine down to final_lr_fraction of it at the end of the budget (or constant). Within 0..lr for
/// every step, also beyond the budget.
double LearningRate(const TrainConfig& train, int64_t step);

/// Whether `step` is the first whose tokens reach k * every, for some k >= 1. Never if every is 0.
bool ReachesMultiple(int64_t step, int64_t batch_tokens, int64_t every);

/// Evaluated at 0, at each first step whose tokens reach k * evaluate.every, and at the last.
bool EvaluatesAt(const JobConfig& config, int64_t step);

/// Statistics likewise, by statistics.every; never where nothing is collected.
bool CollectsAt(const JobConfig& config, int64_t step);

/// A checkpoint to resume from after `step`; not at the last, after which there is nothing to
/// resume.
bool CheckpointsAt(const TrainConfig& train, int64_t step);

/// train/loss is a point at each of up to kMaxLossPoints steps; of longer jobs at each first step,
/// at every n-th with the least n that keeps within that number, and at the last.
inline constexpr int64_t kMaxLossPoints = 1000;
bool ReportsLossAt(const TrainConfig& train, int64_t step);

}  // namespace gyre
