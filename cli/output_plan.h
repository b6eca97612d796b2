#pragma once

// What `gyre plan` shows of sweeps that have no faults.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output_format.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

/// Operations of training on one token, forward and backward: 6 N + 12 L C T, with N the weights of
/// matrix products (the head's too, the embedding's look-up not), L layers, C = heads x head_dim, T
/// the context: attention counted in full, as if it were not causal.
double TrainingFlopsPerToken(const JobConfig& config);

/// Arithmetic of one core that the estimate of time assumes; nothing is measured by `plan`.
inline constexpr double kAssumedFlopsPerCore = 100e9;

/// Gives the text to `write` piece by piece: a plan of many jobs is large. `jobs`: a line for each
/// job instead of one for each sweep (JSON always has the jobs). Twins of earlier jobs are left
/// out. `width` as in RenderTable().
void WritePlan(const std::vector<SweepSpec>& sweeps, OutputFormat format, bool jobs, int width,
               const std::function<void(std::string_view)>& write);

}  // namespace gyre
